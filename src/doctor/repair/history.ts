import { commitMessage, formatIdentity } from "../../store/git/history.ts";
import { historyRefOf } from "../../store/git/history-ref.ts";
import { historyTip } from "../../store/git/recorder.ts";
import { type MissingCommit, restoreHistory } from "../../store/git/restore-history.ts";
import { setMeta } from "../../store/queries/meta.ts";
import type { VersionRecord } from "../../store/queries/versions.ts";
import { identityOf } from "../../wiki/entry.ts";
import { compareHistory } from "../workspace/compare-history.ts";
import { nameOf, readRecord } from "../workspace/record.ts";
import type { Repair } from "./repair.ts";

/** Records versions again that git lacks and whose text it has. */
export const repairHistory: Repair = {
  kinds: ["version-not-in-history", "history-ref-deleted", "history-ref-reset", "history-ref-replaced"],
  async run(app) {
    const { git, db, config, recorder } = app;
    if (!app.files || !(await git.isRepository())) return [];
    const record = await readRecord(app);
    if (record.history?.unreadable !== undefined) return [];
    const broken = compareHistory(record, config.wiki).filter(({ kind }) => kind === "version-not-in-history");
    const names = new Set(broken.map(({ entry, version }) => nameOf({ entry_id: entry, version })));
    const rows = record.versions.filter((row) => names.has(nameOf(row)));
    const sizes = await git.sizes([...new Set(rows.map(({ blob }) => blob))]);
    const { prefix } = await git.place();
    const missing = rows.filter(({ blob }) => sizes.has(blob)).map((row) => commitOf(row, `${prefix}${config.wiki}`));
    if (missing.length === 0) return [];
    const done = await recorder.exclusively(async () => {
      const restored = await restoreHistory(git, missing);
      if (restored && !restored.unfit) await db.write((tx) => setMeta(tx, historyTip, restored.tip));
      return restored;
    });
    if (!done || done.unfit) return [];
    const kept = done.kept ? `; ${done.kept} keeps the history before` : "";
    return [
      {
        subject: await historyRefOf(git),
        before: `${missing.length} versions missing`,
        after: `recorded again${kept}`,
      },
    ];
  },
};

function commitOf(row: VersionRecord, folder: string): MissingCommit {
  const { entry_id: entry, version, blob, author: name, role, run, task, epoch, at, summary } = row;
  const trailers = { Entry: entry, Version: version, Role: role, Run: run, Task: task, Epoch: epoch };
  return {
    ...{ entry, version, blob, at, bytes: undefined, mode: "100644" },
    path: `${folder}/${entry}.md`,
    author: formatIdentity(identityOf({ name, ...(role ? { role } : {}) })),
    message: commitMessage(summary, trailers),
  };
}
