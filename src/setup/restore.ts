import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { configName, type Environment, stateFolderOf } from "../config/environment.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database, DatabaseAddress } from "../store/database.ts";
import { privateFolder } from "../store/disk/private.ts";
import { type Git, gitAt, newRepository } from "../store/git/git.ts";
import { openDatabase } from "../store/open.ts";
import { forgetStagedFiles } from "../store/queries/git-queue.ts";
import { continueNumbering, insertRows } from "../store/queries/transfer.ts";
import { type ArchiveEnd, type ArchiveHead, readArchive } from "../store/transfer/archive.ts";
import { holdsRows } from "../store/transfer/copy.ts";
import { digestOf, isSameDigest } from "../store/transfer/rows.ts";
import { carriedTables } from "../store/transfer/tables.ts";
import { databaseName, recordBookIn, writeBookFile } from "../wiki/stores/book.ts";
import { bundleMember } from "./backup.ts";
import { withSetting } from "./move-store.ts";

export type Restored = { folder: string; store: string; database: string; rows: number; files: number };

/** Checks a backup: every line, row and file against its hashes. */
export async function verifyBackup(file: string): Promise<Result<{ head: ArchiveHead; end: ArchiveEnd }>> {
  return readArchive(file);
}

/**
 * Creates a workspace from a backup, in a folder that is missing or empty. The backup is verified before anything is
 * written. The folder appears under its name when it is complete.
 */
export async function restoreWorkspace(
  file: string,
  into: string,
  { to, env }: { to?: string | undefined; env: Environment },
): Promise<Result<Restored>> {
  const folder = resolve(into);
  if (existsSync(folder) && readdirSync(folder).length > 0)
    return refuse("conflict", `${into} is not empty; name a new folder`);
  const verified = await verifyBackup(file);
  if (!verified.ok) return verified;
  const strange = Object.keys(verified.value.end.files).find((path) => !isPlainPath(path));
  if (strange !== undefined)
    return refuse("invalid", `${file} has a file ${strange}, which does not belong to a workspace`);
  const draft = `${folder}.restoring`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  try {
    const restored = await restoreInto(file, draft, verified.value, { to, env });
    if (!restored.ok) return restored;
    if (existsSync(folder)) rmdirSync(folder);
    renameSync(draft, folder);
    return ok({ ...restored.value, folder });
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** A path inside the workspace that is neither git's nor ours: a backup may come from somebody else. */
const isPlainPath = (path: string) =>
  !path.startsWith("/") && path.split("/").every((part) => !["", ".", "..", ".git", ".scriptorium"].includes(part));

type Verified = { head: ArchiveHead; end: ArchiveEnd };

async function restoreInto(
  file: string,
  root: string,
  { head, end }: Verified,
  { to = "sqlite", env }: { to?: string | undefined; env: Environment },
): Promise<Result<Omit<Restored, "folder">>> {
  const stateFolder = stateFolderOf(root);
  mkdirSync(stateFolder, privateFolder);
  const address: DatabaseAddress =
    to === "sqlite" ? { engine: "sqlite", file: join(stateFolder, "scriptorium.db") } : { engine: "postgres", url: to };
  const db = await openDatabase(address);
  try {
    if (await holdsRows(db)) return refuse("conflict", `${databaseName(address)} is not empty; name an empty database`);
    const paths = await unpack(file, root, db);
    await proveTables(db, end);
    await db.write(async (tx) => {
      await forgetStagedFiles(tx);
      await recordBookIn(tx, { id: head.book, store: head.store });
    });
    const config = join(root, configName);
    writeFileSync(config, withSetting(readFileSync(config, "utf8"), "database", to));
    writeBookFile(stateFolder, { id: head.book, store: head.store, database: databaseName(address) });
    await restoreHistory(root, env, head, paths);
    const rows = Object.values(end.tables).reduce((sum, table) => sum + table.rows, 0);
    return ok({ store: head.store, database: databaseName(address), rows, files: paths.length });
  } finally {
    await db.close();
  }
}

/** Writes rows and files; returns the paths of the files. */
async function unpack(file: string, root: string, db: Database): Promise<string[]> {
  const shapes = new Map((await carriedTables(db.read, db.engine)).map((shape) => [shape.name, shape]));
  // Tables come in an order in which every reference has its target.
  const paths: string[] = [];
  await readArchive(file, {
    async rows(table, columns, rows) {
      const shape = shapes.get(table);
      if (!shape) return;
      const known = columns.filter((column) => shape.columns.includes(column));
      await db.write((tx) => insertRows(tx, db.engine, table, known, rows));
    },
    async file(path, bytes) {
      const target = path === bundleMember ? join(stateFolderOf(root), bundleMember) : join(root, path);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, bytes, { flag: "wx" });
      if (path !== bundleMember) paths.push(path);
    },
  });
  for (const { name, key } of shapes.values()) await db.write((tx) => continueNumbering(tx, db.engine, name, key));
  return paths;
}

/** The rows in the database must have the hashes that the backup has. */
async function proveTables(db: Database, end: ArchiveEnd): Promise<void> {
  for (const shape of await carriedTables(db.read, db.engine)) {
    const said = end.tables[shape.name];
    if (said && !isSameDigest(await digestOf(db.read, shape), said))
      throw new Error(`table ${shape.name} differs from the backup after it was restored`);
  }
}

async function restoreHistory(root: string, env: Environment, { refs }: ArchiveHead, paths: string[]): Promise<void> {
  await newRepository(root, env);
  const git: Git = gitAt(root, env);
  const bundle = join(stateFolderOf(root), bundleMember);
  if (existsSync(bundle)) {
    await git.text(["bundle", "unbundle", bundle]);
    for (const [ref, commit] of Object.entries(refs)) await git.setRef(ref, commit);
    rmSync(bundle);
  }
  await git.commitFiles(paths, "Restore from a backup", await git.author());
}
