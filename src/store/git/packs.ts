import { createWriteStream } from "node:fs";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { privateFolder } from "../disk/private.ts";
import type { Git } from "./git.ts";

export type PackFile = { id: string; file: string; bytes: number };

type Wanted = {
  commit: string;
  /** Commits whose files and history the receiver has. */
  without: readonly string[];
  /** The history ends at this commit. */
  shallow: string;
};

/** Git delta search uses no more memory than this, whatever the size of the files. */
const windowMemory = "64m";

/** Writes the objects of a commit to a pack in an empty folder. Git calculates the same id from the bytes of a pack. */
export async function writePack(git: Git, folder: string, { commit, without, shallow }: Wanted): Promise<PackFile> {
  await mkdir(folder, privateFolder);
  const input = [`--shallow ${shallow}`, commit, ...without.map((one) => `^${one}`)]
    .map((line) => `${line}\n`)
    .join("");
  const options = ["--revs", "--quiet", "--threads=1", `--window-memory=${windowMemory}`];
  const id = await git.text(["pack-objects", ...options, join(folder, "pack")], input);
  const file = join(folder, `pack-${id}.pack`);
  return { id, file, bytes: (await stat(file)).size };
}

/** The bytes of a file in chunks; only one is in memory. */
export async function* chunksOf(file: string, size: number): AsyncGenerator<Buffer> {
  const handle = await open(file);
  try {
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(size), 0, size);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/**
 * Adds a pack to the repository. Git checks its bytes while it indexes them; only then the pack is moved to where git
 * looks for packs. `--fsck-objects` refuses malformed trees and commits, which another machine may have written.
 */
export async function addPack(
  git: Git,
  id: string,
  chunks: AsyncIterable<Buffer>,
  { isChecked }: { isChecked: boolean },
): Promise<void> {
  const { commonDir } = await git.place();
  const incoming = join(commonDir, "objects", `incoming-${process.pid}-${id}`);
  await mkdir(incoming, { recursive: true });
  try {
    const file = join(incoming, "new.pack");
    await pipeline(Readable.from(chunks), createWriteStream(file, { flush: true, mode: 0o444 }));
    await git.text(["index-pack", ...(isChecked ? ["--fsck-objects"] : []), file]);
    const home = join(commonDir, "objects/pack");
    await mkdir(home, { recursive: true });
    // The index last: git reads a pack once its index is there.
    for (const kind of ["pack", "idx"]) await rename(join(incoming, `new.${kind}`), join(home, `pack-${id}.${kind}`));
  } finally {
    await rm(incoming, { recursive: true, force: true });
  }
}
