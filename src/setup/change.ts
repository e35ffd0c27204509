import { existsSync, lstatSync, readFileSync, realpathSync, rmdirSync, rmSync } from "node:fs";
import { dirname, relative, sep } from "node:path";
import { hunksBetween, unifiedDiff } from "../kernel/hunks.ts";
import { ok, Refused, type Result, refuse } from "../kernel/result.ts";
import { createFile, replaceFile } from "../store/disk/disk.ts";

/** One text file before and after; undefined where it does not exist. */
export type Change = {
  /** Absolute, as the person knows it: it may be a link. */
  file: string;
  /** Its name in messages: relative to the workspace, or with ~. */
  shown: string;
  /** Files and links must not lead out of this folder; undefined for files of the person's own home. */
  inside: string | undefined;
  before: string | undefined;
  after: string | undefined;
};

/** What `apply` did, with what it takes to undo it. */
export type Applied = Change & { madeFolders: string[] };

/** The text of a file; undefined when it does not exist. Refuses links that lead out of `inside` and files that are not text. */
export function readText(file: string, shown: string, inside: string | undefined): Result<string | undefined> {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (!found) return ok(undefined);
  if (found.isSymbolicLink() && !existsSync(file)) {
    return refuse("invalid", `${shown} is a link to a file that does not exist; remove the link or create the file`);
  }
  const real = realpathSync.native(file);
  if (inside !== undefined && !isInside(real, realpathSync.native(inside))) {
    return refuse("denied", `${shown} is a link that leads out of the workspace; replace it by a file`);
  }
  try {
    return ok(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(real)));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return refuse("invalid", `${shown} is not UTF-8 text`);
    if (code === "EISDIR") return refuse("invalid", `${shown} is a folder; expected a file`);
    if (code === "EACCES") return refuse("denied", `${shown} is not readable; change its permissions`);
    throw error;
  }
}

export const isInside = (path: string, folder: string) => {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`);
};

/** Makes all changes, or none: when one fails, those before it are undone. */
export function applyAll(changes: readonly Change[]): Result<Applied[]> {
  const done: Applied[] = [];
  for (const change of changes) {
    const applied = apply(change);
    if (!applied.ok) {
      undoAll(done);
      return applied;
    }
    done.push(applied.value);
  }
  return ok(done);
}

export function undoAll(done: readonly Applied[]): void {
  for (const { madeFolders, ...change } of done.toReversed()) {
    apply({ ...change, before: change.after, after: change.before });
    removeFolders(madeFolders);
  }
}

/** Deepest first. A folder that has other files by now stays. */
export function removeFolders(folders: readonly string[]): string[] {
  return folders.filter((folder) => {
    try {
      rmdirSync(folder);
      return true;
    } catch {
      return false;
    }
  });
}

function apply(change: Change): Result<Applied> {
  const { file, shown, inside, before, after } = change;
  const madeFolders = missingFolders(dirname(file));
  try {
    const real = existsSync(file) ? realpathSync.native(file) : file;
    const now = readText(file, shown, inside);
    if (!now.ok) return now;
    if (now.value !== before) return refuse("conflict", `${shown} changed meanwhile; run the command again`);
    if (after === undefined) rmSync(real);
    else if (!write(real, after, before, inside)) {
      return refuse("conflict", `${shown} changed meanwhile; run the command again`);
    }
    return ok({ ...change, madeFolders });
  } catch (error) {
    removeFolders(madeFolders);
    if (error instanceof Refused) return { ok: false, problem: error.problem };
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM" || code === "EROFS") {
      return refuse("denied", `cannot write ${shown}: permission denied; nothing was changed`);
    }
    if (code === "ENOTDIR") return refuse("invalid", `cannot write ${shown}: a file is where its folder should be`);
    if (code === "ENOSPC") return refuse("refused", `cannot write ${shown}: the disk is full; nothing was changed`);
    throw error;
  }
}

function write(real: string, after: string, before: string | undefined, inside: string | undefined): boolean {
  if (before === undefined && inside !== undefined) return createFile(real, Buffer.from(after), inside);
  const root = inside ?? existingParent(dirname(real));
  const held = before === undefined ? undefined : Buffer.from(before);
  return replaceFile(real, Buffer.from(after), held, root);
}

/** The folders that have to be made for a file, deepest first. */
function missingFolders(folder: string): string[] {
  return existsSync(folder) ? [] : [folder, ...missingFolders(dirname(folder))];
}

const existingParent = (folder: string): string => (existsSync(folder) ? folder : existingParent(dirname(folder)));

export function diffOf({ shown, before, after }: Change): string {
  const names = [before === undefined ? "/dev/null" : shown, after === undefined ? "/dev/null" : shown] as const;
  return unifiedDiff(...names, hunksBetween(before ?? "", after ?? "", { context: 2 })).trimEnd();
}
