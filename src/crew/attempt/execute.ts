import { processName, processState } from "../../kernel/process-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import {
  betweenStages,
  carriedRuns,
  heldIn,
  restOf,
  runningRuns,
  stateOfRun,
  stuckAtFiles,
} from "../../store/queries/crew-queue.ts";
import { type Changes, watchChanges } from "../../store/wait-for-change.ts";
import { type JobResult, jobPool } from "../../tasks/job-pool.ts";
import { unknownCost } from "../agent/budget.ts";
import { isCostKnown } from "../agent/estimate.ts";
import { checkReady } from "../agent/ready.ts";
import type { CrewApp } from "../record/crew-app.ts";
import type { Outcome } from "../record/run-host.ts";
import { workerTimes } from "../record/worker-times.ts";
import { reportOf } from "../report/report.ts";
import { acceptedBranch } from "../rules/branches.ts";
import type { Run } from "../rules/run.ts";
import { currentBudget } from "../rules/run-budget.ts";
import type { StageResult } from "./attempt.ts";
import { conclude } from "./conclude.ts";
import type { Crew } from "./crew.ts";
import { learnMissing } from "./learn.ts";
import { verify } from "./verify.ts";
import { work } from "./work.ts";

type Options = {
  workers: number;
  signal: AbortSignal;
  by: string;
  budgetTokens?: number | null | undefined;
  budgetUsd?: number | null | undefined;
  /** Marks the run as a server's, which resumes it after a restart. */
  serving?: boolean;
};

const recheckMs = 2000;

/** Executes a run until it is over or the signal aborts. Other processes may work on the same run. */
export async function executeRun(crew: Crew, run: string, options: Options): Promise<Result<Outcome>> {
  const { app } = crew;
  const { by } = options;
  const read = await app.runs.readBack(run, by);
  if (!read.ok) return read;
  const ready = checkReady(crew, ["preamble", "worker", "qc"]);
  if (!ready.ok) return ready;
  const budget = budgetOf(app, read.value, options);
  const priced = budget.budget_usd === null ? ok(true) : checkCosts(crew);
  if (!priced.ok) return priced;
  const also = { carried_by: `${processName()}/${options.serving ? server : "command"}`, ...budget };
  const started = await app.runs.step(run, { type: "start" }, by, also);
  if (!started.ok) return started;
  crew.tell({ kind: "run-started", run, title: started.value.title });

  const isOver = async () =>
    (await restOf(app.db.read, run)).open === 0 || !(await runningRuns(app.db.read)).includes(run);
  const stopped = await runStages(crew, run, options, isOver);
  return finish(crew, run, stopped, options);
}

function budgetOf({ config }: CrewApp, run: Run, { budgetTokens, budgetUsd }: Options) {
  const current = currentBudget(run, config.crew.budget);
  return {
    budget_tokens: budgetTokens === undefined ? current.tokens : budgetTokens,
    budget_usd: budgetUsd === undefined ? current.usd : budgetUsd,
  };
}

/** Refuses a budget in dollars for agents of unknown cost before anything is started, not at the first call. */
function checkCosts({ app, agents }: Crew): Result<true> {
  for (const part of ["worker", "qc"] as const) {
    const playing = agents(part);
    if (!playing.ok) return playing;
    const { runner, model } = playing.value;
    if (isCostKnown(app.config.crew, runner.name, model)) continue;
    const who = `the ${part} (runner ${runner.name}${model ? `, model ${model}` : ""})`;
    return refuse("refused", `the budget in dollars cannot be enforced for ${who}: ${unknownCost}`);
  }
  return ok(true);
}

const server = "server";

/** Runs that a server of this machine was executing when it was killed. */
export const cutOff = async ({ db }: CrewApp): Promise<{ run: string; by: string }[]> =>
  (await carriedRuns(db.read))
    .filter(({ carrier }) => carrier.endsWith(`/${server}`) && processState(carrier) === "gone")
    .map(({ run, by }) => ({ run, by }));

