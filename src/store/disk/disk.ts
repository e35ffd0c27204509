import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { crashPoint, faultPoint } from "./crash.ts";
import { inFolder, leadsOut } from "./pinned.ts";
import { privateFolder } from "./private.ts";

const temporary = /^\.~.*\.tmp$/;

/** Writes `path` durably if it still holds `held` (undefined: no file); false when it holds anything else. */
export function replaceFile(path: string, bytes: Buffer, held: Buffer | undefined, root: string): boolean {
  const staged = stageFile(path, bytes, root);
  try {
    if (!publishFile(staged, path, held, root)) return false;
    syncFolderOf(path, root);
    return true;
  } finally {
    discard(staged);
  }
}

/**
 * Creates a file; false when there is one. Without fsync: `init` makes thousands, and like a checkout of git it can
 * be repeated after a power failure.
 */
export function createFile(path: string, bytes: Buffer, root: string): boolean {
  return inFolder(path, root, (place) => {
    const handle = unless("EEXIST", () => openSync(place, "wx", 0o644));
    if (handle === undefined) return false;
    try {
      writeFileSync(handle, bytes);
    } finally {
      closeSync(handle);
    }
    return true;
  });
}

/** The folder of temporary files, where git does not see those of a killed process. */
export const stagingOf = (root: string) => join(root, ".scriptorium", "staged");

/** The staging folder, unless it is outside a workspace or on another file system, where a rename would fail. */
function stagingFor(place: string, root: string): string | undefined {
  const staging = stagingOf(root);
  if (!existsSync(dirname(staging))) return undefined;
  mkdirSync(staging, privateFolder);
  return statSync(staging).dev === statSync(dirname(place)).dev ? staging : undefined;
}

/** The file that a staged name stands for: in the staging folder, or beside `path`. */
export function stagedFile(path: string, name: string, root: string): string {
  const staged = join(stagingOf(root), name);
  return existsSync(staged) ? staged : join(dirname(path), name);
}

/**
 * Writes the bytes to a temporary file and fsyncs it. Everything here is synchronous, because it runs inside
 * transactions. Refuses links that lead out of `root`.
 */
export function stageFile(path: string, bytes: Buffer, root: string): string {
  const staged = inFolder(path, root, (place) => {
    if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink()) throw leadsOut(path, root);
    const staging = stagingFor(place, root);
    const name = writeStaged(place, bytes, staging ?? dirname(place));
    return staging ? name : join(dirname(path), basename(name));
  });
  crashPoint("file-staged");
  return staged;
}

/**
 * Renames a staged file to `path` if that still holds `held` (undefined: no file); true as well when another
 * process has just done so. An editor may save in the same instant: the old file stays open until it is known to
 * be untouched, and if it was written to, its content is put back.
 */
export function publishFile(staged: string, path: string, held: Buffer | undefined, root: string): boolean {
  return inFolder(path, root, (place) => {
    const from = dirname(staged) === dirname(path) ? join(dirname(place), basename(staged)) : staged;
    faultPoint("rename");
    const done = held === undefined ? moveUnlessThere(from, place) : replace(from, place, held);
    if (done) crashPoint("file-renamed");
    return done;
  });
}

/** Removes a file; not durable before `syncFolderOf`. Refuses links that lead out of `root`. */
export function removeFile(path: string, root: string): void {
  inFolder(path, root, (place) => {
    faultPoint("remove");
    rmSync(place, { force: true });
  });
}

/** Makes the names in the folder of `path` durable. */
export function syncFolderOf(path: string, root: string): void {
  inFolder(path, root, (place) => {
    faultPoint("folder-fsync");
    syncFolder(dirname(place));
  });
  crashPoint("folder-synced");
}

function replace(staged: string, path: string, held: Buffer): boolean {
  const old = openIfThere(path);
  if (old === undefined) return false;
  try {
    if (!readWhole(old).equals(held)) return false;
    crashPoint("file-looked-at");
    if (!moveIfThere(staged, path)) return true;
    const after = readWhole(old);
    if (after.equals(held)) return true;
    renameSync(writeStaged(path, after, dirname(staged)), path);
    return false;
  } finally {
    closeSync(old);
  }
}

export const discard = (staged: string) => rmSync(staged, { force: true });

export type Sweep = { olderThanMs: number; kept?: Set<string>; recursive?: boolean };

/** Removes the temporary files that a crash left in `folder`, except young ones, which may be in use, and `kept`. */
export async function sweepTemporary(
  folder: string,
  { olderThanMs, kept = new Set(), recursive = true }: Sweep,
): Promise<number> {
  const names = await readdir(folder, { recursive }).catch(() => [] as string[]);
  let swept = 0;
  for (const name of names.filter((n) => temporary.test(basename(n)) && !kept.has(basename(n)))) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (!found || Date.now() - Math.max(found.mtimeMs, found.ctimeMs) < olderThanMs) continue;
    discard(path);
    swept++;
  }
  return swept;
}

export const isTemporary = (path: string) => temporary.test(basename(path));

/** A unique temporary name: it contains the process id and the time in nanoseconds. */
const temporaryIn = (folder: string) => {
  const unique = `${process.pid.toString(36)}-${process.hrtime.bigint().toString(36)}`;
  return join(folder, `.~${unique}.tmp`);
};

/** Writes bytes to a temporary file with the mode of `path` and fsyncs it. */
function writeStaged(path: string, bytes: Buffer, folder: string): string {
  const name = temporaryIn(folder);
  const present = statSync(path, { throwIfNoEntry: false });
  try {
    const handle = openSync(name, "wx", 0o644);
    try {
      // The process's umask applies to new files only.
      if (present) fchmodSync(handle, present.mode & 0o777);
      faultPoint("write");
      writeFileSync(handle, bytes);
      faultPoint("fsync");
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    discard(name);
    throw error;
  }
  return name;
}

function readWhole(handle: number): Buffer {
  const bytes = Buffer.alloc(fstatSync(handle).size);
  return bytes.subarray(0, readSync(handle, bytes, 0, bytes.length, 0));
}

/**
 * The bytes of a regular file inside the workspace. Anything else counts as missing (T13): a link, also in a
 * parent folder, could point at any file of the machine, and a FIFO would block.
 */
export function readIfThere(file: string, root: string): Buffer | undefined {
  let handle: number | undefined;
  try {
    handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (!fstatSync(handle).isFile()) return undefined;
    const bytes = readFileSync(handle);
    const way = relative(realpathSync.native(root), realpathSync.native(dirname(file)));
    return way === ".." || way.startsWith(`..${sep}`) ? undefined : bytes;
  } catch (error) {
    if (notThere.has((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

const notThere = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "EMLINK"]);

/** Inode, size and modification time: detects a changed file without reading it, as git does. A rename keeps them. */
export function statOf(file: string): string {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.ino} ${found.size} ${found.mtimeNs}` : "gone";
}

const openIfThere = (path: string) => unless("ENOENT", () => openSync(path, "r"));

/** False when another process has moved the staged file already. */
const moveIfThere = (staged: string, path: string) =>
  unless("ENOENT", () => {
    renameSync(staged, path);
    return true;
  }) ?? false;

function moveUnlessThere(staged: string, path: string): boolean {
  const linked = unless("EEXIST", () => {
    unless("ENOENT", () => linkSync(staged, path));
    return true;
  });
  if (linked) discard(staged);
  return linked ?? false;
}

/** The result of `act`, or undefined when it fails with this code. */
function unless<T>(code: string, act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return undefined;
    throw error;
  }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
