import { closeSync, constants, type Dirent, mkdirSync, openSync, readlinkSync, realpathSync } from "node:fs";
import { type FileHandle, open, readdir, unlink } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { ok, Refused, type Result, refuse } from "../../kernel/result.ts";

/**
 * Access to files in folders that another process may be replacing at the same time (T13). An open folder
 * stays the same folder, whatever takes its name: on Linux its files are reached through the handle. On other
 * systems the name is used right after it was checked.
 */
const placeOf = (handle: number, folder: string) => (process.platform === "linux" ? `/proc/self/fd/${handle}` : folder);

const folderOnly = constants.O_RDONLY | constants.O_DIRECTORY;
const mostTries = 10;

/** Calls `work` with a path in the present folder, which is created if missing. Refuses links that lead out of `root`. */
export function inFolder<T>(path: string, root: string, work: (path: string) => T): T {
  const folder = dirname(path);
  const handle = openOrMake(folder, root);
  try {
    const place = placeOf(handle, folder);
    const real = place === folder ? realpathSync.native(folder) : readlinkSync(place);
    const way = relative(realpathSync.native(root), real);
    if (way === ".." || way.startsWith(`..${sep}`)) throw leadsOut(path, root);
    return work(join(place, basename(path)));
  } finally {
    closeSync(handle);
  }
}

export const leadsOut = (path: string, root: string) => {
  const message = `${relative(root, path)} goes through a symbolic link out of the workspace; replace the link with a file`;
  return new Refused({ code: "invalid", message });
};

function openOrMake(folder: string, root: string): number {
  for (let tries = 1; ; tries++) {
    try {
      return openSync(folder, folderOnly);
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || tries === mostTries) throw error;
    }
    inFolder(folder, root, (place) => {
      try {
        mkdirSync(place);
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
      }
    });
  }
}

/** Opens a regular file whose path contains no link; `make` creates missing folders. */
export async function openInside(
  root: string,
  path: string,
  flags: number,
  { make = false } = {},
): Promise<Result<FileHandle>> {
  const parts = path.split("/");
  return refusing(path, async () => {
    const handle = await inside(root, parts.slice(0, -1), make, (place) =>
      open(join(place, parts.at(-1) ?? ""), flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o666),
    );
    if ((await handle.stat()).isFile()) return ok(handle);
    await handle.close();
    return noFile(path);
  });
}

/** Deletes a file, or a link itself, whose path contains no link. */
export const removeInside = (root: string, path: string): Promise<Result<true>> =>
  refusing(path, async () => {
    const parts = path.split("/");
    await inside(root, parts.slice(0, -1), false, (place) => unlink(join(place, parts.at(-1) ?? "")));
    return ok(true);
  });

/** Lists a folder whose path contains no link. */
export const listInside = (root: string, path: string): Promise<Result<Dirent[]>> =>
  refusing(path, async () =>
    ok(
      await inside(root, path === "" ? [] : path.split("/"), false, (place) => readdir(place, { withFileTypes: true })),
    ),
  );

async function inside<T>(
  root: string,
  parts: string[],
  make: boolean,
  work: (place: string) => Promise<T>,
): Promise<T> {
  let folder = realpathSync.native(root);
  let handle = openSync(folder, folderOnly);
  try {
    for (const part of parts) {
      const next = openNext(join(placeOf(handle, folder), part), make);
      closeSync(handle);
      handle = next;
      folder = join(folder, part);
    }
    return await work(placeOf(handle, folder));
  } finally {
    closeSync(handle);
  }
}

function openNext(place: string, make: boolean): number {
  for (let tries = 1; ; tries++) {
    try {
      return openSync(place, folderOnly | constants.O_NOFOLLOW);
    } catch (error) {
      if (!make || codeOf(error) !== "ENOENT" || tries === mostTries) throw error;
    }
    try {
      mkdirSync(place);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }
}

async function refusing<T>(path: string, work: () => Promise<Result<T>>): Promise<Result<T>> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === "ELOOP" || code === "ENOTDIR")
      return refuse(
        "denied",
        `${path} goes through a symbolic link or a file; only regular files in folders can be read and written`,
      );
    if (code === "ENOENT" || code === "EISDIR" || code === "ENXIO") return noFile(path);
    throw error;
  }
}

const noFile = (path: string) => refuse("not_found", `file ${path} does not exist`);
const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
