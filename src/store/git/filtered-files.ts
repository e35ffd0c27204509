import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Git } from "./git.ts";

/** A file as the index of a checkout has it. */
export type StagedFile = { path: string; mode: string; blob: string };

type Checkout = { folder: string; gitDir: string };
type InCheckout = ReturnType<Git["inCheckout"]>;

/**
 * The files of a checkout that pass through a filter, such as those of LFS. In the folder of an agent no filter
 * runs; it runs in the person's work tree, by the person's attributes, on the content of the agent's files.
 */
export interface FilteredFiles {
  /** Makes git look at those files that were touched since the checkout. */
  release(here: InCheckout): Promise<void>;
  /** Replaces the staged content of filtered files by what their filter makes of it. */
  store(here: InCheckout, staged: StagedFile[]): Promise<void>;
}

/** Writes the filtered files of a fresh checkout as their filters make them. */
export async function filterFiles(git: Git, checkout: Checkout, commit: string): Promise<FilteredFiles> {
  const here = git.inCheckout(checkout);
  const hasFilters = (await git.maybe(["config", "--get-regexp", "^filter\\."])) !== undefined;
  const paths = hasFilters ? await filteredPaths(git, await pathsOf(git, commit)) : [];
  if (paths.length > 0) {
    // Git leaves files alone that the index calls unchanged.
    for (const path of paths) await rm(join(checkout.folder, path), { force: true });
    await git.checkoutFiltered(checkout, paths);
    // Their content differs from the index until it is filtered back: git need not read them again.
    await here(["update-index", "--assume-unchanged", "-z", "--stdin"], listed(paths));
  }
  const stats = new Map(await Promise.all(paths.map(async (path) => [path, await statOf(checkout, path)] as const)));

  return {
    async release(inCheckout) {
      const touched: string[] = [];
      for (const [path, stat] of stats) if ((await statOf(checkout, path)) !== stat) touched.push(path);
      if (touched.length === 0) return;
      await inCheckout(["update-index", "--no-assume-unchanged", "-z", "--stdin"], listed(touched));
      for (const path of touched) stats.delete(path);
    },

    store: (inCheckout, staged) => storeFiltered(git, hasFilters, inCheckout, staged),
  };
}

/** The same for a checkout that another process made: every filtered file counts as touched. */
export async function filteredBefore(git: Git): Promise<FilteredFiles> {
  const hasFilters = (await git.maybe(["config", "--get-regexp", "^filter\\."])) !== undefined;
  return {
    async release(inCheckout) {
      if (!hasFilters) return;
      const lines = (await inCheckout(["ls-files", "-v", "-z"])).split("\0");
      const assumed = lines.filter((line) => line.startsWith("h ")).map((line) => line.slice(2));
      if (assumed.length > 0)
        await inCheckout(["update-index", "--no-assume-unchanged", "-z", "--stdin"], listed(assumed));
    },
    store: (inCheckout, staged) => storeFiltered(git, hasFilters, inCheckout, staged),
  };
}

async function storeFiltered(
  git: Git,
  hasFilters: boolean,
  inCheckout: InCheckout,
  staged: StagedFile[],
): Promise<void> {
  if (!hasFilters) return;
  const present = staged.filter(({ mode }) => mode !== "000000");
  const filtered = new Set(
    await filteredPaths(
      git,
      present.map(({ path }) => path),
    ),
  );
  const lines: string[] = [];
  for (const { path, mode, blob } of present.filter((file) => filtered.has(file.path))) {
    const bytes = await git.readBlob(blob);
    if (bytes) lines.push(`${mode} ${await git.storedBlob(path, bytes, { write: true })}\t${path}\0`);
  }
  if (lines.length > 0) await inCheckout(["update-index", "-z", "--index-info"], lines.join(""));
}

/** The regular files of a commit. */
async function pathsOf(git: Git, commit: string): Promise<string[]> {
  const lines = await git.list(["ls-tree", "-r", "-z", "--full-tree", commit]);
  return lines.flatMap((line) => /^100\d+ blob \w+\t(.+)$/s.exec(line)?.[1] ?? []);
}

async function filteredPaths(git: Git, paths: string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const attributes = await git.attributes(paths, ["filter"]);
  return paths.filter(
    (path) => !["unspecified", "unset", "set", undefined].includes(attributes.get(path)?.get("filter")),
  );
}

const listed = (paths: string[]) => paths.map((path) => `${path}\0`).join("");

/** Changes with every write to the file; the time of the last status change cannot be set back. */
async function statOf({ folder }: Checkout, path: string): Promise<string> {
  const found = await lstat(join(folder, path), { bigint: true }).catch(() => undefined);
  return found ? [found.ino, found.size, found.mtimeNs, found.ctimeNs, found.mode].join(" ") : "gone";
}
