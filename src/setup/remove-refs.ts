import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { openGit } from "../config/open-git.ts";
import type { Git } from "../store/git/git.ts";
import { mirrorBranch } from "../wiki/stores/mirror.ts";

/** What Scriptorium keeps in git besides commits on the person's branch. */
export type OwnRefs = {
  refs: string[];
  branches: string[];
  /** Accepted work of runs that the current branch does not have. */
  unmerged: string[];
  /** The branch that is checked out, if it is one of ours. */
  current: string | undefined;
};

const ours = /^refs\/heads\/scriptorium\/run-[0-9a-z]+\/(accepted|task-[^/]+\/attempt-\d+-\d+)$/;

export async function ownRefs(config: Config, env: Environment, keepWiki: boolean): Promise<OwnRefs | undefined> {
  const git = openGit(config.root, env);
  if (!(await git.isRepository())) return undefined;
  const all = (await git.text(["for-each-ref", "--format=%(refname)", "refs/scriptorium", "refs/heads/scriptorium"]))
    .split("\n")
    .filter((ref) => ref !== "");
  const isMirror = (ref: string) => ref === `refs/heads/${mirrorBranch}`;
  const branches = all.filter((ref) => ours.test(ref) || (isMirror(ref) && !keepWiki));
  const accepted = branches.filter((ref) => ref.endsWith("/accepted"));
  const unmerged: string[] = [];
  for (const ref of accepted) if (!(await isMerged(git, ref))) unmerged.push(shortOf(ref));
  const { branch } = await git.head();
  return {
    refs: all.filter((ref) => ref.startsWith("refs/scriptorium/")),
    branches,
    unmerged,
    current: branch !== undefined && branches.includes(branch) ? shortOf(branch) : undefined,
  };
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
  await git.pruneWorktrees();
}
