import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { crashPoint } from "./crash.ts";
import { inFolder, leadsOut } from "./pinned.ts";

/** In bytes; encoded in a temporary name, it must fit into the 255 bytes of a file name. */
export const longestNote = 170;

const temporary = /^\.~.*\.tmp$/;

/**
 * Writes `path` durably if it still holds `held` (undefined: no file); undefined when it holds anything
 * else. Returns the staged name, which stays beside the file for `noteOf`: the caller discards it once
 * its transaction is over. See `stage` for `note` and `root`.
 */
export function replaceFile(
  path: string,
  bytes: Buffer,
  held: Buffer | undefined,
  root: string,
  note = "",
): string | undefined {
  const staged = stage(path, bytes, root, note);
  let published = false;
  try {
    published = publish(staged, path, held, root);
    return published ? staged : undefined;
  } finally {
    if (!published) discard(staged);
  }
}

/**
 * Writes the bytes to a temporary file next to `path` and fsyncs it. `note` becomes part of the temporary
 * name: it records whose bytes these are without another fsync. Everything here is synchronous, because it
 * runs inside transactions. Refuses links that lead out of `root`.
 */
function stage(path: string, bytes: Buffer, root: string, note = ""): string {
  const staged = inFolder(path, root, (place) => {
    if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink()) throw leadsOut(path, root);
    return writeBeside(place, bytes, note);
  });
  crashPoint("file-staged");
  return join(dirname(path), basename(staged));
}

/**
 * Renames a staged file to `path` if that still holds `held` (undefined: no file). An editor may save in the
 * same instant: the old file stays open until it is known to be untouched, and if it was written to, its
 * content is put back.
 */
function publish(staged: string, path: string, held: Buffer | undefined, root: string): boolean {
  return inFolder(path, root, (place) => {
    const beside = join(dirname(place), basename(staged));
    const done = held === undefined ? linkUnlessThere(beside, place) : replace(beside, place, held);
    if (!done) return false;
    crashPoint("file-renamed");
    syncFolder(dirname(place));
    crashPoint("folder-synced");
    return true;
  });
}

function replace(staged: string, path: string, held: Buffer): boolean {
  const old = openIfThere(path);
  if (old === undefined) return false;
  try {
    if (!readWhole(old).equals(held)) return false;
    crashPoint("file-looked-at");
    rename(staged, path);
    const after = readWhole(old);
    if (after.equals(held)) return true;
    const saved = writeBeside(path, after, "");
    renameSync(saved, path);
    return false;
  } finally {
    closeSync(old);
  }
}

/** Renames a second hard link of the file, so that the staged name stays. */
function rename(staged: string, path: string): void {
  const second = beside(path);
  linkSync(staged, second);
  renameSync(second, path);
}

export const discard = (staged: string) => rmSync(staged, { force: true });

/** The note of the unfinished write that put the present file at `path`, if there is one. */
export function noteOf(path: string): string | undefined {
  const inode = statSync(path, { throwIfNoEntry: false })?.ino;
  const folder = dirname(path);
  if (inode === undefined) return undefined;
  const found = readdirSync(folder).find(
    (name) => temporary.test(name) && statSync(join(folder, name), { throwIfNoEntry: false })?.ino === inode,
  );
  const note = found?.split(".")[2];
  return note && Buffer.from(note, "base64url").toString("utf8");
}

/** Removes the temporary files beside `path` with this note, except young ones, which may be in use. */
export function discardNoted(path: string, note: string, olderThanMs = 0): void {
  const spelt = Buffer.from(note).toString("base64url");
  for (const name of readdirSync(dirname(path)).filter((n) => temporary.test(n) && n.split(".")[2] === spelt)) {
    const found = statSync(join(dirname(path), name), { throwIfNoEntry: false });
    if (found && Date.now() - found.ctimeMs >= olderThanMs) discard(join(dirname(path), name));
  }
}

/** Removes the temporary files that a crash left in `folder`, except young ones, which may be in use. */
export async function sweepTemporary(folder: string, olderThanMs: number): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => [] as string[]);
  let swept = 0;
  for (const name of names.filter((n) => temporary.test(basename(n)))) {
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
const beside = (path: string, note = "") => {
  const unique = `${process.pid.toString(36)}-${process.hrtime.bigint().toString(36)}`;
  return join(dirname(path), `.~${unique}.${Buffer.from(note).toString("base64url")}.tmp`);
};

function writeBeside(path: string, bytes: Buffer, note: string): string {
  const name = beside(path, note);
  const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o644) & 0o777;
  const handle = openSync(name, "wx", mode);
  try {
    writeFileSync(handle, bytes);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  return name;
}

function readWhole(handle: number): Buffer {
  const bytes = Buffer.alloc(fstatSync(handle).size);
  return bytes.subarray(0, readSync(handle, bytes, 0, bytes.length, 0));
}

const openIfThere = (path: string) => unless("ENOENT", () => openSync(path, "r"));

const linkUnlessThere = (staged: string, path: string) =>
  unless("EEXIST", () => {
    linkSync(staged, path);
    return true;
  }) ?? false;

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
