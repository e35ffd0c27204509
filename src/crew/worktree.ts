import { lstat, mkdir, readdir, readlink, realpath, rm } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ok, type Result, refuse } from "../result.ts";
import type { Git, Identity } from "../store/git.ts";

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
export type Changed = { path: string; status: "added" | "changed" | "deleted" };
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

const largestFile = 20 * 1024 * 1024;
const nothing = "0".repeat(40);
const mostTries = 30;

/**
 * Deliverables are files: each attempt has its own worktree on its own branch, and accepted work is
 * merged into the run's branch. What was changed is read from the files against the commit the
 * attempt began with, by plumbing that runs none of the repository's filters and hooks, so that
 * neither an agent's word nor what it did to git in its folder counts.
 */
export function worktrees({ git, folder: home, guarded, author }: Deps) {
  let commonDir: Promise<string> | undefined;
  const acceptedRef = (run: string) => `refs/heads/${acceptedBranch(run)}`;

  /** The commit that the run's accepted work has come to; at first what the person has committed. */
  async function accepted(run: string): Promise<string> {
    const there = await git.maybe(["rev-parse", "-q", "--verify", `${acceptedRef(run)}^{commit}`]);
    if (there) return there;
    const { commit } = await git.head();
    const start = commit ?? (await git.text([...asAuthor(), "commit-tree", await emptyTree(), "-m", "Begin"]));
    const made = await git.run(["update-ref", acceptedRef(run), start, nothing]);
    return made.code === 0 ? start : git.text(["rev-parse", acceptedRef(run)]);
  }

  const emptyTree = () => git.text(["hash-object", "-t", "tree", "-w", "--stdin"], "");
  const asAuthor = () => ["-c", `user.name=${author.name}`, "-c", `user.email=${author.email}`];

  async function open(name: string, commit: string, branch?: string): Promise<Worktree> {
    const folder = join(home, name);
    const [{ prefix }, gitDir] = await Promise.all([git.place(), stateOf(name)]);
    await mkdir(home, { recursive: true });
    const how = branch ? ["-B", branch] : ["--detach"];
    await oneAfterTheOther(async () => {
      for (let tries = 1; ; tries++) {
        await forgetCheckout(folder, gitDir);
        const added = await git.run(["worktree", "add", "--force", ...how, folder, commit]);
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
    commonDir ??= git.text(["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    return join(await commonDir, "worktrees", name);
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

  const treeOf = (commit: string) => git.text(["rev-parse", `${commit}^{tree}`]);

  const commitTree = (tree: string, parents: string[], message: string) =>
    git.text([...asAuthor(), "commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent])], message);

  /** Everything the attempt changed since `base`, as one commit on its branch. */
  async function collect(tree: Worktree, base: string, message: string): Promise<Result<Collected>> {
    const { gitDir } = await git.place();
    const elsewhere = join(gitDir, "objects");
    const blind = ["-C", elsewhere, "--git-dir", tree.gitDir, "--work-tree", elsewhere];
    const seeing = ["-C", tree.folder, "--git-dir", tree.gitDir, "--work-tree", tree.folder];
    const [before, others] = await Promise.all([
      entriesOf(tree.base),
      git.text([...seeing, "ls-files", "-z", "--others", "--exclude-standard"]).then(split),
    ]);
    const found = await look(tree.folder, [...new Set([...before.keys(), ...others])], before);
    if (!found.ok) return found;
    const blobs = await hashed(found.value.map(({ path }) => join(tree.folder, path)));
    const lines = found.value.flatMap(({ path, mode }, i) => {
      const known = before.get(path);
      return known?.mode === mode && known.blob === blobs[i] ? [] : [`${mode} ${blobs[i]}\t${path}\0`];
    });
    for (const path of before.keys()) if (found.gone.has(path)) lines.push(`0 ${nothing}\t${path}\0`);
    const written = lines.length === 0 ? await treeOf(tree.base) : await treeWith(blind, tree.base, lines);
    const files = await changedBetween(base, written);
    const reserved = files.find(({ path }) => isGuarded(path));
    if (reserved) {
      return refuse(
        "invalid",
        `${reserved.path} was ${reserved.status}, and no deliverable may do that: ${whyGuarded}`,
      );
    }
    const commit = lines.length === 0 ? tree.base : await commitTree(written, [tree.base], message);
    if (tree.branch && lines.length > 0) await git.text(["update-ref", `refs/heads/${tree.branch}`, commit]);
    return ok({ commit, tree: written, files });
  }

  const isGuarded = (path: string) =>
    path.split("/").some((part) => steering.has(part.toLowerCase())) ||
    guarded.some((place) => path === place || path.startsWith(`${place}/`));

  async function treeWith(blind: string[], base: string, lines: string[]): Promise<string> {
    await git.text([...blind, "read-tree", base]);
    const put = await git.run([...blind, "update-index", "-z", "--index-info"], lines);
    if (put.code !== 0) throw new Error(`git update-index failed (${put.code}): ${put.stderr.trim()}`);
    return git.text([...blind, "write-tree"]);
  }

  async function entriesOf(commit: string): Promise<Map<string, { mode: string; blob: string }>> {
    const entries = split(await git.text(["ls-tree", "-r", "-z", commit])).map((line) => {
      const [, mode = "", blob = "", path = ""] = /^(\d+) \w+ (\w+)\t(.*)$/s.exec(line) ?? [];
      return [path, { mode, blob }] as const;
    });
    return new Map(entries);
  }

  type Seen = { path: string; mode: string };

  /** Plain files only: a link could stand for anything on this machine (T13). */
  async function look(
    folder: string,
    paths: string[],
    before: Map<string, { mode: string; blob: string }>,
  ): Promise<{ ok: true; value: Seen[]; gone: Set<string> } | ReturnType<typeof refuse>> {
    const root = await realpath(folder);
    const seen: Seen[] = [];
    const gone = new Set<string>();
    const inside = new Map<string, boolean>();
    for (const path of paths) {
      if (path.endsWith("/")) return refuse("invalid", `${path} is a repository of its own; deliver plain files`);
      if (/[\u0000-\u001f\u007f]/.test(path)) return refuse("invalid", "a file's name has control characters in it");
      const parent = dirname(join(folder, path));
      if (!inside.has(parent)) {
        const real = await realpath(parent).catch(() => undefined);
        inside.set(parent, real === undefined || real === root || real.startsWith(`${root}${sep}`));
      }
      if (!inside.get(parent)) return refuse("invalid", `${path} lies behind a link that leads out of the folder`);
      const stat = await lstat(join(folder, path)).catch(() => undefined);
      const known = before.get(path);
      if (!stat || stat.isDirectory()) gone.add(path);
      else if (known?.mode === "160000") continue;
      else if (stat.isSymbolicLink()) {
        const target = await git.text(["hash-object", "--stdin"], await readlink(join(folder, path)));
        if (known?.mode !== "120000" || known.blob !== target) {
          return refuse("invalid", `${path} is a link; deliver plain files`);
        }
      } else if (!stat.isFile()) return refuse("invalid", `${path} is no plain file`);
      else if (stat.size > largestFile)
        return refuse("invalid", `${path} has ${stat.size} bytes, more than ${largestFile}`);
      else seen.push({ path, mode: stat.mode & 0o100 ? "100755" : "100644" });
    }
    return { ok: true, value: seen, gone };
  }

  async function hashed(files: string[]): Promise<string[]> {
    if (files.length === 0) return [];
    const names = await git.text(["hash-object", "-w", "--no-filters", "--stdin-paths"], `${files.join("\n")}\n`);
    return names.split("\n");
  }

  async function changedBetween(from: string, to: string): Promise<Changed[]> {
    const words = split(await git.text(["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to]));
    const files: Changed[] = [];
    for (let i = 0; i + 1 < words.length; i += 2) {
      files.push({ path: words[i + 1] ?? "", status: named[words[i] ?? ""] ?? "changed" });
    }
    return files;
  }

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
    for (;;) {
      const ours = await accepted(run);
      const isIn = await git.run(["merge-base", "--is-ancestor", commit, ours]);
      if (isIn.code === 0) return ok({ commit: ours, already: true });
      const joined = await mergeTree(ours, commit);
      if ("conflicts" in joined) {
        const files = joined.conflicts;
        return refuse("conflict", `what was accepted meanwhile contradicts it in ${files.join(", ")}`, { files, ours });
      }
      const made = await commitTree(joined.tree, [ours, commit], message);
      const moved = await git.run(["update-ref", acceptedRef(run), made, ours]);
      if (moved.code === 0) return ok({ commit: made, already: false });
    }
  }

  return {
    accepted,
    open,
    remove,
    startFor,
    collect,
    merge,
    /** The commit and tree of a branch, or of what was recorded when the branch is gone. */
    async tip(branch: string, recorded: string | null): Promise<{ commit: string; tree: string } | undefined> {
      for (const name of [`refs/heads/${branch}`, ...(recorded ? [recorded] : [])]) {
        const found = await git.maybe(["rev-parse", "-q", "--verify", `${name}^{commit}`]);
        if (found) return { commit: found, tree: await treeOf(found) };
      }
      return undefined;
    },
    /** What a commit changed, as people read it. */
    diff: (from: string, to: string) => git.text(["diff", "--no-ext-diff", "--no-textconv", "--no-color", from, to]),
    forget: (branch: string) => git.run(["update-ref", "-d", `refs/heads/${branch}`]),
    /** Checkouts that a process left behind when it was killed. */
    async sweep(isLive: (name: string) => boolean): Promise<void> {
      const names = await readdir(home).catch(() => []);
      for (const name of names.filter((one) => !isLive(one)))
        await forgetCheckout(join(home, name), await stateOf(name));
    },
  };
}

export type Worktrees = ReturnType<typeof worktrees>;

export const acceptedBranch = (run: string) => `scriptorium/${run}/accepted`;
export const attemptBranch = (run: string, number: string, attempt: number, epoch: number) =>
  `scriptorium/${run}/task-${number}/attempt-${attempt}-${epoch}`;

/** Files by which the next agent, or git itself, would be made to do something. */
const steering = new Set([".git", ".gitmodules", ".claude", ".codex", ".mcp.json", ".vscode"]);
const named: Record<string, Changed["status"]> = { A: "added", M: "changed", D: "deleted", T: "changed" };
const whyGuarded =
  "the knowledge base, sources and the settings of programs are written through operations, or by people";
const split = (text: string) => text.split("\0").filter((part) => part !== "");