/** Works on runs that other processes execute, until the signal aborts or the given run is over. */
export async function joinRuns(crew: Crew, run: string | undefined, options: Options): Promise<void> {
  const { db } = crew.app;
  await runStages(crew, run, options, async () => run !== undefined && (await restOf(db.read, run)).open === 0);
}

async function finish(
  crew: Crew,
  run: string,
  stopped: string | undefined,
  { signal, by }: Options,
): Promise<Result<Outcome>> {
  const { app } = crew;
  const rest = await restOf(app.db.read, run);
  const now = await app.runs.find(run);
  if (now?.state === "running" && rest.open === 0) {
    await app.runs.step(run, { type: "finish", failed: rest.lost }, by);
  } else if (now?.state === "running") {
    const reason = stopped ?? (signal.aborted ? "the run was stopped" : "no task can be started");
    await app.runs.step(run, { type: "stop", reason }, by);
  }
  const report = await reportOf(app, run);
  if (report.ok) await app.runs.putReport(run, report.value);
  const after = await app.runs.find(run);
  return ok({
    run,
    state: after?.state ?? "failed",
    tasks: { all: rest.all, completed: rest.all - rest.lost - rest.open, lost: rest.lost },
    reason: after?.reason ?? null,
    report: report.ok ? app.runs.reportPath(run) : null,
    branch: (await crew.trees.hasAccepted(run)) ? acceptedBranch(run) : null,
  });
}

/**
 * Runs the stages of one run, or of all runs, on a pool of workers until nothing is left to do. Returns
 * the reason if it stopped before that.
 */
async function runStages(
  crew: Crew,
  run: string | undefined,
  { workers, signal, serving = false }: Options,
  isOver: () => Promise<boolean>,
): Promise<string | undefined> {
  const { app } = crew;
  const name = processName();
  const changes = watchChanges(app.db);
  const abort = new AbortController();
  const all = AbortSignal.any([signal, abort.signal]);
  const times = workerTimes(app, run, name, workers);
  let reason: string | undefined;

  await freeTheDead(crew, run, name);
  await learnMissing(crew, run);

  const stages = stageFinder(crew, run, changes);
  const pool = jobPool({
    db: app.db,
    workerName: (n) => `${name}/${n}`,
    async next(worker) {
      const found = all.aborted || reason !== undefined ? undefined : await stages.next(worker, all);
      return found && { task: found.task, claimMs: found.claimMs, run: () => runStage(found) };
    },
    onError(error, { task }) {
      app.log.error({ error: String(error), task }, "stage-failed");
      reason ??= `a stage failed: ${error instanceof Error ? error.message : String(error)}`;
      abort.abort();
    },
  });

  async function runStage(stage: Stage): Promise<JobResult> {
    let result: StageResult | undefined;
    try {
      result = await stage.run();
      // Other stages in progress are paid for: let them finish, and start nothing new.
      if (result.outcome === "stop") reason ??= result.reason;
      return jobResults[result.outcome];
    } finally {
      stages.ended(stage.task, result);
      changes.wake();
    }
  }

  pool.scale(workers);
  try {
    for (;;) {
      const seen = changes.count();
      if (run !== undefined && (await stateOfRun(app.db.read, run)) === "cancelled") abort.abort();
      if (!stages.areRunning() && (all.aborted || reason !== undefined || (await isOver()))) return reason;
      // A server waits for the person; a command ends and says what for.
      const stuck = run === undefined || serving || stages.areRunning() ? [] : await stuckAtFiles(app.db.read, run);
      if (stuck.length > 0) return `${stuck.map(({ number }) => `task ${number}`).join(", ")} ${waitsForPerson}`;
      await changes.after(seen, recheckMs, all.aborted ? undefined : all);
    }
  } finally {
    await pool.drain();
    changes.close();
    await times.record(pool.metrics());
  }
}

