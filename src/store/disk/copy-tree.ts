import { execFile } from "node:child_process";
import { lstat, mkdir, readdir, realpath, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** Shares blocks where the file system can; files are never linked, so that a change stays in its copy. */
const options = process.platform === "darwin" ? ["-a", "-c"] : ["-a", "--reflink=auto"];

/**
 * Copies a file or folder to a place inside `top`, with links as they are. What is there already stays; a folder that
 * is there gets what it lacks. Returns the paths that were copied, relative to `top`. `cp` takes half the time of
 * Node's own copy.
 */
export async function copyTree(from: string, top: string, path: string): Promise<string[]> {
  const to = join(top, path);
  const there = await lstat(to).catch(() => undefined);
  if (there) {
    const isFolder = there.isDirectory() && (await lstat(from)).isDirectory();
    const names = isFolder ? await readdir(from) : [];
    const copied: string[] = [];
    for (const name of names) copied.push(...(await copyTree(join(from, name), top, join(path, name))));
    return copied;
  }
  await mkdir(dirname(to), { recursive: true }).catch(() => undefined);
  // A link in the checkout may lead out of it.
  if (!(await isInside(top, path))) return [];
  await promisify(execFile)("cp", [...options, "--", from, to], { maxBuffer: 1024 * 1024 });
  return [path];
}

/** True if no folder on the way to `path` is a link. */
export async function isInside(top: string, path: string): Promise<boolean> {
  const [real, parent] = await Promise.all([top, dirname(join(top, path))].map((one) => realpath(one).catch(() => "")));
  return parent !== "" && parent === join(real ?? "", dirname(path));
}

/** Moves a file or folder out of `top`; false if there is none, or if the way to it leads elsewhere. */
export async function moveOut(top: string, path: string, to: string): Promise<boolean> {
  if (!(await isInside(top, path)) || !(await lstat(join(top, path)).catch(() => undefined))) return false;
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await rename(join(top, path), to);
  return true;
}
