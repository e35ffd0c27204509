import { hostname } from "node:os";
import { processName, processState } from "../../kernel/process-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Attempt } from "../../store/queries/attempts.ts";
import { type RunTask, tasksOfRun } from "../../store/queries/runs.ts";
import { failedAfterMerge, type MergeCheck, mergeChecks } from "../rules/merge-checks.ts";
import { deskAt, mergeMessage } from "./attempt.ts";
import { checkout } from "./checkout.ts";
import { runChecks } from "./checks.ts";
import type { Crew } from "./crew.ts";
import type { Merged } from "./worktree.ts";

type Passed = { detail: RunTask; title: string; attempt: Attempt; tip: { commit: string; tree: string } };

/**
 * Merges work that passed into the run's branch. A verdict holds for the files that were verified; work accepted
 * since makes other files of them, which the checks of all independent tasks must pass before the branch moves.
 */
export async function mergePassed(
  crew: Crew,
  { detail, title, attempt, tip }: Passed,
  signal: AbortSignal,
): Promise<Result<Merged>> {
  const { run_id: run, number } = detail;
  const message = mergeMessage(detail, title, attempt);
  const name = `${detail.task_id}-${attempt.epoch}`;
  return crew.trees.merge(run, tip.commit, message, async (candidate) => {
    const checks = await checksFor(crew, detail, candidate.tree !== tip.tree);
    const at = (commit: string) => ({ name, run, task: detail.task_id, commit });
    const found = await failing(crew, at(candidate.commit), checks, signal);
    if (!found.ok) return found;
    const failed = found.value;
    const own = failed.find((check) => check.number === number);
    // A check that the accepted work fails by itself says nothing about this work.
    const alone = own ? ok([]) : await failing(crew, at(candidate.onto), failed, signal);
    const before = alone.ok ? alone.value : [];
    if (signal.aborted) return refuse("refused", stopped);
    const broken = own ?? failed.find((check) => !before.some((one) => isSame(one, check)));
    return broken ? refuse("conflict", failedAfterMerge(number, broken, broken.detail)) : ok(true);
  });
}

export const stopped = "the run was stopped";

const isSame = (a: MergeCheck, b: MergeCheck) => a.number === b.number && a.criterion === b.criterion;

async function checksFor({ app }: Crew, { run_id, number }: RunTask, isNew: boolean): Promise<MergeCheck[]> {
  const [run, tasks] = await Promise.all([app.runs.find(run_id), tasksOfRun(app.db.read, run_id)]);
  const accepted = new Set(tasks.filter(({ task }) => task.state === "completed").map((row) => row.number));
  return mergeChecks({ number, tasks: run?.plan?.tasks ?? [], accepted, isNew });
}

/** The checks that fail in a checkout of a commit, with what they printed. */
async function failing(
  crew: Crew,
  { name, ...wanted }: { name: string; run: string; task: string; commit: string },
  checks: MergeCheck[],
  signal: AbortSignal,
): Promise<Result<(MergeCheck & { detail: string })[]>> {
  if (checks.length === 0) return ok([]);
  const setup = await crew.setups.ensure(wanted, signal);
  if (!setup.ok) return setup;
  const tree = checkout(crew, async () => {
    const opened = await crew.trees.open(`${name}${ofThisProcess()}`, wanted.commit);
    await crew.trees.install(opened, setup.value);
    return opened;
  });
  try {
    const desk = deskAt(crew, tree.folder, true, name, signal);
    const criteria = checks.map(({ words, check }) => ({ criterion: words, check }));
    const results = await runChecks(criteria, { ...desk, checkMs: desk.commandMs });
    const failed = results.flatMap(({ criterion, passed, detail }) => {
      const check = checks[criterion - 1];
      return passed || !check ? [] : [{ ...check, detail }];
    });
    return ok(failed);
  } finally {
    await tree.remove();
  }
}

/** Nobody holds a task whose work is being merged, so the checkout itself names the process that needs it. */
const ofThisProcess = () => `-merge-${processName().split(":").slice(-2).join("-")}`;

/** False for checkouts of killed processes, and for all others. */
export function isMergeOfLivingProcess(folder: string): boolean {
  const [, pid, started] = /-merge-(\d+)-(\d+)$/.exec(folder) ?? [];
  return pid !== undefined && processState(`${hostname()}:${pid}:${started}`) === "running";
}
