import { processMark, stateOfMark } from "../../kernel/process-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Query } from "../../store/database.ts";
import { type RunTask, tasksOfRun } from "../../store/queries/runs.ts";
import { batched } from "../../tasks/batched.ts";
import { failedAfterMerge, type MergeCheck, mergeChecks } from "../rules/merge-checks.ts";
import type { Candidate, Merged } from "./accepted.ts";
import { deskAt, mergeMessage } from "./attempt.ts";
import { checkout } from "./checkout.ts";
import { callCommands, runChecks } from "./checks.ts";
import type { Crew, PassedWork } from "./crew.ts";

/** Work in one batch at most. */
const mostInBatch = 25;

/**
 * Merges work that passed into the run's branch. A verdict holds for the files that were verified; work accepted
 * since makes other files of them, which the checks of all independent tasks must pass before the branch moves. It
 * moves in the transaction that accepts the tasks, so that one that a person cancels meanwhile is not on it.
 *
 * Merges of a run wait for each other, because a candidate that another merge overtakes has to be checked again. Those
 * that wait are merged and checked together; only if that fails, one by one, to find out which of them is to blame.
 */
export function mergePassed(crew: Crew, passed: PassedWork): Promise<Result<Merged>> {
  const run = passed.detail.run_id;
  const options = { size: mostInBatch, lanes: 1, far: false };
  const queue = crew.merges.get(run) ?? batched(options, (batch: PassedWork[]) => mergeBatch(crew, run, batch));
  crew.merges.set(run, queue);
  return queue(passed);
}

async function mergeBatch(crew: Crew, run: string, batch: PassedWork[]): Promise<Result<Merged>[]> {
  const together = batch.length > 1 ? await mergeTogether(crew, run, batch) : undefined;
  if (together?.ok) return batch.map(() => together);
  const results: Result<Merged>[] = [];
  for (const passed of batch) results.push(await mergeOne(crew, run, passed));
  return results;
}

const workOf = ({ detail, title, attempt, tip }: PassedWork) => ({
  commit: tip.commit,
  message: mergeMessage(detail, title, attempt),
});

/** Refused if anything fails, without saying what. */
async function mergeTogether(crew: Crew, run: string, batch: PassedWork[]): Promise<Result<Merged>> {
  const signal = AbortSignal.any(batch.map((passed) => passed.signal));
  const check = async ({ commit }: Candidate): Promise<Result<true>> => {
    const others = new Set(batch.map(({ detail }) => detail.number));
    const found = await Promise.all(batch.map(({ detail }) => checksFor(crew, detail, { others, isNew: true })));
    const checks = new Map(found.flat().map((one) => [JSON.stringify(one.check), one]));
    const first = { name: nameOf(batch[0]), run, task: batch[0]?.detail.task_id ?? "", commit };
    const failed = await failing(crew, first, [...checks.values()], signal);
    if (!failed.ok) return failed;
    return failed.value.length > 0 || signal.aborted
      ? refuse("conflict", "a check fails on the merged files")
      : ok(true);
  };
  const accept = async (tx: Query): Promise<Result<unknown>> => {
    for (const passed of batch) {
      const accepted = await passed.accept(tx);
      // A refusal of its own, because that of a task may keep its writes.
      if (!accepted.ok) return refuse("conflict", accepted.problem.message);
    }
    return ok(true);
  };
  return crew.trees.merge(run, batch.map(workOf), { check, accept });
}

async function mergeOne(crew: Crew, run: string, passed: PassedWork): Promise<Result<Merged>> {
  const { detail, tip, signal } = passed;
  const { number } = detail;
  const name = nameOf(passed);
  const check = async ({ commit, tree, onto }: Candidate): Promise<Result<true>> => {
    // Its checks may take minutes, and others wait for them.
    if ((await crew.app.tasks.find(detail.task_id))?.state !== "qc_passed")
      return refuse("conflict", `task ${number} no longer waits for its merge`);
    const checks = await checksFor(crew, detail, { others: new Set(), isNew: tree !== tip.tree });
    const at = (place: string) => ({ name, run, task: detail.task_id, commit: place });
    const found = await failing(crew, at(commit), checks, signal);
    if (!found.ok) return found;
    const failed = found.value;
    const own = failed.find((check) => check.number === number);
    // A check that the accepted work fails by itself says nothing about this work.
    const alone = own ? ok([]) : await failing(crew, at(onto), failed, signal);
    const before = alone.ok ? alone.value : [];
    if (signal.aborted) return refuse("refused", stopped);
    const broken = own ?? failed.find((check) => !before.some((one) => isSame(one, check)));
    return broken ? refuse("conflict", failedAfterMerge(number, broken, broken.detail)) : ok(true);
  };
  return crew.trees.merge(run, [workOf(passed)], { check, accept: passed.accept });
}

export const stopped = "the run was stopped";

const nameOf = (passed: PassedWork | undefined) => `${passed?.detail.task_id}-${passed?.attempt.epoch}`;

const isSame = (a: MergeCheck, b: MergeCheck) => a.number === b.number && a.criterion === b.criterion;

type Merging = {
  /** Numbers of tasks that are merged in the same batch. */
  others: ReadonlySet<string>;
  isNew: boolean;
};

async function checksFor({ app }: Crew, detail: RunTask, { others, isNew }: Merging): Promise<MergeCheck[]> {
  const { run_id, number } = detail;
  const [run, tasks] = await Promise.all([app.runs.find(run_id), tasksOfRun(app.db.read, run_id)]);
  const accepted = new Set(others);
  for (const { number: other, task } of tasks) if (task.state === "completed") accepted.add(other);
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
    const opened = await crew.trees.open(`${name}${ofThisProcess()}`, wanted.commit, {
      isBare: !callCommands(checks),
    });
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
const ofThisProcess = () => `-merge-${processMark()}`;

/** False for checkouts of killed processes, and for other folders. */
export function isMergeOfLivingProcess(folder: string): boolean {
  const [, mark] = /-merge-(\d+-\d+(?:-[\w.]+)?)$/.exec(folder) ?? [];
  return mark !== undefined && stateOfMark(mark) !== "gone";
}
