import { lstatSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readIfThere } from "../../store/disk/disk.ts";
import { isBlob } from "../../store/git/blob.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import type { ListedEntry } from "../../store/queries/entries.ts";

/** Reading files that an editor may be writing at the same time. */

const quietMs = 80;
const returnsMs = 250;

/** The bytes of a file; not settled if the file kept changing while it was read. */
export type Settled = { bytes: Buffer; isSettled: boolean };

/**
 * Waits until an editor has finished saving. Editors truncate and then write, or remove the file and create
 * another: content counts once it has been unchanged for a moment, an empty or missing file after a longer one.
 * A program that writes the file all the time is waited for `mostMs` only.
 */
export async function readSettled(
  file: string,
  root: string,
  known: string | undefined,
  mostMs = 1000,
): Promise<Settled> {
  const began = Date.now();
  for (;;) {
    const bytes = readIfThere(file, root) ?? Buffer.alloc(0);
    if (known !== undefined && isBlob(bytes, known)) return { bytes, isSettled: true };
    const age = await stat(file).then(
      (found) => Date.now() - found.mtimeMs,
      () => Date.now() - began,
    );
    if (age < 0 || age > (bytes.length === 0 ? returnsMs : quietMs)) return { bytes, isSettled: true };
    if (Date.now() - began > mostMs) return { bytes, isSettled: false };
    await sleep(20);
  }
}

/** `shared`: unchanged, and it has another name, under which it can be written unseen by a watcher of its folder. */
export type Comparison = "same" | "shared" | "changed";

/**
 * Compares a file with its row. A sweep does this for every entry: stats with big integers, as `statOf` has them, take
 * three times as long, so times are compared as numbers, to the microsecond.
 */
export function compareFile(file: string, row: Pick<ListedEntry, "stat" | "updated_at"> | undefined): Comparison {
  const now = lstatSync(file, statOptions);
  if (!now) return (row?.stat ?? "gone") === "gone" ? "same" : "changed";
  if (!row) return "changed";
  const [inode, size, written = ""] = row.stat.split(" ");
  if (Number(inode) !== now.ino || Number(size) !== now.size) return "changed";
  if (Math.abs(Number(written) / 1e6 - now.mtimeMs) > 0.001) return "changed";
  // A file written in the same clock tick as the last look may have changed without a change of its stat.
  if (Date.now() - now.mtimeMs < 2_000 && Math.abs(Date.parse(row.updated_at) - now.mtimeMs) < 20) return "changed";
  return now.nlink > 1 ? "shared" : "same";
}

const statOptions = { throwIfNoEntry: false } as const;

/** The author of an edit made outside Scriptorium: whoever committed these bytes, else the person who works here. */
export const whoEdited = async (git: Git, root: string, path: string, bytes: Buffer): Promise<Identity> =>
  authorOf(git, root, path, await git.isCommitted(path, bytes));

/** The same; `atHead` tells whether HEAD has the bytes. */
export async function authorOf(git: Git, root: string, path: string, atHead: boolean): Promise<Identity> {
  const committed = atHead ? await git.lastAuthor(path) : undefined;
  if (committed) return { name: committed, email: "" };
  return (await git.person()) ?? { name: await ownerOf(join(root, path)), email: "" };
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
