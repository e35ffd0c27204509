import { copyFile, link, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { processName, processState } from "../../kernel/process-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { batches } from "../batches.ts";
import { crashPoint } from "../disk/crash.ts";
import type { Git, Identity } from "./git.ts";
import type { GitOutput } from "./run-git.ts";

export type MergedFile = { path: string; status: "added" | "changed" | "deleted" };
/** What a merge would do; `already` if the branch has the work. */
export type BranchMerge = { tip: string; tree: string; files: MergedFile[]; already: boolean };

type Wanted = { into: string; from: string; squash: boolean };

const mostTries = 10;
const pathsAtOnce = 500;

/** Merges two commits without a work tree: the tree, or the files with conflicts. `base` replaces their merge base. */
export async function mergeTree(
  git: Git,
  ours: string,
  theirs: string,
  base?: string,
): Promise<{ tree: string } | { conflicts: string[] }> {
  const sides = base === undefined ? [ours, theirs] : await withBase(git, base, [ours, theirs]);
  const { code, stdout, stderr } = await git.run(["merge-tree", "--write-tree", "--name-only", "-z", ...sides]);
  const [tree = "", ...rest] = stdout.toString("utf8").split("\0");
  if (code === 0) return { tree };
  if (code !== 1) throw new Error(`git merge-tree failed (${code}): ${stderr.trim()}`);
  return { conflicts: [...new Set(rest.slice(0, rest.indexOf("")))] };
}

/** The same trees as commits on a common base: `--merge-base` needs git 2.40. */
async function withBase(git: Git, base: string, commits: string[]): Promise<string[]> {
  const author = { name: "Scriptorium", email: "" };
  const root = await git.commitTree(await git.treeOf(base), [], "Base", author);
  return Promise.all(commits.map(async (one) => git.commitTree(await git.treeOf(one), [root], "Side", author)));
}

/** The merge of a commit into a branch, or the files with conflicts; nothing is changed. */
export async function planMerge(git: Git, { into, from, squash }: Wanted): Promise<Result<BranchMerge>> {
  const tip = await git.commitAt(into);
  const name = into.replace(/^refs\/heads\//, "");
  if (!tip) return refuse("not_found", `branch ${name} does not exist, or has no commit`);
  if (await git.isAncestor(from, tip)) return ok({ tip, tree: await git.treeOf(tip), files: [], already: true });
  if ((await git.run(["merge-base", tip, from])).code !== 0)
    return refuse("conflict", `branch ${name} and the accepted work have no commit in common; choose another branch`);
  const joined = await mergeTree(git, tip, from);
  if ("conflicts" in joined) {
    const files = joined.conflicts;
    return refuse("conflict", `merge conflict in ${files.join(", ")}; nothing was changed`, { files });
  }
  const files = await changedFiles(git, tip, joined.tree);
  // A squash leaves no trace of the merged commits: only the files tell that they are there.
  return ok({ tip, tree: joined.tree, files, already: squash && files.length === 0 });
}

/** The next commit of a branch; `already` if it has everything, and no commit follows. */
export type NextCommit = BranchMerge & { parents: string[] };
type Committed = { commit: string; folder: string | undefined };

type BranchStep<Next> = {
  /** The ref of the branch. */
  into: string;
  author: Identity;
  reason: string;
  /** Called again after someone else moved the branch. */
  next(): Promise<Result<Next>>;
  message(next: Next): string;
};

/**
 * Merges a commit into one of the person's branches as `git merge` would: the work tree and the index of the checkout
 * that has the branch follow. Files that the person changed are never overwritten; on any refusal nothing is changed.
 */
export function mergeIntoBranch(
  git: Git,
  { message, author, ...wanted }: Wanted & { message: string; author: Identity },
): Promise<Result<BranchMerge & Committed>> {
  const next = async (): Promise<Result<NextCommit>> => {
    const planned = await planMerge(git, wanted);
    if (!planned.ok) return planned;
    const { tip } = planned.value;
    return ok({ ...planned.value, parents: wanted.squash ? [tip] : [tip, wanted.from] });
  };
  return commitOnBranch(git, { into: wanted.into, author, reason: "scriptorium: merge", next, message: () => message });
}

/** Commits on one of the person's branches, whose checkout follows; on any refusal nothing is changed. */
export async function commitOnBranch<Next extends NextCommit>(
  git: Git,
  { into, author, reason, next, message }: BranchStep<Next>,
): Promise<Result<Next & Committed>> {
  for (let tries = 1; ; tries++) {
    const planned = await next();
    if (!planned.ok) return planned;
    const { tip, tree, files, already, parents } = planned.value;
    const folder = await checkoutOf(git, into);
    if (already) return ok({ ...planned.value, commit: tip, folder });
    const commit = await git.commitTree(tree, parents, message(planned.value), author);
    const checkout = folder === undefined ? undefined : await checkoutAt(git, folder);
    await checkout?.forgetInterrupted();
    const moved = checkout ? await checkout.update(tip, commit, files) : ok(true);
    if (!moved.ok) return moved;
    crashPoint("merge-checked-out");
    if (await git.moveRef(into, commit, tip, { reason })) return ok({ ...planned.value, commit, folder });
    // Someone committed meanwhile: take the files back and commit on top of the new tip.
    const back = checkout ? await checkout.update(commit, tip, files) : ok(true);
    if (!back.ok) return back;
    if (tries === mostTries) return refuse("conflict", `branch ${into.replace(/^refs\/heads\//, "")} keeps changing`);
  }
}

/** Why the checkout of a branch cannot follow to other files, such as uncommitted changes. */
export async function checkoutInTheWay(
  git: Git,
  into: string,
  { tip, tree, files }: BranchMerge,
): Promise<Result<true>> {
  const folder = await checkoutOf(git, into);
  return folder === undefined ? ok(true) : (await checkoutAt(git, folder)).isFree(tip, tree, files);
}

/** The work tree that has a branch checked out. */
const checkoutOf = async (git: Git, ref: string): Promise<string | undefined> =>
  (await git.text(["for-each-ref", "--format=%(worktreepath)", ref])) || undefined;

/** A checkout of the person, whose index and files follow from one commit to another. */
async function checkoutAt(git: Git, folder: string) {
  const here = await git.inWorktree(folder);

  /** Paths with changes of the person: they are neither as the update finds them nor as an interrupted one left them. */
  async function touched(paths: string[], ends: readonly [from: string, to: string]): Promise<string[]> {
    const options = ["--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching"];
    const found: string[] = [];
    for (const batch of batches(paths, pathsAtOnce)) {
      const { stdout } = await here.run(["--literal-pathspecs", "status", ...options, "--", ...batch]);
      const lines = stdout
        .toString("utf8")
        .split("\0")
        .filter((line) => line !== "");
      const tracked = lines.filter((line) => !/^(\?\?|!!)/.test(line)).map((line) => line.slice(3));
      const own = tracked.length === 0 ? new Set<string>() : await differing(tracked, ends);
      found.push(...lines.map((line) => line.slice(3)).filter((path) => own.has(path) || !tracked.includes(path)));
    }
    return found;
  }

  /** Paths whose file differs from the index, or whose entry in the index is that of neither commit. */
  async function differing(paths: string[], [from, to]: readonly [string, string]): Promise<Set<string>> {
    const names = async (command: string, ...args: string[]) => {
      const options = ["--name-only", "-z", "--no-renames", "--", ...paths];
      const { stdout } = await here.run(["--literal-pathspecs", command, ...args, ...options]);
      return stdout
        .toString("utf8")
        .split("\0")
        .filter((path) => path !== "");
    };
    const notBefore = new Set(await names("diff-index", "--cached", from));
    const notAfter = await names("diff-index", "--cached", to);
    return new Set([...notAfter.filter((path) => notBefore.has(path)), ...(await names("diff-files"))]);
  }

  const keptName = "scriptorium-merge-";

  /** Deletes copies that killed processes kept for the case that git fails. */
  async function forgetInterrupted(): Promise<void> {
    const names = (await readdir(here.gitDir)).filter((name) => name.startsWith(keptName));
    for (const name of names) {
      const [, owner = ""] = /^([0-9a-f]+)-/.exec(name.slice(keptName.length)) ?? [];
      if (processState(Buffer.from(owner, "hex").toString()) === "gone")
        await rm(join(here.gitDir, name), { recursive: true, force: true });
    }
  }

  /**
   * Runs an update of files, and puts them back if it stops half-way. Git replaces files and does not write into them,
   * so that a second link keeps the old one; git itself could not restore a file whose filter fails.
   */
  async function undoable(files: MergedFile[], run: () => Promise<GitOutput>): Promise<GitOutput> {
    const owner = Buffer.from(processName()).toString("hex");
    const kept = await mkdtemp(join(here.gitDir, `${keptName}${owner}-`));
    try {
      const before = files.filter(({ status }) => status !== "added").map(({ path }) => join(folder, path));
      for (const [at, file] of before.entries())
        await link(file, join(kept, String(at))).catch(() =>
          copyFile(file, join(kept, String(at))).catch(() => undefined),
        );
      crashPoint("merge-kept");
      const output = await run();
      if (output.code === 0) return output;
      for (const { path, status } of files) if (status === "added") await rm(join(folder, path), { force: true });
      for (const [at, file] of before.entries()) {
        await mkdir(dirname(file), { recursive: true });
        await rename(join(kept, String(at)), file).catch((error: NodeJS.ErrnoException) => {
          // A file that a sparse checkout leaves out was not there before either.
          if (error.code !== "ENOENT") throw error;
        });
      }
      return output;
    } finally {
      await rm(kept, { recursive: true, force: true });
    }
  }

  async function isFree(from: string, to: string, files: MergedFile[]): Promise<Result<true>> {
    const busy = here.underWay();
    if (busy) return refuse("conflict", `${busy} is in progress in ${folder}; finish it first`);
    const own = await touched(
      files.map(({ path }) => path),
      [from, to],
    );
    if (own.length > 0)
      return refuse(
        "conflict",
        `uncommitted changes in ${own.join(", ")}, which the merge would overwrite; commit or stash them first`,
        { files: own },
      );
    return ok(true);
  }

  async function update(from: string, to: string, files: MergedFile[]): Promise<Result<true>> {
    const free = await isFree(from, to, files);
    if (!free.ok) return free;
    const { code, stderr } = await undoable(files, async () => {
      // Entries whose time stamps alone differ would count as changed; a new link changes them.
      await here.run(["update-index", "-q", "--refresh"]);
      return here.run(["read-tree", "-m", "-u", from, to]);
    });
    return code === 0
      ? ok(true)
      : refuse("conflict", `git could not update the files in ${folder}: ${withoutHints(stderr)}`);
  }

  return { update, isFree, forgetInterrupted };
}

const withoutHints = (stderr: string) =>
  stderr
    .split("\n")
    .filter((line) => !line.startsWith("hint:"))
    .join("\n")
    .trim();

export async function changedFiles(git: Git, from: string, to: string): Promise<MergedFile[]> {
  const words = await git.list(["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to]);
  const files: MergedFile[] = [];
  for (let at = 0; at + 1 < words.length; at += 2) {
    const letter = words[at];
    const status = letter === "A" ? "added" : letter === "D" ? "deleted" : "changed";
    files.push({ path: words[at + 1] ?? "", status });
  }
  return files;
}
