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
import { crashPoint } from "../store/disk/crash.ts";
import { privateFolder } from "../store/disk/private.ts";
import { type Git, gitAt, newRepository } from "../store/git/git.ts";
import { openDatabase } from "../store/open.ts";
import { forgetStagedFiles } from "../store/queries/git-queue.ts";
import { deleteMeta, findMeta, setMeta } from "../store/queries/meta.ts";
import { continueNumbering, insertRows } from "../store/queries/transfer.ts";
import { type ArchiveEnd, type ArchiveHead, readArchive } from "../store/transfer/archive.ts";
import { clearOthers, holdsRows } from "../store/transfer/copy.ts";
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
 * written. The folder appears under its name when it is complete. Interrupted, the same command does it again; what
 * PostgreSQL has by then is kept or replaced.
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
    const restored = await restoreInto(file, { root: draft, folder }, verified.value, { to, env });
    if (!restored.ok) return restored;
    if (existsSync(folder)) rmdirSync(folder);
    renameSync(draft, folder);
    crashPoint("restored-folder");
    if (to?.includes("://")) await forgetRestoring(to);
    return ok({ ...restored.value, folder });
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** A path inside the workspace that is neither git's nor ours: a backup may come from somebody else. */
const isPlainPath = (path: string) =>
  !path.startsWith("/") && path.split("/").every((part) => !["", ".", "..", ".git", ".scriptorium"].includes(part));

type Verified = { head: ArchiveHead; end: ArchiveEnd };

/** In a PostgreSQL database that is being restored: the backup and the folder, until the folder is there. */
const restoringKey = "restoring";

async function forgetRestoring(url: string): Promise<void> {
  const db = await openDatabase({ engine: "postgres", url });
  try {
    await db.write((tx) => deleteMeta(tx, restoringKey));
  } finally {
    await db.close();
  }
}

async function restoreInto(
  file: string,
  { root, folder }: { root: string; folder: string },
  { head, end }: Verified,
  { to = "sqlite", env }: { to?: string | undefined; env: Environment },
): Promise<Result<Omit<Restored, "folder">>> {
  const stateFolder = stateFolderOf(root);
  mkdirSync(stateFolder, privateFolder);
  const address: DatabaseAddress =
    to === "sqlite" ? { engine: "sqlite", file: join(stateFolder, "scriptorium.db") } : { engine: "postgres", url: to };
  const db = await openDatabase(address);
  try {
    const mark = `${end.sha256} ${folder}`;
    const isResumed = (await findMeta(db.read, restoringKey)) === mark;
    if (!isResumed && (await holdsRows(db))) return refuse("conflict", await whyTaken(db, databaseName(address)));
    if (address.engine === "postgres") await db.write((tx) => setMeta(tx, restoringKey, mark));
    const paths = await unpack(file, root, db, end);
    await proveTables(db, end);
    crashPoint("restored-tables");
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

async function whyTaken(db: Database, name: string): Promise<string> {
  const other = await findMeta(db.read, restoringKey);
  if (other === undefined) return `${name} is not empty; name an empty database`;
  const folder = other.slice(other.indexOf(" ") + 1);
  return `a restore of another backup, or to another folder (${folder}), was interrupted in ${name}; repeat that command, or name an empty database`;
}

/** Writes files, and rows of tables that are not complete yet; returns the paths of the files. */
async function unpack(file: string, root: string, db: Database, { tables }: ArchiveEnd): Promise<string[]> {
  const carried = await carriedTables(db.read, db.engine);
  const complete = await clearOthers(db, carried, new Map(Object.entries(tables)));
  const shapes = new Map(carried.map((shape) => [shape.name, shape]));
  // Tables come in an order in which every reference has its target.
  const paths: string[] = [];
  await readArchive(file, {
    async rows(table, columns, rows) {
      const shape = shapes.get(table);
      if (!shape || complete.has(table)) return;
      const known = columns.filter((column) => shape.columns.includes(column));
      await db.write((tx) => insertRows(tx, db.engine, table, known, rows));
      crashPoint("restored-rows");
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
