import { replaceFile } from "../../store/disk/disk.ts";
import { isBlob } from "../../store/git/blob.ts";
import { readVersion } from "../../store/git/history.ts";
import { allVersions } from "../../store/queries/versions.ts";
import type { Repair, Repaired } from "./repair.ts";

/** Puts deleted files of entries back, with the last text that was not empty. */
export const repairFiles: Repair = {
  kinds: ["file-missing"],
  async run({ files, db, git, config }, open) {
    if (!files) return [];
    const versions = (await allVersions(db.read)).toReversed();
    const repaired: Repaired[] = [];
    for (const { subject } of open.filter(({ kind }) => kind === "file-missing")) {
      const id = subject.slice("entry:".length);
      const row = versions.find(({ entry_id, blob }) => entry_id === id && !isBlob("", blob));
      const bytes = row && (await readVersion(db, git, row.blob));
      if (!row || !bytes || !replaceFile(files.fileOf(id), bytes, undefined, config.root)) continue;
      await files.reconcile(id);
      repaired.push({ subject: `${config.wiki}/${id}.md`, before: "missing", after: `text of version ${row.version}` });
    }
    return repaired;
  },
};
