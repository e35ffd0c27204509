import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdir, open, readdir, stat, unlink } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { Refused } from "../result.ts";
import { crashPoint } from "./crash.ts";

const temporary = /^\.~.*\.tmp$/;

/** Writes the bytes next to `path`, safe on disk but not yet in its place. No link leads out of `root`. */
export async function stage(path: string, bytes: Buffer, root: string): Promise<string> {
  keepInside(path, root);
  await mkdir(dirname(path), { recursive: true });
  const staged = beside(path);
  const mode = await stat(path).then(
    (s) => s.mode & 0o777,
    () => 0o644,
  );
  const file = await open(staged, "wx", mode);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  crashPoint("file-staged");
  return staged;
}

/** The same without a pause: inside a transaction nothing may wait for the event loop. */
export function stageNow(path: string, bytes: Buffer, root: string): string {
  keepInside(path, root);
  mkdirSync(dirname(path), { recursive: true });
  const staged = beside(path);
  const handle = openSync(staged, "wx", (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o644) & 0o777);
  try {
    writeFileSync(handle, bytes);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  crashPoint("file-staged");
  return staged;
}

export const discardNow = (staged: string) => rmSync(staged, { force: true });

/**
 * Puts a staged file in its place if the place still holds what `expected` says. Someone's editor
 * may save between our look and our rename: the old file stays reachable by a second name until
 * we have seen that it was not touched, and is put back if it was.
 */
export function publish(staged: string, path: string, expected: (current: Buffer | undefined) => boolean): boolean {
  const kept = beside(path);
  const had = linkIfThere(path, kept);
  crashPoint("file-linked");
  if (!expected(had ? readFileSync(kept) : undefined)) {
    if (had) unlinkSync(kept);
    return false;
  }
  renameSync(staged, path);
  crashPoint("file-renamed");
  if (had && !expected(readFileSync(kept))) {
    renameSync(kept, path);
    return false;
  }
  if (had) unlinkSync(kept);
  syncFolder(dirname(path));
  crashPoint("folder-synced");
  return true;
}

export const discard = (staged: string) => unlink(staged).catch(() => undefined);

/** Removes what a crash left beside the files of `folder`, unless it is young enough to be in use. */
export async function sweepTemporary(folder: string, olderThanMs: number): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => [] as string[]);
  let swept = 0;
  for (const name of names.filter((n) => temporary.test(basename(n)))) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (!found || Date.now() - Math.max(found.mtimeMs, found.ctimeMs) < olderThanMs) continue;
    await discard(path);
    swept++;
  }
  return swept;
}

export const isTemporary = (path: string) => temporary.test(basename(path));

const beside = (path: string) => join(dirname(path), `.~${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);

function linkIfThere(path: string, name: string): boolean {
  try {
    linkSync(path, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
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

function keepInside(file: string, root: string): void {
  const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  let folder = dirname(file);
  while (!lstatSync(folder, { throwIfNoEntry: false })) folder = dirname(folder);
  const way = relative(realpathSync(root), realpathSync(folder));
  if (isLink(file) || way === ".." || way.startsWith(`..${sep}`)) {
    const message = `${relative(root, file)} leads out of the workspace by a link; replace the link by a file`;
    throw new Refused({ code: "invalid", message });
  }
}
