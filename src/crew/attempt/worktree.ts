import { existsSync } from "node:fs";
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ok, type Result, refuse, unwrap } from "../../kernel/result.ts";
import { foldedPath } from "../../kernel/steering-files.ts";
import { copyTree } from "../../store/disk/copy-tree.ts";
import { privateFile, privateFolder } from "../../store/disk/private.ts";
import { type FilteredFiles, filteredBefore, filterFiles } from "../../store/git/filtered-files.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import { mergeTree } from "../../store/git/merge-branch.ts";
import { parseJsonOr } from "../../store/json.ts";
import type { Beside } from "../agent/desk/place.ts";
import type { RunPacks } from "../record/run-packs.ts";
import { acceptedBranch, beforeRerunBranch } from "../rules/branches.ts";
import { type Changed, changedBetween, treeOfFiles } from "./changed-files.ts";
import type { Installation } from "./install/cache.ts";
import { excludeText, privateRepository } from "./private-repository.ts";

/** The checkout of one attempt, on a branch of its own. */
export type Worktree = {
  folder: string;
  /** The workspace inside the checkout. */
  cwd: string;
  branch: string | undefined;
  base: string;
  /** Git's state of this checkout, recorded before an agent could change `.git` in it. */
  gitDir: string;
  /** The files that pass through a filter, such as those of LFS. */
  filtered: FilteredFiles;
  /** What a setup made in it, relative to its top: not part of a deliverable. */
  installed: string[];
  /** Where that is moved when the deliverable is collected. */
  aside: string;
};

/** The start of an attempt: the accepted work, with the files of the failed attempt if `kept`. */
export type Start = { base: string; commit: string; kept: boolean };
export type Collected = { commit: string; tree: string; files: Changed[] };
export type Merged = { commit: string; already: boolean };
/** A merge that is not published yet: its commit and tree, and the accepted commit that it goes onto. */
export type Candidate = { commit: string; tree: string; onto: string };

type Deps = {
  git: Git;
  /** The commits of runs in the database; left out where this repository is the only one. */
  packs?: RunPacks;
  /** The parent folder of checkouts; git-ignored. What belongs to them without being part of them is beside it. */
  folder: string;
  /** Paths that no deliverable may change: operations write them. */
  guarded: readonly string[];
  author: Identity;
};

const mostTries = 30;

/**
 * Each attempt has a worktree on a branch of its own; accepted work is merged into the run's branch.
 * Changes are what git finds in the files under the state that was recorded at the start, so that an agent cannot
 * lie about them or tamper with git in its folder. No program that only the repository names runs.
 */
