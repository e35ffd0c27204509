import { lstat, readlink, realpath } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { nullId } from "../../store/git/blob.ts";
import type { Git } from "../../store/git/git.ts";

export type Changed = { path: string; status: "added" | "changed" | "deleted" };

type Checkout = { folder: string; base: string; gitDir: string };
type Entry = { mode: string; blob: string };

const largestFile = 20 * 1024 * 1024;

/** Writes the tree of a checkout's files, by plumbing that runs no filters and hooks of the repository. */
export async function treeOfFiles(git: Git, checkout: Checkout): Promise<Result<string>> {
  const { folder, base, gitDir } = checkout;
  const seeing = ["-C", folder, "--git-dir", gitDir, "--work-tree", folder];
  const [before, others] = await Promise.all([
    entriesOf(git, base),
    git.text([...seeing, "ls-files", "-z", "--others", "--exclude-standard"]).then(split),
  ]);
  const found = await findFiles(git, folder, [...new Set([...before.keys(), ...others])], before);
  if (!found.ok) return found;
  const { seen, gone } = found.value;
  const blobs = await hashed(
    git,
    seen.map(({ path }) => join(folder, path)),
  );
  const lines = seen.flatMap(({ path, mode }, i) => {
    const known = before.get(path);
    return known?.mode === mode && known.blob === blobs[i] ? [] : [`${mode} ${blobs[i]}\t${path}\0`];
  });
  for (const path of before.keys()) if (gone.has(path)) lines.push(`0 ${nullId}\t${path}\0`);
  return ok(lines.length === 0 ? await git.treeOf(base) : await treeWith(git, checkout, lines));
}

/** Uses an empty work tree, so that nothing in the agent's folder can influence git. */
async function treeWith(git: Git, { base, gitDir }: Checkout, lines: string[]): Promise<string> {
  const blind = await git.withoutWorkTree(gitDir);
  await git.text([...blind, "read-tree", base]);
  const put = await git.run([...blind, "update-index", "-z", "--index-info"], lines);
  if (put.code !== 0) throw new Error(`git update-index failed (${put.code}): ${put.stderr.trim()}`);
  return git.text([...blind, "write-tree"]);
}

async function entriesOf(git: Git, commit: string): Promise<Map<string, Entry>> {
  const entries = split(await git.text(["ls-tree", "-r", "-z", commit])).map((line) => {
    const [, mode = "", blob = "", path = ""] = /^(\d+) \w+ (\w+)\t(.*)$/s.exec(line) ?? [];
    return [path, { mode, blob }] as const;
  });
  return new Map(entries);
}

type FoundFiles = { seen: { path: string; mode: string }[]; gone: Set<string> };

/** Accepts plain files only: a link could point at anything on this machine (T13). */
async function findFiles(
  git: Git,
  folder: string,
  paths: string[],
  before: Map<string, Entry>,
): Promise<Result<FoundFiles>> {
  const isInside = insideOf(await realpath(folder));
  const { seen, gone }: FoundFiles = { seen: [], gone: new Set() };
  for (const path of paths) {
    if (path.endsWith("/")) return refuse("invalid", `${path} is a git repository; deliver regular files`);
    if (/[\u0000-\u001f\u007f]/.test(path)) return refuse("invalid", "a file name contains control characters");
    const file = join(folder, path);
    if (!(await isInside(dirname(file)))) {
      return refuse("invalid", `${path} goes through a symbolic link out of the folder`);
    }
    const stat = await lstat(file).catch(() => undefined);
    const known = before.get(path);
    if (!stat || stat.isDirectory()) gone.add(path);
    else if (known?.mode === "160000") continue;
    else if (stat.isSymbolicLink()) {
      const target = await git.text(["hash-object", "--stdin"], await readlink(file));
      if (known?.mode !== "120000" || known.blob !== target) {
        return refuse("invalid", `${path} is a symbolic link; deliver regular files`);
      }
    } else if (!stat.isFile()) return refuse("invalid", `${path} is not a regular file`);
    else if (stat.size > largestFile)
      return refuse("invalid", `${path} has ${stat.size} bytes; the maximum is ${largestFile}`);
    else seen.push({ path, mode: stat.mode & 0o100 ? "100755" : "100644" });
  }
  return ok({ seen, gone });
}

/** True if a folder, with links resolved, lies inside `root`; cached per folder. */
function insideOf(root: string) {
  const known = new Map<string, boolean>();
  return async (folder: string): Promise<boolean> => {
    const before = known.get(folder);
    if (before !== undefined) return before;
    const real = await realpath(folder).catch(() => undefined);
    const inside = real === undefined || real === root || real.startsWith(`${root}${sep}`);
    known.set(folder, inside);
    return inside;
  };
}

async function hashed(git: Git, files: string[]): Promise<string[]> {
  if (files.length === 0) return [];
  const names = await git.text(["hash-object", "-w", "--no-filters", "--stdin-paths"], `${files.join("\n")}\n`);
  return names.split("\n");
}

export async function changedBetween(git: Git, from: string, to: string): Promise<Changed[]> {
  const words = split(await git.text(["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to]));
  const files: Changed[] = [];
  for (let i = 0; i + 1 < words.length; i += 2) {
    files.push({ path: words[i + 1] ?? "", status: named[words[i] ?? ""] ?? "changed" });
  }
  return files;
}

const named: Record<string, Changed["status"]> = { A: "added", M: "changed", D: "deleted", T: "changed" };
const split = (text: string) => text.split("\0").filter((part) => part !== "");
