import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, relative, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { blobOf } from "../../store/git/blob.ts";
import type { IndexedEntry } from "../../store/queries/entries.ts";

/** Reading files that an editor may be writing at the same time. */

const quietMs = 80;
const returnsMs = 250;

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

/**
 * Waits until an editor has finished saving. Editors truncate and then write, or remove the file and create
 * another: content counts once it has been unchanged for a moment, an empty or missing file after a longer one.
 */
export async function readSettled(file: string, root: string, known: string | undefined): Promise<Buffer> {
  const began = Date.now();
  for (;;) {
    const bytes = readIfThere(file, root) ?? Buffer.alloc(0);
    if (known !== undefined && blobOf(bytes) === known) return bytes;
    const age = await stat(file).then(
      (found) => Date.now() - found.mtimeMs,
      () => Date.now() - began,
    );
    if (age < 0 || age > (bytes.length === 0 ? returnsMs : quietMs)) return bytes;
    await sleep(20);
  }
}

/** Inode, size and modification time: detects a changed file without reading it, as git does. */
export function statOf(file: string): string {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.ino} ${found.size} ${found.mtimeNs}` : "gone";
}

export function looksChanged(file: string, row: IndexedEntry | undefined): boolean {
  const now = statOf(file);
  if (!row) return now !== "gone";
  if (now !== row.stat) return true;
  // A file written in the same clock tick as the last look may have changed without a change of its stat.
  const written = Number(now.split(" ")[2] ?? 0) / 1e6;
  return Math.abs(Date.parse(row.updated_at) - written) < 20 && Date.now() - written < 2_000;
}

/** The owner of a file, for when git has no user name. */
export async function ownerOf(file: string): Promise<string> {
  const owner = await stat(file).catch(() => undefined);
  const self = userInfo();
  if (!owner || owner.uid === self.uid) return self.username;
  const line = (await readFile("/etc/passwd", "utf8").catch(() => ""))
    .split("\n")
    .find((l) => l.split(":")[2] === String(owner.uid));
  return line?.split(":")[0] ?? `user ${owner.uid}`;
}