export function worktrees({ git, packs: given, folder: home, guarded, author }: Deps) {
  const desks = join(dirname(home), "desks");
  const stored = () => (given?.isOn() ? given : undefined);
  const acceptedRef = (run: string) => `refs/heads/${acceptedBranch(run)}`;

  /** The tip of the run's accepted work; at first the person's HEAD. */
  async function accepted(run: string): Promise<string> {
    const packs = stored();
    if (packs) {
      const begun = await packs.begin(run, newStart);
      const found = begun.ok ? await packs.accepted(run, { setBranch: true }) : begun;
      return unwrap(found) ?? newStart();
    }
    const there = await git.commitAt(acceptedRef(run));
    if (there) return there;
    const start = await newStart();
    return (await git.moveRef(acceptedRef(run), start, null)) ? start : git.text(["rev-parse", acceptedRef(run)]);
  }

  async function newStart(): Promise<string> {
    const { commit } = await git.head();
    return commit ?? git.commitTree(await emptyTree(), [], "Begin", author);
  }

  const emptyTree = () => git.text(["hash-object", "-t", "tree", "-w", "--stdin"], "");

  async function open(name: string, commit: string, branch?: string): Promise<Worktree> {
    const folder = join(home, name);
    const [{ prefix }, gitDir] = await Promise.all([git.place(), stateOf(name)]);
    await mkdir(home, privateFolder);
    await oneAfterTheOther(async () => {
      for (let tries = 1; ; tries++) {
        await forgetCheckout(name);
        const added = await git.addWorktree(folder, commit, branch);
        if (added.code === 0) return;
        // Git reads the state of every checkout, and fails at one that another process is creating.
        const isTransient = /worktrees\/.*(commondir|gitdir|HEAD)|index\.lock/.test(added.stderr);
        if (!isTransient || tries === mostTries) throw new Error(`git worktree failed: ${added.stderr.trim()}`);
        await sleep(10 * tries);
      }
    });
    const filtered = await filterFiles(git, { folder, gitDir }, commit);
    const cwd = join(folder, prefix);
    beside.set(cwd, await newDesk(name, { folder, gitDir }, commit));
    return {
      folder,
      cwd,
      branch,
      base: commit,
      gitDir,
      filtered,
      installed: [],
      aside: join(desks, name, "installed"),
    };
  }

  const installedFile = (name: string) => join(desks, name, "installed.json");

  /** Copies dependencies into a checkout; git and the tools of agents ignore them there, like `.gitignore` would. */
  async function install(tree: Worktree, installation: Installation | undefined): Promise<void> {
    if (!installation) return;
    for (const path of installation.paths)
      tree.installed.push(...(await copyTree(join(installation.folder, path), tree.folder, path)));
    const at = beside.get(tree.cwd);
    if (!at || tree.installed.length === 0) return;
    await writeFile(installedFile(basename(tree.folder)), JSON.stringify(tree.installed), privateFile);
    const { prefix } = await git.place();
    const patterns = (start: string) =>
      tree.installed
        .flatMap((path) => (path.startsWith(start) ? [`/${escaped(path.slice(start.length))}\n`] : []))
        .join("");
    beside.set(tree.cwd, { ...at, exclude: `${at.exclude ?? ""}\n${patterns(prefix)}` });
    if (at.repository) await appendFile(join(at.repository.gitDir, "info/exclude"), `\n${patterns("")}`);
  }

  /** By the workspace inside the checkout. */
  const beside = new Map<string, Beside>();

  async function newDesk(name: string, checkout: { folder: string; gitDir: string }, commit: string): Promise<Beside> {
    const scratch = join(desks, name);
    await mkdir(scratch, privateFolder);
    const repository = await privateRepository({ git, checkout, commit, at: join(scratch, "git"), author });
    const exclude = await excludeText((await git.place()).commonDir);
    return { scratch, exclude, ...(repository ? { repository } : {}) };
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

  async function forgetCheckout(name: string): Promise<void> {
    const paths = [join(home, name), await stateOf(name), join(desks, name)];
    await Promise.all(paths.map((path) => rm(path, { recursive: true, force: true, maxRetries: 3 })));
  }

  async function remove({ folder, cwd }: Pick<Worktree, "folder" | "cwd">): Promise<void> {
    beside.delete(cwd);
    await forgetCheckout(basename(folder));
  }

  /**
   * A retry starts from the failed attempt's files merged into the accepted work; if they conflict, from
   * the accepted work alone.
   */
  async function startFor(run: string, previous: string | undefined): Promise<Start> {
    const base = await accepted(run);
    const fresh = { base, commit: base, kept: false };
    if (!previous) return fresh;
    const joined = await mergeTree(git, base, previous);
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

  const isGuarded = (path: string) => {
    const folded = foldedPath(path);
    return (
      folded.split("/").some((part) => part === ".git" || part.startsWith(".scriptorium")) ||
      guarded.map(foldedPath).some((place) => folded === place || folded.startsWith(`${place}/`))
    );
  };

  /**
   * Merges work into the run's branch, one after the other, all or nothing. Idempotent, so that a crash after it does no
   * harm. A conflict changes nothing and names the files, and neither does a candidate that `check` refuses.
   */
  async function merge(
    run: string,
    work: readonly { commit: string; message: string }[],
    check: (candidate: Candidate) => Promise<Result<true>> = async () => ok(true),
  ): Promise<Result<Merged>> {
    for (let tries = 1; ; tries++) {
      const onto = await accepted(run);
      let tip = onto;
      for (const { commit, message } of work) {
        if (await git.isAncestor(commit, tip)) continue;
        const joined = await mergeTree(git, tip, commit);
        if ("conflicts" in joined) {
          const files = joined.conflicts;
          const reason = `merge conflict with work accepted since, in ${files.join(", ")}`;
          return refuse("conflict", reason, { files, ours: onto });
        }
        tip = await commitTree(joined.tree, [tip, commit], message);
      }
      if (tip === onto) return ok({ commit: onto, already: true });
      const held = await check({ commit: tip, tree: await treeOf(tip), onto });
      if (!held.ok) return held;
      const moved = await moveAccepted(run, tip, onto);
      if (!moved.ok) return moved;
      if (moved.value) return ok({ commit: tip, already: false });
      if (tries === mostTries) throw new Error(`${acceptedRef(run)} kept changing during ${mostTries} merges`);
      await sleep(10 * tries);
    }
  }

  /** False if the accepted work is no longer at `from`. Where commits are stored, the branch moves after its commit is. */
  async function moveAccepted(run: string, to: string, from: string, reason?: string): Promise<Result<boolean>> {
    const packs = stored();
    if (!packs) return ok(await git.moveRef(acceptedRef(run), to, from, { reason }));
    const published = await packs.publish(run, to);
    return published.ok ? ok(await packs.move(run, to, from, reason)) : published;
  }

  /** The merges of accepted tasks, oldest first. */
  async function acceptedMerges(
    run: string,
  ): Promise<{ commit: string; first: string; task: string; number: string }[]> {
    const keys = ["Run", "Task", "Number"].map((key) => `%(trailers:key=${key},valueonly,separator=%x20)`);
    const format = ["%H", "%P", "%s", ...keys].join("%x00");
    const found: { commit: string; first: string; task: string; number: string }[] = [];
    const log = await git.text(["log", "--first-parent", `--format=${format}`, acceptedRef(run)]);
    for (const line of log.split("\n")) {
      const [commit = "", parents = "", subject = "", of, task = "", number = ""] = line.split("\0");
      if (of !== run || !subject.startsWith("Accept task ")) break;
      found.unshift({ commit, first: parents.split(" ")[0] ?? "", task, number });
    }
    return found;
  }

  /** The accepted work without some tasks, as a commit; nothing moves. A conflict names the task that needs them. */
  async function acceptedWithout(
    run: string,
    tasks: ReadonlySet<string>,
  ): Promise<Result<{ from: string; to: string }>> {
    const from = await accepted(run);
    const merges = await acceptedMerges(run);
    const first = merges.findIndex(({ task }) => tasks.has(task));
    if (first < 0) return ok({ from, to: from });
    let to = merges[first]?.first ?? from;
    for (const { commit, first: before, number } of merges.slice(first).filter(({ task }) => !tasks.has(task))) {
      const joined = await mergeTree(git, to, commit, before);
      if ("conflicts" in joined)
        return refuse(
          "conflict",
          `task ${number}, which is kept, was built on the files of tasks that are repeated: ${joined.conflicts.join(", ")}; rerun from task ${number} as well, or overturn it first`,
          { files: joined.conflicts },
        );
      // Without its second parent, whose history has the tasks that are left out.
      to = await commitTree(joined.tree, [to], (await git.text(["log", "-1", "--format=%B", commit])).trimEnd());
    }
    // Another machine may have to set the branch back after a crash.
    const published = (await stored()?.publish(run, to)) ?? ok(true);
    return published.ok ? ok({ from, to }) : published;
  }

  /** Sets the accepted work back; what was accepted before stays on a branch of its own. */
  async function setBack(run: string, { from, to }: { from: string; to: string }): Promise<boolean> {
    if (from === to) return true;
    await git.setRef(`refs/heads/${beforeRerunBranch(run, from)}`, from);
    return unwrap(await moveAccepted(run, to, from, "scriptorium: rerun"));
  }

  /** Commits what an agent has in its folder to its branch, while it works; undefined if the folder is not here. */
  async function snapshot(name: string, branch: string, message: string): Promise<string | undefined> {
    const folder = join(home, name);
    const base = existsSync(folder) ? await git.commitAt(`refs/heads/${branch}`) : undefined;
    if (base === undefined) return undefined;
    const tree = {
      folder,
      cwd: folder,
      branch,
      base,
      gitDir: await stateOf(name),
      filtered: await filteredBefore(git),
      installed: parseJsonOr<string[]>(await readFile(installedFile(name), "utf8").catch(() => "[]"), []),
      aside: join(desks, name, "installed"),
    };
    const found = await collect(tree, base, message);
    return found.ok ? found.value.commit : undefined;
  }

  return {
    accepted,
    /** As `accepted`, but creates no branch: undefined in a repository without commits. */
    async tipOrHead(run: string): Promise<string | undefined> {
      const found = await stored()?.accepted(run, { setBranch: false });
      return (found && unwrap(found)) ?? (await git.commitAt(acceptedRef(run))) ?? (await git.head()).commit;
    },
    acceptedWithout,
    setBack,
    snapshot,
    open,
    install,
    remove,
    /** What belongs to an open checkout, by the workspace in it. */
    beside: (cwd: string) => beside.get(cwd),
    startFor,
    collect,
    merge,
    /** The accepted commit that an attempt's commit is based on. */
    baseOf: async (run: string, commit: string) => git.text(["merge-base", await accepted(run), commit]),
    /** True if files were accepted for a run; a run of texts has no branch. */
    hasAccepted: async (run: string) =>
      stored()?.hasAccepted(run) ?? (await git.commitAt(acceptedRef(run))) !== undefined,
    /** Records what a run starts from, so that other machines can fetch it; nothing where commits are not stored. */
    begin: async (run: string): Promise<Result<true>> => stored()?.begin(run, newStart) ?? ok(true),
    /** Stores a commit of a run, so that other machines can fetch it; nothing where commits are not stored. */
    publish: async (run: string, commit: string): Promise<Result<true>> => stored()?.publish(run, commit) ?? ok(true),
    /** Refused, with the reason, if this repository lacks the accepted work or the commits and cannot fetch them. */
    async reach(run: string, commits: readonly (string | null)[] = []): Promise<Result<true>> {
      const wanted = commits.filter((one) => one !== null);
      const packs = stored();
      if (packs) {
        const begun = await packs.begin(run, newStart);
        const base = begun.ok ? await packs.accepted(run, { setBranch: false }) : begun;
        return base.ok ? packs.fetch(run, wanted) : base;
      }
      for (const commit of wanted)
        if (!(await git.commitAt(commit)))
          return refuse(
            "not_found",
            `this repository lacks commit ${commit} of run ${run}, and the database does not have it`,
          );
      return ok(true);
    },
    /** The commit and tree of a branch, or of the recorded commit if the branch is gone. */
    async tip(
      run: string,
      branch: string,
      recorded: string | null,
    ): Promise<{ commit: string; tree: string } | undefined> {
      const isHere = (await git.commitAt(`refs/heads/${branch}`)) !== undefined;
      if (!isHere && recorded) await stored()?.fetch(run, [recorded]);
      for (const name of [`refs/heads/${branch}`, ...(recorded ? [recorded] : [])]) {
        const found = await git.commitAt(name);
        if (found) return { commit: found, tree: await treeOf(found) };
      }
      return undefined;
    },
    /** A unified diff. */
    diff: (from: string, to: string) => git.text(["diff", from, to]),
    forgetCheckout,
    forget: (branch: string) => git.deleteRef(`refs/heads/${branch}`),
    /**
     * Removes checkouts of killed processes. Claims are read after the folder is listed: a checkout in the
     * list was created under a claim that is on record by then.
     */
    async sweep(whoIsAlive: () => Promise<(name: string) => boolean>): Promise<void> {
      const listed = await Promise.all([home, desks].map((folder) => readdir(folder).catch((): string[] => [])));
      const names = [...new Set(listed.flat())];
      if (names.length === 0) return;
      const isLive = await whoIsAlive();
      for (const name of names.filter((one) => !isLive(one))) await forgetCheckout(name);
    },
  };
}

export type Worktrees = ReturnType<typeof worktrees>;

/** As a pattern of an ignore file. */
const escaped = (path: string) => path.replace(/[\\*?[\]!# ]/g, "\\$&");

const whyGuarded = "the wiki, sources and settings of Scriptorium are changed through tools or by people";
