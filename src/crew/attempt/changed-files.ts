import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileNameProblem } from "../../kernel/file-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Git } from "../../store/git/git.ts";

export type Changed = { path: string; status: "added" | "changed" | "deleted" };

type Checkout = { folder: string; base: string; gitDir: string };

const largestFile = 20 * 1024 * 1024;

/**
 * Writes the tree of a checkout's files as `git add` stores them, with line endings, encodings and filters
 * converted, so that a file counts as changed only if git would commit it as changed. `gitDir` is outside the
 * agent's sandbox; a `.git` of another content in the folder is ignored.
 */
export async function treeOfFiles(git: Git, { folder, base, gitDir }: Checkout): Promise<Result<string>> {
  const here = ["-C", folder, "--git-dir", gitDir, "--work-tree", folder];
  // A process that was stopped with its agent may have left it.
  await rm(join(gitDir, "index.lock"), { force: true });
  const listed = ["ls-files", "-z", "--modified", "--others", "--exclude-standard", "--deduplicate"];
  for (const path of split(await git.text([...here, ...listed]))) {
    const fine = await checkFile(folder, path);
    if (!fine.ok) return fine;
  }
  await git.text([...here, "add", "--all"]);
  const tree = await git.text([...here, "write-tree"]);
  const special = await findSpecial(git, base, tree);
  return special ? refuse("invalid", `${special}; deliver regular files`) : ok(tree);
}

/** Accepts plain files only: a link could point at anything on this machine (T13). */
async function checkFile(folder: string, path: string): Promise<Result<true>> {
  if (path.endsWith("/")) return refuse("invalid", `${path} is a git repository; deliver regular files`);
  const problem = fileNameProblem(path);
  if (problem) return refuse("invalid", `${JSON.stringify(path)} is not a valid file name: ${problem}`);
  const stat = await lstat(join(folder, path)).catch(() => undefined);
  if (!stat || stat.isDirectory()) return ok(true);
  if (stat.isSymbolicLink()) return refuse("invalid", `${path} is a symbolic link; deliver regular files`);
  if (!stat.isFile()) return refuse("invalid", `${path} is not a regular file`);
  if (stat.size > largestFile)
    return refuse("invalid", `${path} has ${stat.size} bytes; the maximum is ${largestFile}`);
  return ok(true);
}

/** A link or repository among the changes, which an agent may have put in place after the check of its files. */
async function findSpecial(git: Git, base: string, tree: string): Promise<string | undefined> {
  const words = split(await git.text(["diff-tree", "-r", "-z", "--no-renames", "--raw", base, tree]));
  for (let i = 0; i + 1 < words.length; i += 2) {
    const mode = words[i]?.split(" ")[1];
    if (mode === "120000") return `${words[i + 1]} is a symbolic link`;
    if (mode === "160000") return `${words[i + 1]} is a git repository`;
  }
  return undefined;
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
