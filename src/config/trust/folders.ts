import { realpathSync } from "node:fs";
import { delimiter, isAbsolute, relative, sep } from "node:path";
import type { Environment } from "../environment.ts";

/** The folders of `SCRIPTORIUM_TRUSTED_FOLDERS`. A relative one would depend on where a command is started. */
export const foldersFrom = (env: Environment): string[] =>
  (env.SCRIPTORIUM_TRUSTED_FOLDERS ?? "").split(delimiter).filter(isAbsolute);

/** True if `root`, a real path, is one of these folders or below one. */
export const isInFolders = (root: string, folders: readonly string[]) =>
  folders.some((folder) => isInside(root, realPath(folder)));

/** True for `folder` itself and for paths below it. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** The real path, or the path itself if there is nothing. */
export function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
