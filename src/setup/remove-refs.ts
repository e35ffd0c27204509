import { existsSync } from "node:fs";
import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { openGit } from "../config/open-git.ts";
import { branchRef, forgetBookBranch, ownBookBranch } from "../store/git/book-branch.ts";
import type { Git } from "../store/git/git.ts";
import { otherHistories } from "../store/git/history-ref.ts";
import { replacedRefs } from "../store/git/restore-history.ts";
import { openDatabase } from "../store/open.ts";
import { runIds } from "../store/queries/runs.ts";
import { mirrorBranchOf } from "../wiki/stores/mirror.ts";

/** What this workspace has in git besides commits on the person's branch. */
export type OwnRefs = {
  refs: string[];
  branches: string[];
  /** Accepted work of runs that the current branch does not have. */
  unmerged: string[];
  /** The branch of the wiki, if it is among them. */
  book: string | undefined;
  /** The branch with a copy of the database, if there is one. */
  mirror: string | undefined;
  /** The branch that is checked out, if it is one of ours. */
  current: string | undefined;
  /** What stays although it may be ours. */
  left: string[];
};

const ours = /^refs\/heads\/scriptorium\/(run-[0-9a-z]+)\/(accepted|task-[^/]+\/attempt-\d+-\d+)$/;
const runOf = (ref: string) => ours.exec(ref)?.[1];

export async function ownRefs(config: Config, env: Environment, keepWiki: boolean): Promise<OwnRefs | undefined> {
  const git = openGit(config.root, env);
  if (!(await git.isRepository())) return undefined;
  const all = (await git.text(["for-each-ref", "--format=%(refname)", "refs/scriptorium", "refs/heads/scriptorium"]))
    .split("\n")
    .filter((ref) => ref !== "");
  const others = await otherHistories(git);
  const mirror = branchRef(await mirrorBranchOf(git));
  const runs = all.filter((ref) => runOf(ref) !== undefined);
  const own = others.size > 0 && runs.length > 0 ? await ownRuns(config) : undefined;
  const book = config.bookBranch && !keepWiki ? branchRef(await ownBookBranch(git, config.bookBranch)) : undefined;
  const hasBook = book !== undefined && (await git.commitAt(book)) !== undefined;
  // A branch under another name than the setting began with the files of all, and has the commits of this one only.
  const isOwn = book !== branchRef(config.bookBranch ?? "");
  const isShared = hasBook && !isOwn && (await holdsOthers(git, book, config));
  const branches = [
    ...runs.filter((ref) => others.size === 0 || own?.has(runOf(ref) ?? "")),
    ...all.filter((ref) => ref === mirror && !keepWiki),
    ...(hasBook && !isShared && book !== mirror ? [book] : []),
  ];
  const accepted = branches.filter((ref) => ref.endsWith("/accepted"));
  const unmerged: string[] = [];
  for (const ref of accepted) if (!(await isMerged(git, ref))) unmerged.push(shortOf(ref));
  const { branch } = await git.head();
  const isUnknown = others.size > 0 && runs.length > 0 && !own;
  return {
    refs: all.filter((ref) => ref.startsWith("refs/scriptorium/") && !others.has(ref) && !isOfAll(ref, others)),
    branches,
    book: hasBook && !isShared ? shortOf(book) : undefined,
    mirror: all.includes(mirror) ? shortOf(mirror) : undefined,
    unmerged,
    current: branch !== undefined && branches.includes(branch) ? shortOf(branch) : undefined,
    left: [
      ...(isShared ? [`the branch ${config.bookBranch}, which has files of another workspace`] : []),
      ...(isUnknown
        ? ["branches scriptorium/run-*: without the database it is not known which workspace made them"]
        : []),
    ],
  };
}

/** Replaced histories do not say whose they are: the last workspace of the repository takes them out. */
const isOfAll = (ref: string, others: Set<string>) => others.size > 0 && ref.startsWith(replacedRefs);

/** The runs of this workspace; undefined when its database cannot be read. */
async function ownRuns({ database }: Config): Promise<Set<string> | undefined> {
  if (database.engine === "sqlite" && !existsSync(database.file)) return undefined;
  try {
    const db = await openDatabase(database);
    try {
      return new Set(await runIds(db.read));
    } finally {
      await db.close();
    }
  } catch {
    return undefined;
  }
}

/** True if the branch has files outside this workspace's wiki and sources. */
async function holdsOthers(git: Git, book: string, { wiki, sources }: Config): Promise<boolean> {
  const { prefix } = await git.place();
  const folders = [wiki, sources].map((folder) => `${prefix}${folder}/`);
  const files = await git.list(["ls-tree", "-r", "-z", "--name-only", "--full-tree", book]);
  return files.some((path) => !folders.some((folder) => path.startsWith(folder)));
}

async function isMerged(git: Git, ref: string): Promise<boolean> {
  return (await git.run(["merge-base", "--is-ancestor", ref, "HEAD"])).code === 0;
}

const shortOf = (ref: string) => ref.replace(/^refs\/heads\//, "");

/** Deletes the refs, and what git remembers of checkouts whose folders are gone. */
export async function deleteRefs(config: Config, env: Environment, { refs, branches }: OwnRefs): Promise<void> {
  const git = openGit(config.root, env);
  const lines = [...refs, ...branches].map((ref) => `delete ${ref}\n`).join("");
  if (lines !== "") await git.text(["update-ref", "--stdin"], lines);
  if (config.bookBranch) await forgetBookBranch(git, config.bookBranch);
  await git.pruneWorktrees();
}
