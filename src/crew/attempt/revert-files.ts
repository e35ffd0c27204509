import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import { changedFiles, mergeTree, type NextCommit } from "../../store/git/merge-branch.ts";
import { acceptedBranch } from "../rules/branches.ts";
import { backToTrailer, revertedTrailer, runRevertMessage } from "../rules/revert-message.ts";

/** Accepted work in a row: `from` is the last commit that has it, `to` the commit before it. */
type Stretch = { from: string; to: string };

/** What taking a run's files out of a branch changes. */
export type FileRevert = NextCommit & {
  branch: string;
  stretches: Stretch[];
  /** Commits with the run's work, a squash among them. */
  carriers: string[];
  /** Commits that took earlier work of the run back. */
  reverts: string[];
};

type Marked = { commit: string; parents: string[]; accepts: boolean; accepted: string[]; reverted: string[] };

const pathsAtOnce = 500;

/** The branches of people that have accepted work of a run in their history. */
export async function branchesWithWork(git: Git, run: string): Promise<string[]> {
  const ours = ["--exclude=scriptorium/*", "--branches"];
  const marks = await marksOf(git, run, ours);
  const works = marks.filter((one) => one.accepts || one.accepted.length > 0).map(({ commit }) => commit);
  if (works.length === 0) return [];
  const found = new Set<string>();
  for (let at = 0; at < works.length; at += pathsAtOnce) {
    const contains = works.slice(at, at + pathsAtOnce).map((commit) => `--contains=${commit}`);
    const listed = await git.text(["for-each-ref", "--format=%(refname:lstrip=2)", ...contains, "refs/heads/"]);
    for (const name of listed.split("\n")) if (name !== "" && !name.startsWith("scriptorium/")) found.add(name);
  }
  return [...found].sort();
}

/**
 * The commit that takes a run's accepted files out of a branch, whether they came by a merge, a fast-forward, a squash
 * or a pull request; only what the run changed, not what else a merge brought. A conflict names the files. `already` if
 * none of it is left.
 */
export async function planFileRevert(git: Git, run: string, branch: string): Promise<Result<FileRevert>> {
  const ref = `refs/heads/${branch}`;
  const tip = await git.commitAt(ref);
  if (!tip) return refuse("not_found", `branch ${branch} does not exist, or has no commit`);
  const { stretches, carriers, reverts } = await stretchesOn(git, run, tip);
  let tree = await git.treeOf(tip);
  const start = tree;
  const conflicts = new Set<string>();
  for (const { from, to } of stretches) {
    const without = await mergeTree(git, tree, to, from);
    if ("conflicts" in without) for (const file of without.conflicts) conflicts.add(file);
    else tree = without.tree;
  }
  if (conflicts.size > 0) {
    const files = [...conflicts];
    const why = `changed since in the same places: ${files.join(", ")}; the branch stays as it is, revert these files by hand`;
    return refuse("conflict", why, { files });
  }
  const files = await changedFiles(git, start, tree);
  const already = files.length === 0;
  return ok({ branch, tip, tree, files, stretches, carriers, reverts, parents: [tip], already });
}

/**
 * As `planFileRevert`, for a branch of a person. The commit that took the work back on the accepted branch becomes a
 * parent: otherwise git would leave the same files out when the run is done again and merged again.
 */
export async function planPersonsRevert(git: Git, run: string, branch: string): Promise<Result<FileRevert>> {
  const planned = await planFileRevert(git, run, branch);
  const accepted = planned.ok ? await git.commitAt(`refs/heads/${acceptedBranch(run)}`) : undefined;
  if (!planned.ok || accepted === undefined) return planned;
  const { stretches, parents, tip } = planned.value;
  const isMerged = (await Promise.all(stretches.map(({ from }) => git.isAncestor(from, tip)))).some(Boolean);
  const isReverted = (await git.lastCommit("-1", ...revertsOf(run), accepted, "--")) === accepted;
  return isMerged && isReverted ? ok({ ...planned.value, parents: [...parents, accepted] }) : planned;
}

/** What is on a branch and not reverted yet, newest first. */
async function stretchesOn(
  git: Git,
  run: string,
  tip: string,
): Promise<Pick<FileRevert, "stretches" | "carriers" | "reverts">> {
  const marks = await marksOf(git, run, [tip]);
  const there = async (commits: string[]) => {
    const known = await Promise.all(commits.map(async (one) => ((await git.commitAt(one)) ? [one] : [])));
    return known.flat();
  };
  const undone = await there(marks.flatMap(({ reverted }) => reverted));
  const without = undone.map((commit) => `^${commit}`);
  const squashes = marks.filter(({ accepted, parents }) => accepted.length > 0 && parents.length === 1);
  const squashed = await there(squashes.flatMap(({ accepted }) => accepted));
  const accepts = (await marksOf(git, run, [tip, ...squashed, ...without])).filter(({ accepts }) => accepts);
  const stretches: Stretch[] = [];
  for (const { commit, parents } of accepts) {
    const [before] = parents;
    if (before === undefined) continue;
    const last = stretches.at(-1);
    if (last?.to === commit) last.to = before;
    else stretches.push({ from: commit, to: before });
  }
  // The commits behind a squash may be gone with their branch: then it is all there is.
  for (const { commit, parents, accepted } of squashes) {
    const isGone = accepted.every((one) => !squashed.includes(one));
    const isUndone = (await Promise.all(undone.map((one) => git.isAncestor(commit, one)))).some(Boolean);
    const [before] = parents;
    if (isGone && !isUndone && !undone.some((one) => accepted.includes(one)) && before !== undefined)
      stretches.push({ from: commit, to: before });
  }
  const reverts = marks.flatMap(({ commit, reverted }) => (reverted.length > 0 ? [commit] : []));
  return { stretches, carriers: [...accepts, ...squashes].map(({ commit }) => commit), reverts };
}

