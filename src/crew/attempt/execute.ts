import { delayBefore } from "../../agents/model/failure.ts";
import { processName, processState } from "../../kernel/process-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import {
  betweenStages,
  carriedRuns,
  heldIn,
  restOf,
  runningRuns,
  stateOfRun,
  stuckAtPeople,
} from "../../store/queries/crew-queue.ts";
import { type Changes, watchChanges } from "../../store/wait-for-change.ts";
import { type JobResult, jobPool } from "../../tasks/job-pool.ts";
import { unknownCost } from "../agent/budget.ts";
import { isCostKnown } from "../agent/estimate.ts";
import { chooseModel } from "../agent/plan-model.ts";
import { checkReady, executingParts } from "../agent/ready.ts";
import type { CrewApp } from "../record/crew-app.ts";
import type { Outcome } from "../record/run-host.ts";
import { workerTimes } from "../record/worker-times.ts";
import { reportOf } from "../report/report.ts";
import { acceptedBranch } from "../rules/branches.ts";
import { changeText } from "../rules/plan-change.ts";
import type { Run, RunStep } from "../rules/run.ts";
import { currentBudget } from "../rules/run-budget.ts";
import { answerQuestions } from "./answer-questions.ts";
import type { StageResult } from "./attempt.ts";
import { conclude } from "./conclude.ts";
import type { Crew } from "./crew.ts";
import { learnMissing } from "./learn.ts";
import { verify } from "./verify.ts";
import { work } from "./work.ts";
import { writeRunReports } from "./write-reports.ts";

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
  const ready = checkReady(crew, executingParts);
  if (!ready.ok) return ready;
  const budget = budgetOf(app, read.value.run, options);
  const priced = budget.budget_usd === null ? ok(true) : checkCosts(crew, read.value.run.plan);
  if (!priced.ok) return priced;
  const also = { carried_by: `${processName()}/${options.serving ? server : "command"}`, ...budget };
  const started = await app.runs.step(run, { type: "start" }, by, also);
  if (!started.ok) return started;
  crew.tell({ kind: "run-started", run, title: started.value.title });
  if (read.value.diff !== "") crew.tell({ kind: "plan-changed", run, reason: changeText(read.value) });

  const isOver = async () =>
    (await restOf(app.db.read, run)).open === 0 || !(await runningRuns(app.db.read)).includes(run);
  const answering = answerQuestions(crew, run, options.signal);
  const stopped = await runStages(crew, run, options, isOver).finally(answering.end);
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
function checkCosts({ app, agents }: Crew, plan: Run["plan"]): Result<true> {
  const planned = new Set(plan?.tasks.map((task) => task.model));
  for (const part of ["worker", "qc"] as const) {
    const playing = agents(part);
    if (!playing.ok) return playing;
    const { runner } = playing.value;
    for (const wanted of [undefined, ...(part === "worker" ? planned : [])]) {
      const { model } = chooseModel(playing.value, wanted, app.config.root);
      if (isCostKnown(app.config.crew, runner.name, model)) continue;
      const who = `the ${part} (runner ${runner.name}${model ? `, model ${model}` : ""})`;
      return refuse("refused", `the budget in dollars cannot be enforced for ${who}: ${unknownCost}`);
    }
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
    await writeRunReports(crew, run, signal);
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

  const stages = stageFinder(crew, run, changes, () => reason !== undefined);
  const outage = providerOutage(app.config.crew.outage_minutes * 60_000);
  const pool = jobPool({
    db: app.db,
    workerName: (n) => `${name}/${n}`,
    async next(worker) {
      const isPaused = all.aborted || reason !== undefined || outage.isOn();
      const found = isPaused ? undefined : await stages.next(worker, all);
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
      await notice(stage, result);
      return jobResults[result.outcome];
    } finally {
      stages.ended(stage.task, result);
      changes.wake();
    }
  }

  /** An agent program that met an outage has ended; its task is retried after a delay. */
  async function notice({ task }: Stage, result: StageResult): Promise<void> {
    if (result.outcome === "done" && outage.ends()) await step(task, { type: "proceed" });
    if (result.outcome !== "waiting") return;
    if (outage.begins(changes.wake)) await step(task, { type: "wait", reason: result.reason });
    else reason ??= result.reason;
  }

  async function step(task: string, wanted: RunStep): Promise<void> {
    const id = (await app.tasks.find(task))?.run;
    if (id) await app.runs.step(id, wanted, name);
  }

  pool.scale(workers);
  try {
    for (;;) {
      const seen = changes.count();
      if (run !== undefined && (await stateOfRun(app.db.read, run)) === "cancelled") abort.abort();
      if (!stages.areRunning() && (all.aborted || reason !== undefined || (await isOver()))) return reason;
      // A server waits for the person; a command ends and says what for.
      const stuck = run === undefined || serving || stages.areRunning() ? [] : await stuckAtPeople(app.db.read, run);
      if (stuck.length > 0) return waitsForPerson(stuck);
      await changes.after(seen, recheckMs, all.aborted ? undefined : all);
    }
  } finally {
    outage.close();
    await pool.drain();
    changes.close();
    await times.record(pool.metrics());
  }
}

/** When an agent may be started again after its model's provider was out of service. */
function providerOutage(longestMs: number) {
  let since: number | undefined;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    isOn: () => timer !== undefined,
    /** False if it lasts longer than a run waits. */
    begins(retry: () => void): boolean {
      since ??= Date.now();
      if (timer) return true;
      const delayMs = delayBefore(++failures, { delayMs: undefined }, firstOutageDelayMs);
      if (Date.now() + delayMs - since > longestMs) return false;
      timer = setTimeout(() => {
        timer = undefined;
        retry();
      }, delayMs);
      return true;
    },
    /** True if there was one. */
    ends(): boolean {
      const was = since !== undefined;
      since = undefined;
      failures = 0;
      return was;
    },
    close: () => clearTimeout(timer),
  };
}

const firstOutageDelayMs = 2000;

function waitsForPerson(stuck: { number: string; taskId: string; holder: string | null }[]): string {
  const files = stuck.filter(({ holder }) => holder === null).map(({ number }) => `task ${number}`);
  return [
    ...(files.length > 0 ? [`${files.join(", ")} changed files that a person must allow first`] : []),
    ...stuck.flatMap(({ number, taskId, holder }) =>
      holder === null
        ? []
        : [`${holder} took over task ${number}; hand it back with: scriptorium task hand-back ${taskId}`],
    ),
  ].join("; ");
}

const jobResults: Record<StageResult["outcome"], JobResult> = {
  done: "done",
  lost: "late",
  released: "released",
  waiting: "released",
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
function stageFinder(crew: Crew, run: string | undefined, changes: Changes, isStopping: () => boolean) {
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
    // A stage that stops the run hands its task back; a look that began before must not take it up again.
    const isFree = (task: string) => !isStopping() && !running.has(task) && !holds(skipped.get(task));
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
      run: () => (isVerified ? conclude(crew, id, worker, signal) : verify(crew, id, `${worker}/qc`, signal)),
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
