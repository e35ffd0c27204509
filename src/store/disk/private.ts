import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Modes of what only the user of this process may read (T11). */
export const privateFolder = { recursive: true, mode: 0o700 } as const;
export const privateFile = { mode: 0o600 } as const;

const others = 0o077;

/**
 * Creates a folder that no other user can enter, and takes from others what they may read in it. Below its first
 * level that is done only if they could enter it until now, as they could with 0.1.0.
 */
export function closeToOthers(folder: string): void {
  mkdirSync(folder, privateFolder);
  const wasOpen = takeFromOthers(folder);
  for (const { name } of readdirSync(folder, { withFileTypes: true })) repair(join(folder, name), wasOpen);
}

function repair(path: string, isDeep: boolean): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || found.isSymbolicLink()) return;
  takeFromOthers(path);
  if (isDeep && found.isDirectory()) for (const name of readdirSync(path)) repair(join(path, name), isDeep);
}

/** Whether others could read, write or enter it. */
function takeFromOthers(path: string): boolean {
  const { mode } = lstatSync(path);
  if ((mode & others) === 0) return false;
  try {
    chmodSync(path, mode & ~others & 0o7777);
  } catch (error) {
    // It belongs to another user, who decides about it.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
  return true;
}

/** Creates the file before SQLite does, which would let others read it. Its journals get the same mode. */
export function createPrivately(file: string): void {
  if (file === ":memory:" || existsSync(file)) return;
  try {
    closeSync(openSync(file, "a", privateFile.mode));
  } catch {
    // SQLite says what is wrong.
  }
}