const waitsForPerson = "changed files that a person must allow first";

const jobResults: Record<StageResult["outcome"], JobResult> = {
  done: "done",
  lost: "late",
  released: "released",
  held: "released",
  stop: "released",
};

/** When and after how many changes the database was looked at. */
type Look = { changes: number; at: number };

type Stage = { task: string; claimMs?: number; run(): Promise<StageResult> };

/**
 * Finds the next stage to run: a task that waits between two stages before a new one. Workers look one
 * after the other, and one look that finds nothing holds for all of them until something changes.
 */
function stageFinder(crew: Crew, run: string | undefined, changes: Changes) {
  const running = new Set<string>();
  /** Tasks that another process moves. */
  const skipped = new Map<string, Look>();
  let nothing: Look | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const lookNow = (): Look => ({ changes: changes.count(), at: performance.now() });
  /** Not longer than a recheck: an expired lease or a row that was locked at the time causes no change. */
  const holds = (look: Look | undefined) =>
    look !== undefined && look.changes === changes.count() && performance.now() - look.at < recheckMs / 2;

  async function look(worker: string, signal: AbortSignal): Promise<Stage | undefined> {
    if (signal.aborted || holds(nothing)) return undefined;
    const now = lookNow();
    const isFree = (task: string) => !running.has(task) && !holds(skipped.get(task));
    const found = await findStage(crew, run, worker, isFree, signal, running.size + skipped.size);
    if (found) running.add(found.task);
    else nothing = now;
    return found;
  }

  return {
    next(worker: string, signal: AbortSignal): Promise<Stage | undefined> {
      const found = last.then(() => look(worker, signal));
      last = found.catch(() => undefined);
      return found;
    },
    ended(task: string, result: StageResult | undefined): void {
      running.delete(task);
      nothing = undefined;
      if (result?.outcome === "lost" || result?.outcome === "released") skipped.set(task, lookNow());
      else skipped.delete(task);
    },
    areRunning: () => running.size > 0,
  };
}

async function findStage(
  crew: Crew,
  run: string | undefined,
  worker: string,
  isFree: (task: string) => boolean,
  signal: AbortSignal,
  excluded: number,
): Promise<Stage | undefined> {
  const { app } = crew;
  const waiting = (await betweenStages(app.db.read, run, excluded + 1)).find(({ id }) => isFree(id));
  if (waiting) {
    const { id, state } = waiting;
    const isVerified = state !== "worker_completed";
    return {
      task: id,
      run: () => (isVerified ? conclude(crew, id, worker) : verify(crew, id, `${worker}/qc`, signal)),
    };
  }
  // Tasks of a run that has not started are not claimed: a person may still change its plan.
  const runs = await runningRuns(app.db.read);
  for (const candidate of run === undefined ? runs : runs.filter((one) => one === run)) {
    const holder = `${worker}/worker`;
    const began = performance.now();
    const claim = await app.tasks.claim(holder, candidate);
    if (!claim) continue;
    const claimMs = performance.now() - began;
    return { task: claim.task.id, claimMs, run: () => work(crew, claim, holder, signal) };
  }
  return undefined;
}

/** Releases the claims of killed processes of this machine at once, and removes their worktrees. */
async function freeTheDead(crew: Crew, run: string | undefined, name: string): Promise<void> {
  const { app, trees } = crew;
  for (const { id, holder } of await heldIn(app.db.read, run)) {
    if (holder !== null && processState(holder) === "gone") await app.tasks.release(id, name, { force: true });
  }
  await trees.sweep(async () => {
    // By epoch: the task of a dead worker may already be held by the next one.
    const held = new Set((await heldIn(app.db.read, undefined)).map(({ id, epoch }) => `${id}-${epoch}`));
    return (folder) => held.has(folder.replace(/-qc(-checks)?$/, ""));
  });
}
