import { existsSync } from "node:fs";
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { foldedPath } from "../../kernel/steering-files.ts";
import { copyTree } from "../../store/disk/copy-tree.ts";
import { privateFile, privateFolder } from "../../store/disk/private.ts";
import { type FilteredFiles, filteredBefore, filterFiles } from "../../store/git/filtered-files.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import { parseJsonOr } from "../../store/json.ts";
import type { Beside } from "../agent/desk/place.ts";
import type { RunPacks } from "../record/run-packs.ts";
import { acceptedWork } from "./accepted.ts";
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
 * Each attempt has a worktree on a branch of its own; accepted work is merged into the run's branch (`accepted.ts`).
 * Changes are what git finds in the files under the state that was recorded at the start, so that an agent cannot
 * lie about them or tamper with git in its folder. No program that only the repository names runs.
 */
export function worktrees({ git, packs: given, folder: home, guarded, author }: Deps) {
  const desks = join(dirname(home), "desks");
  const stored = () => (given?.isOn() ? given : undefined);
  const branch = acceptedWork({ git, packs: given, author });

  /** `isBare`: without a repository for git in the sandbox, where no agent and no command of a plan runs. */
  async function open(
    name: string,
    commit: string,
    { branch, isBare = false }: { branch?: string; isBare?: boolean } = {},
  ): Promise<Worktree> {
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
    beside.set(cwd, await newDesk(name, { folder, gitDir }, commit, isBare));
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

  async function newDesk(
    name: string,
    checkout: { folder: string; gitDir: string },
    commit: string,
    isBare: boolean,
  ): Promise<Beside> {
    const scratch = join(desks, name);
    await mkdir(scratch, privateFolder);
    const at = join(scratch, "git");
    const repository = isBare ? undefined : await privateRepository({ git, checkout, commit, at, author });
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
    const base = await branch.accepted(run);
    const fresh = { base, commit: base, kept: false };
    if (!previous) return fresh;
    const { joined, parents } = await branch.join(run, base, previous);
    if ("conflicts" in joined || joined.tree === (await treeOf(base))) return fresh;
    const commit = await commitTree(joined.tree, parents, "Continue from the previous attempt");
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
    ...branch,
    snapshot,
    open,
    install,
    remove,
    /** What belongs to an open checkout, by the workspace in it. */
    beside: (cwd: string) => beside.get(cwd),
    startFor,
    collect,
    /** Records what a run starts from, so that other machines can fetch it; nothing where commits are not stored. */
    begin: async (run: string): Promise<Result<true>> => stored()?.begin(run, branch.newStart) ?? ok(true),
    /** Stores a commit of a run, so that other machines can fetch it; nothing where commits are not stored. */
    publish: async (run: string, commit: string): Promise<Result<true>> => stored()?.publish(run, commit) ?? ok(true),
    /** Refused, with the reason, if this repository lacks the accepted work or the commits and cannot fetch them. */
    async reach(run: string, commits: readonly (string | null)[] = []): Promise<Result<true>> {
      const wanted = commits.filter((one) => one !== null);
      const packs = stored();
      if (packs) {
        const begun = await packs.begin(run, branch.newStart);
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
