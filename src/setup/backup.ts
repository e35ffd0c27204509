import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { configName } from "../config/environment.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Query } from "../store/database.ts";
import { isTemporary, readIfThere } from "../store/disk/disk.ts";
import { openLock } from "../store/disk/lock.ts";
import { readVersion } from "../store/git/history.ts";
import { historyRef, historyRefOf } from "../store/git/history-ref.ts";
import { allEntries } from "../store/queries/entries.ts";
import { type ArchiveEnd, type ArchiveHead, type ArchiveWriter, writeArchive } from "../store/transfer/archive.ts";
import { rowsOf } from "../store/transfer/rows.ts";
import { carriedTables } from "../store/transfer/tables.ts";
import { recordedBook } from "../wiki/stores/book.ts";
import type { WikiApp } from "../wiki/wiki-app.ts";

export type BackupSummary = {
  file: string;
  tables: number;
  rows: number;
  files: number;
  sha256: string;
  left_out: string[];
};

/** The member that has the git objects. */
export const bundleMember = "history.bundle";

const leftOut = [
  "the owner's token (.scriptorium/token): the restored workspace gets a new one",
  "the search index, which is built again",
  "logs of agents and files of runs",
  "branches and files of the repository outside the wiki and the sources",
];

/**
 * Writes the whole workspace into one file, consistent while others write: the rows come from one snapshot of the
 * database, and the texts of the entries from those rows. The recorder is kept out while the snapshot begins, so that
 * the history has exactly the versions that the snapshot takes for recorded.
 */
export async function backupWorkspace(app: WikiApp, file: string): Promise<Result<BackupSummary>> {
  if (existsSync(file)) return refuse("conflict", `${file} exists; name another file`);
  await app.files?.sweep();
  const lock = await lockRecorder(join(app.config.stateFolder, "recorder.lock"));
  if (!lock) return refuse("conflict", "another process is writing the git history; try again");
  let end: ArchiveEnd;
  try {
    end = await app.db.snapshot(async (query) => {
      // The snapshot begins with its first query.
      const shapes = await carriedTables(query, app.db.engine);
      const refs = await historyRefs(app);
      lock.release();
      const head = await headOf(app, refs);
      return writeArchive(file, head, async (archive) => {
        for (const shape of shapes) await archive.table(shape, rowsOf(query, shape));
        await addFiles(app, query, archive);
        if (Object.keys(refs).length > 0) await archive.file(bundleMember, await bundleOf(app, refs));
      });
    });
  } finally {
    lock.release();
  }
  const rows = Object.values(end.tables).reduce((sum, table) => sum + table.rows, 0);
  const counts = { tables: Object.keys(end.tables).length, rows, files: Object.keys(end.files).length };
  return ok({ file, ...counts, sha256: end.sha256, left_out: leftOut });
}

const patienceMs = 30_000;

async function lockRecorder(file: string): Promise<{ release(): void } | undefined> {
  for (const until = performance.now() + patienceMs; ; ) {
    const lock = openLock(file);
    if (lock || performance.now() > until) return lock;
    await sleep(20);
  }
}

async function historyRefs({ git }: WikiApp): Promise<Record<string, string>> {
  const commit = await git.commitAt(await historyRefOf(git));
  return commit ? { [historyRef]: commit } : {};
}

const headOf = async (app: WikiApp, refs: Record<string, string>): Promise<ArchiveHead> => ({
  scriptorium_backup: 1,
  created_at: app.now().toISOString(),
  book: (await recordedBook(app.db))?.id ?? app.newId("book"),
  store: app.config.store,
  engine: app.db.engine,
  refs,
  left_out: leftOut,
});

/** The objects of the history up to the commit that the snapshot knows; the ref may have moved since. */
async function bundleOf({ git }: WikiApp, refs: Record<string, string>): Promise<Buffer> {
  const kept = "refs/scriptorium/backup";
  await git.setRef(kept, refs[historyRef] ?? "");
  try {
    const { code, stdout, stderr } = await git.run(["bundle", "create", "--quiet", "-", kept]);
    if (code !== 0) throw new Error(`git bundle failed: ${stderr}`);
    return stdout;
  } finally {
    await git.deleteRef(kept);
  }
}

async function addFiles(app: WikiApp, query: Query, archive: ArchiveWriter): Promise<void> {
  const { root, wiki, sources } = app.config;
  const texts = new Map<string, string>();
  if (app.files) for (const { id, blob } of await allEntries(query)) texts.set(join(wiki, `${id}.md`), blob);
  const paths = [configName, ".gitignore", ...filesIn(root, wiki), ...filesIn(root, sources)];
  for (const path of new Set([...texts.keys(), ...paths])) {
    const blob = texts.get(path);
    const bytes = blob
      ? await readVersion({ ...app.db, read: query }, app.git, blob)
      : readIfThere(join(root, path), root);
    if (bytes) await archive.file(path, bytes);
  }
}

const filesIn = (root: string, folder: string): string[] =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .map((name) => join(folder, name))
        .filter((path) => !isTemporary(path))
        .sort()
    : [];
