import { mkdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import type { CrewApp } from "../../crew/record/crew-app.ts";
import { readIfThere } from "../../store/disk/disk.ts";
import { isBlob } from "../../store/git/blob.ts";
import { readVersion } from "../../store/git/history.ts";
import { allVersions, type VersionRecord } from "../../store/queries/versions.ts";
import type { Repair } from "./repair.ts";

/** Lines of a later version that are cut off one by one in search of an earlier one. */
const mostLines = 5000;

/** Writes lost texts into git again where a file or a later version of a log still has them; the hash proves it. */
export const repairTexts: Repair = {
  kinds: ["text-lost", "text-damaged"],
  async run(app) {
    if (!app.files || !(await app.git.isRepository())) return [];
    const versions = await allVersions(app.db.read);
    const repaired = [];
    for (const row of versions.toReversed()) {
      if (await isIntact(app, row.blob)) continue;
      const later = versions.find(({ entry_id, version }) => entry_id === row.entry_id && version === row.version + 1);
      const bytes = (await inFile(app, row)) ?? (later && (await inLater(app, row, later)));
      if (!bytes) continue;
      await moveDamaged(app, row.blob);
      await app.git.text(["hash-object", "-w", "--stdin"], bytes);
      const subject = `${row.entry_id}, version ${row.version}`;
      repaired.push({ subject, before: `no text in git (${row.blob.slice(0, 12)})`, after: "text written again" });
    }
    return repaired;
  },
};

async function isIntact({ git, db }: CrewApp, blob: string): Promise<boolean> {
  const bytes = await readVersion(db, git, blob).catch(() => undefined);
  return bytes !== undefined && isBlob(bytes, blob);
}

async function inFile({ files, config }: CrewApp, { entry_id, blob }: VersionRecord): Promise<Buffer | undefined> {
  const bytes = files && readIfThere(files.fileOf(entry_id), config.root);
  return bytes && isBlob(bytes, blob) ? bytes : undefined;
}

/** An earlier version of a log is the beginning of a later one. */
async function inLater(
  { git, db }: CrewApp,
  { blob }: VersionRecord,
  later: VersionRecord,
): Promise<Buffer | undefined> {
  const bytes = await readVersion(db, git, later.blob).catch(() => undefined);
  if (!bytes || !isBlob(bytes, later.blob)) return undefined;
  let end = bytes.length - 1;
  for (let line = 0; line < mostLines && end > 0; line++) {
    end = bytes.lastIndexOf(10, end - 1);
    for (const part of [bytes.subarray(0, end + 1), bytes.subarray(0, Math.max(end, 0))])
      if (isBlob(part, blob)) return part;
  }
  return undefined;
}

/** Git does not write an object over a damaged file of the same name. */
async function moveDamaged({ git, config }: CrewApp, blob: string): Promise<void> {
  const { commonDir } = await git.place();
  const file = join(commonDir, "objects", blob.slice(0, 2), blob.slice(2));
  if (!statSync(file, { throwIfNoEntry: false })) return;
  const folder = join(config.stateFolder, "damaged-objects");
  mkdirSync(folder, { recursive: true });
  renameSync(file, join(folder, blob));
}
