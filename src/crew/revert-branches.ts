import * as z from "zod";
import type { Person } from "../kernel/caller.ts";
import { ok, type Refusal, type Result, refuse } from "../kernel/result.ts";
import type { RunRow } from "../store/crew-tables.ts";
import { crashPoint } from "../store/disk/crash.ts";
import { appendEvent } from "../store/events.ts";
import type { Identity } from "../store/git/git.ts";
import { changedFiles, checkoutInTheWay, commitOnBranch } from "../store/git/merge-branch.ts";
import { fileRevertEvents } from "../store/queries/event-log.ts";
import { mergesOf } from "../store/queries/runs.ts";
import {
  acceptedRevert,
  branchesWithWork,
  type FileRevert,
  lastRevert,
  laterCommits,
  planFileRevert,
  planPersonsRevert,
  revertMessage,
  revertOnBranchOfItsOwn,
  runsOnTop,
} from "./attempt/revert-files.ts";
import { authorOf } from "./merge.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { acceptedBranch, revertBranch } from "./rules/branches.ts";

export const branchChange = z.object({
  branch: z.string(),
  files: z.array(z.object({ path: z.string(), status: z.enum(["added", "changed", "deleted"]) })),
  commit: z.string().nullable().describe("The revert commit"),
  revert_branch: z.string().nullable().describe("The branch with the revert commit, for you to merge"),
  folder: z.string().nullable().describe("The checkout whose files were updated"),
});

export const fileModes = ["commit", "branch", "keep"] as const;
type How = (typeof fileModes)[number];
type Open = { what: string; why: string };

/** What taking a run's files back changes, or did. */
export type FilesTakenBack = {
  /** The run, if its accepted branch has files to take out. */
  accepted: Pick<RunRow, "id" | "title"> | undefined;
  /** The accepted branch first. */
  branches: z.infer<typeof branchChange>[];
  depends: Open[];
  needsPerson: Open[];
};
export type PlannedFiles = FilesTakenBack & {
  how: How;
  /** Of the branches of people. */
  reverts: FileRevert[];
  /** Branches of people that have nothing left to revert. */
  settled: string[];
  run: Pick<RunRow, "id" | "title"> | undefined;
  /** Why nothing can be reverted now, such as uncommitted changes. */
  inTheWay: Refusal | undefined;
};

const mostCommits = 50;
const nothing = { accepted: undefined, branches: [], depends: [], needsPerson: [] };

/** Which branches have accepted files of a run, and what depends on them; changes nothing. */
export async function planFiles(app: CrewApp, run: RunRow | undefined, how: How): Promise<Result<PlannedFiles>> {
  const { git, packs } = app;
  const planned: PlannedFiles = { ...nothing, how, reverts: [], settled: [], run, inTheWay: undefined };
  if (!run || !(await git.isRepository())) return ok(planned);
  const { finishRerun } = await import("./attempt/finish-rerun.ts");
  const repeated = await finishRerun(app, run.id);
  if (!repeated.ok) return repeated;
  const there = packs.isOn()
    ? await packs.accepted(run.id, { setBranch: await packs.hasAccepted(run.id) })
    : await packs.follow(run.id);
  if (!there.ok) return there;
  const [branches, depends, needsPerson]: [PlannedFiles["branches"], Open[], Open[]] = [[], [], []];
  const all: FileRevert[] = [];
  const accepted = await acceptedRevert(git, run.id);
  if (!accepted.ok) needsPerson.push({ what: `branch:${acceptedBranch(run.id)}`, why: accepted.problem.message });
  else if (accepted.value) {
    all.push(accepted.value);
    branches.push(shown(accepted.value, null));
  }
  const reverts: FileRevert[] = [];
  const settled: string[] = [];
  let inTheWay: Refusal | undefined;
  const own = packs.isWorkers() ? [] : await branchesWithWork(git, run.id);
  const wanted = await targets(app, run.id);
  for (const branch of own) {
    if (how === "keep" || !wanted.has(branch)) {
      const why =
        how === "keep"
          ? "has the accepted files, which stay"
          : "has the accepted files too; it was not merged there by Scriptorium, so they stay";
      depends.push({ what: `branch:${branch}`, why });
      continue;
    }
    const change = await planFileRevert(git, run.id, branch);
    if (!change.ok) {
      needsPerson.push({ what: `branch:${branch}`, why: change.problem.message });
      continue;
    }
    if (change.value.already) {
      settled.push(branch);
      continue;
    }
    all.push(change.value);
    reverts.push(change.value);
    branches.push(shown(change.value, how === "branch" ? revertBranch(run.id, branch) : null));
    const free = how === "commit" ? await checkoutInTheWay(git, `refs/heads/${branch}`, change.value) : ok(true);
    if (!free.ok) {
      inTheWay ??= refuse("conflict", `${branch}: ${free.problem.message}; nothing was changed`, free.problem.details);
      needsPerson.push({ what: `branch:${branch}`, why: free.problem.message });
    }
  }
  depends.push(...(await dependents(app, run.id, all)));
  const acceptedRun = accepted.ok && accepted.value ? run : undefined;
  return ok({ ...planned, accepted: acceptedRun, branches, depends, needsPerson, reverts, settled, inTheWay });
}

