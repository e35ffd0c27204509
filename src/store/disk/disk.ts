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

/** So that a name stays within 255 bytes. */
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
 * Writes the bytes next to `path`, safe on disk but not yet in its place. `note` goes into the
 * temporary name: it says whose bytes these are, and costs no sync of its own. Nothing here waits
 * for the event loop, since it happens inside transactions. No link leads out of `root`.
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
 * Puts a staged file in its place if the place still holds `held` (undefined: nothing). Someone's
 * editor may save in the same instant: the old file is kept open until we have seen that it was
 * not touched, and what it then holds is put back if it was. The staged name stays for `noteOf`;
 * the caller discards it when all is done.
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

/** Renames a second name of the file, so that the first stays. */
function rename(staged: string, path: string): void {
  const second = beside(path);
  linkSync(staged, second);
  renameSync(second, path);
}

export const discard = (staged: string) => rmSync(staged, { force: true });

/** The note with which the file that now stands at `path` was staged, if it was and that was never finished. */
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

/** Removes the temporary names beside `path` that were staged with this note, unless they are young enough to be in use. */
export function discardNoted(path: string, note: string, olderThanMs = 0): void {
  const spelt = Buffer.from(note).toString("base64url");
  for (const name of readdirSync(dirname(path)).filter((n) => temporary.test(n) && n.split(".")[2] === spelt)) {
    const found = statSync(join(dirname(path), name), { throwIfNoEntry: false });
    if (found && Date.now() - found.ctimeMs >= olderThanMs) discard(join(dirname(path), name));
  }
}

/** Removes what a crash left beside the files of `folder`, unless it is young enough to be in use. */
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

/** No other process has this name: its number and the nanosecond are in it. */
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

/** What `act` gives, or undefined when it fails with just this code. */
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