/** Commits whose message says that they accept, merge or revert work of a run, newest first. */
async function marksOf(git: Git, run: string, revisions: string[]): Promise<Marked[]> {
  const search = ["--topo-order", "--fixed-strings", `--grep=Run: ${run}`, "-z", "--format=%H%n%P%n%B"];
  const commits = await git.list(["log", ...search, ...revisions, "--"]);
  return commits.flatMap((text) => {
    const [commit = "", parents = "", ...lines] = text.split("\n");
    if (!lines.includes(`Run: ${run}`)) return [];
    const values = (key: string) =>
      lines.flatMap((line) => (line.startsWith(`${key}: `) ? [line.slice(key.length + 2).trim()] : []));
    return {
      commit,
      parents: parents.split(" ").filter((one) => one !== ""),
      accepts: (lines[0] ?? "").startsWith("Accept task "),
      accepted: values("Accepted").filter(isObject),
      reverted: values(revertedTrailer).filter(isObject),
    };
  });
}

const isObject = (text: string) => /^[0-9a-f]{40,64}$/.test(text);

export type LaterCommit = { commit: string; author: string; title: string; files: string[] };

/** The commits of others to the files that a revert changes, newest first, and whether there are more. */
export async function laterCommits(
  git: Git,
  { tip, files, stretches, carriers, reverts }: FileRevert,
  most: number,
): Promise<{ commits: LaterCommit[]; more: boolean }> {
  if (files.length === 0) return { commits: [], more: false };
  const own = [...stretches.map(({ from }) => from), ...carriers].map((commit) => `^${commit}`);
  const paths = files.slice(0, pathsAtOnce).map(({ path }) => path);
  const format = "--format=%x01%H%x00%an%x00%s";
  const options = ["--no-merges", "-n", String(most + 1), "--name-only", "-z", format];
  const { prefix } = await git.place();
  const top = prefix === "" ? [] : ["-C", await git.top()];
  const log = await git.text([...top, "--literal-pathspecs", "log", ...options, tip, ...new Set(own), "--", ...paths]);
  const commits = log
    .split("\u0001")
    .slice(1)
    .map((text): LaterCommit => {
      const [commit = "", author = "", title = "", ...names] = text.split(/[\0\n]+/);
      return { commit, author, title, files: names.filter((name) => name !== "") };
    })
    .filter(({ commit }) => !reverts.includes(commit));
  return { commits: commits.slice(0, most), more: commits.length > most };
}

/** The runs that started from accepted work of this one. */
export async function runsOnTop(git: Git, run: string, { stretches, carriers }: FileRevert): Promise<string[]> {
  const works = [...new Set([...stretches.map(({ from }) => from), ...carriers])].slice(0, pathsAtOnce);
  if (works.length === 0) return [];
  const contains = works.map((commit) => `--contains=${commit}`);
  const pattern = "refs/heads/scriptorium/*/accepted";
  const listed = await git.text(["for-each-ref", "--format=%(refname:lstrip=3)", ...contains, pattern]);
  return listed
    .split("\n")
    .map((name) => name.replace(/\/accepted$/, ""))
    .filter((name) => name !== "" && name !== run);
}

/** The commit for the tip of the accepted branch without the run's files; undefined if there is nothing to take out. */
export async function acceptedRevert(git: Git, run: string): Promise<Result<FileRevert | undefined>> {
  const branch = acceptedBranch(run);
  if (!(await git.commitAt(`refs/heads/${branch}`))) return ok(undefined);
  const planned = await planFileRevert(git, run, branch);
  return planned.ok && planned.value.stretches.length === 0 ? ok(undefined) : planned;
}

export const revertMessage = (run: { id: string; title: string }, { stretches, files }: FileRevert): string =>
  runRevertMessage({
    run: run.id,
    title: run.title,
    files: files.length,
    reverted: stretches.map(({ from }) => from),
    backTo: stretches.at(-1)?.to,
  });

/** Sets a branch for the person to merge; the same again if it is there. */
export async function revertOnBranchOfItsOwn(
  git: Git,
  name: string,
  { tip, tree, parents }: FileRevert,
  { message, author }: { message: string; author: Identity },
): Promise<Result<string>> {
  const ref = `refs/heads/${name}`;
  const there = await git.commitAt(ref);
  if (there && (await git.maybe(["rev-parse", `${there}^1`])) === tip && (await git.treeOf(there)) === tree)
    return ok(there);
  const folder = await git.text(["for-each-ref", "--format=%(worktreepath)", ref]);
  if (folder !== "")
    return refuse("conflict", `${name} is checked out in ${folder}; check another branch out there first`);
  const commit = await git.commitTree(tree, parents, message, author);
  return (await git.moveRef(ref, commit, there ?? null, { reason: "scriptorium: revert" }))
    ? ok(commit)
    : refuse("conflict", `branch ${name} changed meanwhile; try it again`);
}

/** Options of `git log` for the commits that take work of a run back. */
const revertsOf = (run: string) => ["--all-match", `--grep=^${revertedTrailer}: `, `--grep=^Run: ${run}$`];

/** The last commit that took work of a run back on a branch. */
export const lastRevert = (git: Git, run: string, branch: string): Promise<string | undefined> =>
  git.lastCommit("--first-parent", ...revertsOf(run), `refs/heads/${branch}`, "--");

/** Of work that the tip has reverted and the commit has not: the commit whose files were restored. */
export const restoredSince = async (git: Git, run: string, tip: string, commit: string): Promise<string | undefined> =>
  (await git.lastTrailers([backToTrailer], "--first-parent", ...revertsOf(run), tip, `^${commit}`, "--"))?.values[0] ||
  undefined;
