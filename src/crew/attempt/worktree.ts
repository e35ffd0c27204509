import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { privateFolder } from "../../store/disk/private.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import { acceptedBranch } from "../rules/branches.ts";
import { type Changed, changedBetween, treeOfFiles } from "./changed-files.ts";

/** The checkout of one attempt, on a branch of its own. */
export type Worktree = {
  folder: string;
  /** The workspace inside the checkout. */
  cwd: string;
  branch: string | undefined;
  base: string;
  /** Git's state of this checkout, recorded before an agent could change `.git` in it. */
  gitDir: string;
};

/** The start of an attempt: the accepted work, with the files of the failed attempt if `kept`. */
export type Start = { base: string; commit: string; kept: boolean };
export type Collected = { commit: string; tree: string; files: Changed[] };
export type Merged = { commit: string; already: boolean };

type Deps = {
  git: Git;
  /** The parent folder of checkouts; git-ignored. */
  folder: string;
  /** Paths that no deliverable may change: operations write them. */
  guarded: readonly string[];
  author: Identity;
};

const mostTries = 30;

/**
 * Each attempt has a worktree on a branch of its own; accepted work is merged into the run's branch.
 * Changes are read from the files against the commit at the start, by plumbing that runs no filters and
 * hooks of the repository, so that an agent cannot lie about them or tamper with git in its folder.
 */
