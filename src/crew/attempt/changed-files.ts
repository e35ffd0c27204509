import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileNameProblem } from "../../kernel/file-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { moveOut } from "../../store/disk/copy-tree.ts";
import type { FilteredFiles, StagedFile } from "../../store/git/filtered-files.ts";
import type { Git } from "../../store/git/git.ts";

export type Changed = { path: string; status: "added" | "changed" | "deleted" };

type Checkout = {
  folder: string;
  base: string;
  gitDir: string;
  filtered: FilteredFiles;
  installed: string[];
  aside: string;
};

const largestFile = 20 * 1024 * 1024;

/** The tree of the files of a checkout that its agent goes on working in: dependencies stay where they are. */
export const treeSoFar = (git: Git, checkout: Checkout): Promise<Result<string>> =>
  treeOf(git, checkout, checkout.installed);

/** The tree of the files of a checkout whose agent has ended. */
export async function treeOfFiles(git: Git, checkout: Checkout): Promise<Result<string>> {
  await setAside(checkout);
  return treeOf(git, checkout);
}

/**
 * Writes the tree of a checkout's files as `git add` stores them, with line endings, encodings and filters
 * converted, so that a file counts as changed only if git would commit it as changed. `gitDir` is outside the
 * agent's sandbox; a `.git` of another content in the folder is ignored.
 */
async function treeOf(git: Git, checkout: Checkout, without: readonly string[] = []): Promise<Result<string>> {
  const { folder, base, gitDir, filtered } = checkout;
  const here = git.inCheckout(checkout);
  // A process that was stopped with its agent may have left it.
  await rm(join(gitDir, "index.lock"), { force: true });
  await filtered.release(here);
  const excluded = without.map((path) => `:(top,exclude,literal)${path}`);
  const wanted = excluded.length > 0 ? ["--", ":/", ...excluded] : [];
  const listed = ["ls-files", "-z", "--modified", "--others", "--exclude-standard", "--deduplicate", ...wanted];
  const paths = split(await here(listed));
  for (const path of paths) {
    const fine = await checkFile(folder, path);
    if (!fine.ok) return fine;
  }
  // `git add` fails when it is to leave out a folder that is ignored anyway.
  if (excluded.length === 0) await here(["add", "--all"]);
  else await here(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], nulEnded(paths));
  const changes = await rawChanges(git, base, await here(["write-tree"]));
  // An agent may have put a link in place after the check of its files.
  const special = changes.find(({ mode }) => mode === "120000" || mode === "160000");
  if (special) return refuse("invalid", `${special.path} is not a regular file; deliver regular files`);
  await filtered.store(here, changes);
  return ok(await here(["write-tree"]));
}

/** Moves dependencies out of the way: a repository that does not ignore them must not get them as a deliverable. */
async function setAside({ folder, installed, aside }: Checkout): Promise<void> {
  for (const [i, path] of installed.splice(0).entries()) await moveOut(folder, path, join(aside, String(i)));
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

async function rawChanges(git: Git, base: string, tree: string): Promise<StagedFile[]> {
  const words = split(await git.text(["diff-tree", "-r", "-z", "--no-renames", "--raw", base, tree]));
  return words.flatMap((word, at) => {
    const [, mode = "", , blob = ""] = word.split(" ");
    return at % 2 === 0 ? [{ path: words[at + 1] ?? "", mode, blob }] : [];
  });
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
const nulEnded = (paths: string[]) => paths.map((path) => `${path}\0`).join("");
const split = (text: string) => text.split("\0").filter((part) => part !== "");