const shown = ({ branch, files }: FileRevert, revertBranch: string | null) => ({
  ...{ branch, files, commit: null, revert_branch: revertBranch, folder: null },
});

/** The branches that Scriptorium may change: those that it merged the run into, and the one that is checked out. */
async function targets({ db, git }: CrewApp, run: string): Promise<Set<string>> {
  const [merges, { branch }] = await Promise.all([mergesOf(db.read, run), git.head()]);
  const into = merges.map((merge) => merge.into);
  return new Set(branch === undefined ? into : [...into, branch.replace(/^refs\/heads\//, "")]);
}

/** Later commits to the same files, and runs that started from them. */
async function dependents({ git }: CrewApp, run: string, reverts: readonly FileRevert[]): Promise<Open[]> {
  const found = new Map<string, Open>();
  for (const revert of reverts) {
    const { commits, more } = await laterCommits(git, revert, mostCommits);
    for (const { commit, author, title, files } of commits)
      found.set(`commit:${commit}`, {
        what: `commit:${commit}`,
        why: `${author}: ${title} (on ${revert.branch}; ${files.join(", ")})`,
      });
    if (more) found.set(revert.branch, { what: `branch:${revert.branch}`, why: "has more commits to these files" });
    for (const other of await runsOnTop(git, run, revert))
      found.set(`run:${other}`, { what: `run:${other}`, why: "started from its accepted files" });
  }
  return [...found.values()];
}

/**
 * Takes the files out of the branches of people, after those of the accepted branch. A branch that cannot be changed any
 * more stays as it is and is left to a person.
 */
export async function revertBranches(app: CrewApp, planned: PlannedFiles, person: Person): Promise<FilesTakenBack> {
  const { git } = app;
  const { run, how, reverts } = planned;
  if (!run) return planned;
  for (const branch of planned.settled) await recordInterrupted(app, run.id, branch, person);
  if (reverts.length === 0) return planned;
  const author = await authorOf(app, person);
  const needsPerson = [...planned.needsPerson];
  const branches = planned.branches.filter(({ branch }) => !reverts.some((one) => one.branch === branch));
  for (const { branch } of reverts) {
    const next = () => planPersonsRevert(git, run.id, branch);
    const done =
      how === "branch"
        ? await ontoOwnBranch(app, run, await next(), author)
        : await commitOnBranch(git, {
            into: `refs/heads/${branch}`,
            author,
            reason: "scriptorium: revert",
            next,
            message: (change) => revertMessage(run, change),
          });
    if (!done.ok) needsPerson.push({ what: `branch:${branch}`, why: done.problem.message });
    else if (!done.value.already) {
      const { commit, folder = null } = done.value;
      crashPoint("revert-branch-moved");
      const change = { ...shown(done.value, how === "branch" ? revertBranch(run.id, branch) : null), commit, folder };
      branches.push(change);
      await record(app, run.id, change, person);
    }
  }
  return { ...planned, branches, needsPerson };
}

async function ontoOwnBranch(
  { git }: CrewApp,
  run: Pick<RunRow, "id" | "title">,
  change: Result<FileRevert>,
  author: Identity,
): Promise<Result<FileRevert & { commit: string; folder?: string }>> {
  if (!change.ok) return change;
  const name = revertBranch(run.id, change.value.branch);
  const made = await revertOnBranchOfItsOwn(git, name, change.value, {
    message: revertMessage(run, change.value),
    author,
  });
  return made.ok ? ok({ ...change.value, commit: made.value }) : made;
}

const record = (
  { db, now }: CrewApp,
  run: string,
  { branch, commit, revert_branch, files }: Omit<FilesTakenBack["branches"][number], "folder">,
  person: Person,
) => {
  const data = { branch, commit, revert_branch, files: files.length };
  const at = now().toISOString();
  return db.write((tx) =>
    appendEvent(tx, { at, actor: person.name, kind: "run-files-reverted", subject: `run:${run}`, data }),
  );
};

/** Records a revert commit that was made before a crash. */
async function recordInterrupted(app: CrewApp, run: string, branch: string, person: Person): Promise<void> {
  const { git, db } = app;
  const commit = await lastRevert(git, run, branch);
  if (commit === undefined || (await fileRevertEvents(db.read, run)).some(({ data }) => data.commit === commit)) return;
  // Of a merged branch of its own, the commit is the second parent of the person's merge.
  const files = await changedFiles(git, `${commit}^1`, commit);
  await record(app, run, { branch, commit, revert_branch: null, files }, person);
}