export function worktrees({ git, folder: home, guarded, author }: Deps) {
  const acceptedRef = (run: string) => `refs/heads/${acceptedBranch(run)}`;

  /** The tip of the run's accepted work; at first the person's HEAD. */
  async function accepted(run: string): Promise<string> {
    const there = await git.commitAt(acceptedRef(run));
    if (there) return there;
    const { commit } = await git.head();
    const start = commit ?? (await git.commitTree(await emptyTree(), [], "Begin", author));
    return (await git.moveRef(acceptedRef(run), start, null)) ? start : git.text(["rev-parse", acceptedRef(run)]);
  }

  const emptyTree = () => git.text(["hash-object", "-t", "tree", "-w", "--stdin"], "");

  async function open(name: string, commit: string, branch?: string): Promise<Worktree> {
    const folder = join(home, name);
    const [{ prefix }, gitDir] = await Promise.all([git.place(), stateOf(name)]);
    await mkdir(home, privateFolder);
    await oneAfterTheOther(async () => {
      for (let tries = 1; ; tries++) {
        await forgetCheckout(folder, gitDir);
        const added = await git.addWorktree(folder, commit, branch);
        if (added.code === 0) return;
        // Git reads the state of every checkout, and fails at one that another process is creating.
        const isTransient = /worktrees\/.*(commondir|gitdir|HEAD)|index\.lock/.test(added.stderr);
        if (!isTransient || tries === mostTries) throw new Error(`git worktree failed: ${added.stderr.trim()}`);
        await sleep(10 * tries);
      }
    });
    return { folder, cwd: join(folder, prefix), branch, base: commit, gitDir };
  }

  let last: Promise<unknown> = Promise.resolve();
  const oneAfterTheOther = (work: () => Promise<void>): Promise<void> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };

  /** Git names the state of a checkout after its folder. */
  async function stateOf(name: string): Promise<string> {
    return join((await git.place()).commonDir, "worktrees", name);
  }

  async function forgetCheckout(folder: string, gitDir: string): Promise<void> {
    await Promise.all([folder, gitDir].map((path) => rm(path, { recursive: true, force: true, maxRetries: 3 })));
  }

  const remove = ({ folder, gitDir }: Pick<Worktree, "folder" | "gitDir">) => forgetCheckout(folder, gitDir);

  /**
   * A retry starts from the failed attempt's files merged into the accepted work; if they conflict, from
   * the accepted work alone.
   */
  async function startFor(run: string, previous: string | undefined): Promise<Start> {
    const base = await accepted(run);
    const fresh = { base, commit: base, kept: false };
    if (!previous) return fresh;
    const joined = await mergeTree(base, previous);
    if ("conflicts" in joined || joined.tree === (await treeOf(base))) return fresh;
    const commit = await commitTree(joined.tree, [base, previous], "Continue from the previous attempt");
    return { base, commit, kept: true };
  }

  const { treeOf } = git;

  const commitTree = (tree: string, parents: string[], message: string) =>
    git.commitTree(tree, parents, message, author);

  /** Commits all changes of the attempt since `base` to its branch. */
  async function collect(tree: Worktree, base: string, message: string): Promise<Result<Collected>> {
    const found = await treeOfFiles(git, tree);
    if (!found.ok) return found;
    const files = await changedBetween(git, base, found.value);
    const reserved = files.find(({ path }) => isGuarded(path));
    if (reserved) {
      return refuse(
        "invalid",
        `${reserved.path} was ${reserved.status}; deliverables may not change it: ${whyGuarded}`,
      );
    }
    const nothingNew = found.value === (await treeOf(tree.base));
    const commit = nothingNew ? tree.base : await commitTree(found.value, [tree.base], message);
    if (tree.branch && !nothingNew) await git.setRef(`refs/heads/${tree.branch}`, commit);
    return ok({ commit, tree: found.value, files });
  }

  const isGuarded = (path: string) =>
    path.split("/").some((part) => steering.has(part.toLowerCase())) ||
    guarded.some((place) => path === place || path.startsWith(`${place}/`));

  async function mergeTree(ours: string, theirs: string): Promise<{ tree: string } | { conflicts: string[] }> {
    const { code, stdout, stderr } = await git.run(["merge-tree", "--write-tree", "--name-only", "-z", ours, theirs]);
    const [tree = "", ...rest] = stdout.toString("utf8").split("\0");
    if (code === 0) return { tree };
    if (code !== 1) throw new Error(`git merge-tree failed (${code}): ${stderr.trim()}`);
    return { conflicts: [...new Set(rest.slice(0, rest.indexOf("")))] };
  }

  /**
   * Merges accepted work into the run's branch. Idempotent, so that a crash after it does no harm. A
   * conflict changes nothing and names the files.
   */
  async function merge(run: string, commit: string, message: string): Promise<Result<Merged>> {
    for (let tries = 1; ; tries++) {
      const ours = await accepted(run);
      const isIn = await git.run(["merge-base", "--is-ancestor", commit, ours]);
      if (isIn.code === 0) return ok({ commit: ours, already: true });
      const joined = await mergeTree(ours, commit);
      if ("conflicts" in joined) {
        const files = joined.conflicts;
        return refuse("conflict", `merge conflict with work accepted since, in ${files.join(", ")}`, { files, ours });
      }
      const made = await commitTree(joined.tree, [ours, commit], message);
      if (await git.moveRef(acceptedRef(run), made, ours)) return ok({ commit: made, already: false });
      if (tries === mostTries) throw new Error(`${acceptedRef(run)} kept changing during ${mostTries} merges`);
      await sleep(10 * tries);
    }
  }

  return {
    accepted,
    open,
    remove,
    startFor,
    collect,
    merge,
    /** True if files were accepted for a run; a run of texts has no branch. */
    hasAccepted: async (run: string) => (await git.commitAt(acceptedRef(run))) !== undefined,
    /** The commit and tree of a branch, or of the recorded commit if the branch is gone. */
    async tip(branch: string, recorded: string | null): Promise<{ commit: string; tree: string } | undefined> {
      for (const name of [`refs/heads/${branch}`, ...(recorded ? [recorded] : [])]) {
        const found = await git.commitAt(name);
        if (found) return { commit: found, tree: await treeOf(found) };
      }
      return undefined;
    },
    /** A unified diff. */
    diff: (from: string, to: string) => git.text(["diff", "--no-ext-diff", "--no-textconv", "--no-color", from, to]),
    forget: (branch: string) => git.deleteRef(`refs/heads/${branch}`),
    /**
     * Removes checkouts of killed processes. Claims are read after the folder is listed: a checkout in the
     * list was created under a claim that is on record by then.
     */
    async sweep(whoIsAlive: () => Promise<(name: string) => boolean>): Promise<void> {
      const names = await readdir(home).catch(() => []);
      if (names.length === 0) return;
      const isLive = await whoIsAlive();
      for (const name of names.filter((one) => !isLive(one)))
        await forgetCheckout(join(home, name), await stateOf(name));
    },
  };
}

export type Worktrees = ReturnType<typeof worktrees>;

/** Files that would steer the next agent, or git itself. */
const steering = new Set([".git", ".gitmodules", ".claude", ".codex", ".mcp.json", ".vscode"]);
const whyGuarded = "the wiki, sources and settings of programs are changed through tools or by people";
