import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import { acceptedBranch } from "../rules/branches.ts";
import { type Changed, changedBetween, treeOfFiles } from "./changed-files.ts";

/** Where one attempt works: a checkout of its own on a branch of its own. */
export type Worktree = {
  folder: string;
  /** The workspace's folder in it. */
  cwd: string;
  branch: string | undefined;
  base: string;
  /** Where git keeps this checkout's state, as it was before anyone worked here. */
  gitDir: string;
};

/** Where an attempt starts: at what is accepted, or at that together with what the attempt before left. */
export type Start = { base: string; commit: string; kept: boolean };
export type Collected = { commit: string; tree: string; files: Changed[] };
export type Merged = { commit: string; already: boolean };

type Deps = {
  git: Git;
  /** Where checkouts lie; git-ignored. */
  folder: string;
  /** Files under these are written through operations, never by a deliverable. */
  guarded: readonly string[];
  author: Identity;
};

const mostTries = 30;

/**
 * Deliverables are files: each attempt has its own worktree on its own branch, and accepted work is
 * merged into the run's branch. What was changed is read from the files against the commit the
 * attempt began with, by plumbing that runs none of the repository's filters and hooks, so that
 * neither an agent's word nor what it did to git in its folder counts.
 */
export function worktrees({ git, folder: home, guarded, author }: Deps) {
  const acceptedRef = (run: string) => `refs/heads/${acceptedBranch(run)}`;

  /** The commit that the run's accepted work has come to; at first what the person has committed. */
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
    await mkdir(home, { recursive: true });
    await oneAfterTheOther(async () => {
      for (let tries = 1; ; tries++) {
        await forgetCheckout(folder, gitDir);
        const added = await git.addWorktree(folder, commit, branch);
        if (added.code === 0) return;
        // Git reads the state of every checkout, and stumbles over one that another process is just making.
        const stumbled = /worktrees\/.*(commondir|gitdir|HEAD)|index\.lock/.test(added.stderr);
        if (!stumbled || tries === mostTries) throw new Error(`git worktree failed: ${added.stderr.trim()}`);
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

  /** Where git keeps the state of a checkout: named after its folder, as nothing else has that name. */
  async function stateOf(name: string): Promise<string> {
    return join((await git.place()).commonDir, "worktrees", name);
  }

  async function forgetCheckout(folder: string, gitDir: string): Promise<void> {
    await Promise.all([folder, gitDir].map((path) => rm(path, { recursive: true, force: true, maxRetries: 3 })));
  }

  const remove = ({ folder, gitDir }: Pick<Worktree, "folder" | "gitDir">) => forgetCheckout(folder, gitDir);

  /**
   * A retry goes on from what the attempt before left, on top of what was accepted meanwhile;
   * where the two contradict each other it starts from what was accepted.
   */
  async function startFor(run: string, previous: string | undefined): Promise<Start> {
    const base = await accepted(run);
    const fresh = { base, commit: base, kept: false };
    if (!previous) return fresh;
    const joined = await mergeTree(base, previous);
    if ("conflicts" in joined || joined.tree === (await treeOf(base))) return fresh;
    const commit = await commitTree(joined.tree, [base, previous], "Go on from the attempt before");
    return { base, commit, kept: true };
  }

  const { treeOf } = git;

  const commitTree = (tree: string, parents: string[], message: string) =>
    git.commitTree(tree, parents, message, author);

  /** Everything the attempt changed since `base`, as one commit on its branch. */
  async function collect(tree: Worktree, base: string, message: string): Promise<Result<Collected>> {
    const found = await treeOfFiles(git, tree);
    if (!found.ok) return found;
    const files = await changedBetween(git, base, found.value);
    const reserved = files.find(({ path }) => isGuarded(path));
    if (reserved) {
      return refuse(
        "invalid",
        `${reserved.path} was ${reserved.status}, and no deliverable may do that: ${whyGuarded}`,
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
   * Brings accepted work into the run's branch. Done twice it changes nothing the second time, so a
   * crash right after it is no harm. A conflict changes nothing and names the files.
   */
  async function merge(run: string, commit: string, message: string): Promise<Result<Merged>> {
    for (let tries = 1; ; tries++) {
      const ours = await accepted(run);
      const isIn = await git.run(["merge-base", "--is-ancestor", commit, ours]);
      if (isIn.code === 0) return ok({ commit: ours, already: true });
      const joined = await mergeTree(ours, commit);
      if ("conflicts" in joined) {
        const files = joined.conflicts;
        return refuse("conflict", `what was accepted meanwhile contradicts it in ${files.join(", ")}`, { files, ours });
      }
      const made = await commitTree(joined.tree, [ours, commit], message);
      if (await git.moveRef(acceptedRef(run), made, ours)) return ok({ commit: made, already: false });
      if (tries === mostTries) throw new Error(`${acceptedRef(run)} kept moving during ${mostTries} merges`);
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
    /** Whether anything was accepted for a run in files; a run of texts has no branch. */
    hasAccepted: async (run: string) => (await git.commitAt(acceptedRef(run))) !== undefined,
    /** The commit and tree of a branch, or of what was recorded when the branch is gone. */
    async tip(branch: string, recorded: string | null): Promise<{ commit: string; tree: string } | undefined> {
      for (const name of [`refs/heads/${branch}`, ...(recorded ? [recorded] : [])]) {
        const found = await git.commitAt(name);
        if (found) return { commit: found, tree: await treeOf(found) };
      }
      return undefined;
    },
    /** What a commit changed, as people read it. */
    diff: (from: string, to: string) => git.text(["diff", "--no-ext-diff", "--no-textconv", "--no-color", from, to]),
    forget: (branch: string) => git.deleteRef(`refs/heads/${branch}`),
    /**
     * Takes away the checkouts that a process left behind when it was killed. Who is alive is asked after
     * the look: a checkout that is there by then was made under a claim that is on record by then.
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

/** Files by which the next agent, or git itself, would be made to do something. */
const steering = new Set([".git", ".gitmodules", ".claude", ".codex", ".mcp.json", ".vscode"]);
const whyGuarded =
  "the knowledge base, sources and the settings of programs are written through operations, or by people";
