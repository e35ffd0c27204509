import { setTimeout as sleep } from "node:timers/promises";
import { processName } from "../../kernel/process-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import {
  type Carried,
  carriedRuns,
  restOf,
  runningRuns,
  stateOfRun,
  type WaitingForPerson,
  waitingForPerson,
} from "../../store/queries/crew-queue.ts";
import { watchChanges } from "../../store/wait-for-change.ts";
import { unknownCost } from "../agent/budget.ts";
import { isCostKnown } from "../agent/estimate.ts";
import { chooseModel } from "../agent/plan-model.ts";
import { checkReady, executingParts } from "../agent/ready.ts";
import {
  abandonedRuns,
  type CarrierKind,
  carriedRun,
  carrierOf,
  isShared,
  keepCarrying,
  leaseEnd,
  noteStalled,
  sharedRuns,
  takeOver,
  takeOverMs,
} from "../record/carrier.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { retryTasks } from "../record/retry.ts";
import type { Outcome, Retry } from "../record/run-host.ts";
import { workerTimes } from "../record/worker-times.ts";
import { recordWorkspace } from "../record/workspace-record.ts";
import { reportOf } from "../report/report.ts";
import { acceptedBranch } from "../rules/branches.ts";
import { changeText } from "../rules/plan-change.ts";
import type { Run, Stop } from "../rules/run.ts";
import { currentBudget } from "../rules/run-budget.ts";
import { answerQuestions } from "./answer-questions.ts";
import type { Crew } from "./crew.ts";
import { finishRerun } from "./finish-rerun.ts";
import { openStagePool, recheckMs } from "./stage-pool.ts";
import { writeRunReports } from "./write-reports.ts";

type Options = {
  workers: number;
  signal: AbortSignal;
  by: string;
  budgetTokens?: number | null | undefined;
  budgetUsd?: number | null | undefined;
  /** Failed tasks to reopen before the run starts. */
  retry?: Retry | undefined;
  /** Called when the run has started, or was refused. */
  onBegin?(begun: Result<true>): void;
  /** Goes on without a person: it waits where a command would end, and hands the run over when it is stopped. */
  serving?: boolean;
};

/** Executes a run until it is over or the signal aborts. Other processes may work on the same run. */
export async function executeRun(crew: Crew, run: string, options: Options): Promise<Result<Outcome>> {
  const kind = options.serving ? "server" : "command";
  const begun = await begin(crew, run, options, kind);
  options.onBegin?.(begun);
  return begun.ok ? carryRun(crew, run, options, kind) : begun;
}

/** Executes a run that this process carries. */
export async function carryRun(crew: Crew, run: string, options: Options, kind: CarrierKind): Promise<Result<Outcome>> {
  const { app } = crew;
  const lease = keepCarrying(app, carriedRun(run, "running", carrierOf(kind)));
  const ending: Ending = { ...options, isLost: () => lease.lost.aborted };
  if (options.serving) ending.handOver = lease.handOver;
  const isOver = async () => (await isRunOver(app, run)) || lease.lost.aborted;
  try {
    const prepared = await installFirst(crew, run, options.signal);
    if (!prepared.ok) {
      const failed: Stop = { reason: prepared.problem.message, cause: "other" };
      return await finish(crew, run, options.signal.aborted ? undefined : failed, ending);
    }
    const answering = answerQuestions(crew, run, AbortSignal.any([options.signal, lease.lost]));
    let stopped: Stop | undefined;
    try {
      do stopped = await runStages(crew, run, { ...options, lost: lease.lost }, isOver);
      while (
        // A person may have resumed a paused run just when its last agent ended.
        stopped === undefined &&
        !options.signal.aborted &&
        !(await isOver())
      );
    } finally {
      await answering.end();
    }
    return await finish(crew, run, stopped, ending);
  } finally {
    lease.end();
  }
}

const isRunOver = async ({ db }: CrewApp, run: string) =>
  (await restOf(db.read, run)).open === 0 || !(await runningRuns(db.read)).includes(run);

/** Installs what tasks and checks need before the first of them starts; cancelling the run stops it. */
async function installFirst({ app, setups }: Crew, run: string, signal: AbortSignal) {
  const cancelled = new AbortController();
  const timer = setInterval(async () => {
    if ((await stateOfRun(app.db.read, run).catch(() => undefined)) === "cancelled") cancelled.abort();
  }, recheckMs);
  try {
    return await setups.atStart(run, AbortSignal.any([signal, cancelled.signal]));
  } finally {
    clearInterval(timer);
  }
}

/**
 * Starts a run for workers and verifiers that other code, or another process, keeps busy. The planner of this process
 * answers their questions until the run is over. The process that concludes the last task finishes the run.
 */
export async function startRun(crew: Crew, run: string, options: Omit<Options, "workers">): Promise<Result<Started>> {
  const begun = await begin(crew, run, options, "shared");
  if (!begun.ok) return begun;
  return ok({ ended: answerUntilOver(crew, run, options.signal) });
}

type Started = { ended: Promise<void> };

async function answerUntilOver(crew: Crew, run: string, signal: AbortSignal): Promise<void> {
  const { db } = crew.app;
  const lease = keepCarrying(crew.app, sharedRuns(run));
  const changes = watchChanges(db);
  const answering = answerQuestions(crew, run, signal);
  try {
    for (;;) {
      const seen = changes.count();
      if (signal.aborted || (await stateOfRun(db.read, run)) !== "running") return;
      await changes.after(seen, recheckMs, signal);
    }
  } finally {
    lease.end();
    changes.close();
    await answering.end();
  }
}

/** Adopts edits of the plan, checks agents and budget, and starts the run. */
async function begin(
  crew: Crew,
  run: string,
  options: Omit<Options, "workers">,
  kind: CarrierKind,
): Promise<Result<true>> {
  const { app } = crew;
  const { by } = options;
  const read = await app.runs.readBack(run, by);
  if (!read.ok) return read;
  const ready = checkReady(crew, executingParts);
  if (!ready.ok) return ready;
  const budget = budgetOf(app, read.value.run, options);
  const priced = budget.budget_usd === null ? ok(true) : checkCosts(crew, read.value.run.plan);
  if (!priced.ok) return priced;
  const repeated = await finishRerun(app, run);
  if (!repeated.ok) return repeated;
  const based = await crew.trees.begin(run);
  if (!based.ok) return based;
  await recordWorkspace(app);
  const retried = options.retry ? await retryTasks(app, run, options.retry, by) : ok(0);
  if (!retried.ok) return retried;
  const also = { carried_by: carrierOf(kind), carrier_until: await leaseEnd(app), ...budget };
  const started = await app.runs.step(run, { type: "start" }, by, also);
  if (!started.ok) return started;
  crew.tell({ kind: "run-started", run, title: started.value.title });
  if (read.value.diff !== "") crew.tell({ kind: "plan-changed", run, reason: changeText(read.value) });
  return ok(true);
}

function budgetOf({ config }: CrewApp, run: Run, { budgetTokens, budgetUsd }: Omit<Options, "workers">) {
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

type Wanted = { run: string | undefined; isCarried(run: string): boolean; kind: CarrierKind };

/** Adopts the runs that no process executes, as far as this process can: with agents, and with their files. */
export async function takeOverRuns(crew: Crew, { run, isCarried, kind }: Wanted): Promise<Carried[]> {
  const { app } = crew;
  const abandoned = await abandonedRuns(app.db, "running");
  const found = abandoned.filter((one) => (run ?? one.run) === one.run && !isCarried(one.run));
  const taken: Carried[] = [];
  for (const one of found) {
    const ready = checkReady(crew, executingParts);
    const able = ready.ok ? await crew.trees.reach(one.run) : ready;
    if (!able.ok) {
      app.log.info({ run: one.run, problem: able.problem.message }, "run-not-taken-over");
      if (kind === "server") await noteStalled(app, one.run, able.problem.message);
    } else if (await takeOver(app, one, carrierOf(kind))) taken.push(one);
  }
  return taken;
}

/** How long a worker leaves a run to others after a stage of it could not go on here. */
const leaveMs = 60_000;

/**
 * Works on runs that other processes execute, until the signal aborts or the given run is over; a run that its process
 * has left is taken over. Refused if this process cannot work on the given run.
 */
export async function joinRuns(crew: Crew, run: string | undefined, options: Options): Promise<Result<true>> {
  const { app } = crew;
  const carrying = carryAbandoned(crew, run, options);
  /** Runs that this process could not work on, and until when it leaves them to others. */
  const left = new Map<string, number>();
  let hasFailed = true;
  try {
    const stopped = await runStages(
      crew,
      run,
      {
        ...options,
        serving: true,
        skips: () => [...left].flatMap(([of, end]) => (performance.now() < end ? [of] : [])),
        async onStop({ reason: why, cause, task }) {
          const of = (await app.tasks.find(task))?.run;
          if (!of) return false;
          if (carrying.has(of)) await app.runs.step(of, { type: "stop", reason: why, cause }, options.by);
          else {
            left.set(of, performance.now() + leaveMs);
            app.log.warn({ run: of, reason: why }, "run-left-to-others");
          }
          return of !== run;
        },
        async onEnd(task) {
          const of = (await app.tasks.find(task))?.run;
          if (of && !carrying.has(of)) await finishIfOver(crew, of, options);
        },
      },
      async () => run !== undefined && (await isRunOver(app, run)),
    );
    hasFailed = false;
    return stopped === undefined || run === undefined ? ok(true) : refuse("refused", stopped.reason);
  } finally {
    await carrying.end({ now: hasFailed });
  }
}

/** Carries abandoned runs whose tasks a pool of this process works on. */
function carryAbandoned(crew: Crew, only: string | undefined, options: Options) {
  const carried = new Map<string, Promise<void>>();
  const over = new AbortController();
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const kind = "worker";
  const isCarried = (run: string) => carried.has(run);
  async function look(): Promise<void> {
    for (const { run } of await takeOverRuns(crew, { run: only, isCarried, kind })) {
      crew.tell({ kind: "run-taken-over", run });
      const work = carryBeside(crew, run, { ...options, signal }).catch((error: unknown) =>
        crew.app.log.error({ run, error: String(error) }, "run-failed"),
      );
      carried.set(
        run,
        work.finally(() => carried.delete(run)),
      );
    }
  }
  const loop = (async () => {
    while (!over.signal.aborted && !options.signal.aborted) {
      await look().catch((error: unknown) => crew.app.log.warn({ error: String(error) }, "take-over-failed"));
      await sleep(takeOverMs, undefined, { signal: AbortSignal.any([over.signal, options.signal]) }).catch(
        () => undefined,
      );
    }
  })();
  return {
    has: isCarried,
    /** `now`: no agent works on the runs, so they are handed over. */
    async end({ now }: { now: boolean }): Promise<void> {
      over.abort();
      if (now) failed.abort();
      await loop;
      await Promise.all(carried.values());
    },
  };
}

/** Answers questions, finishes the run, and keeps its lease; the stages run elsewhere. */
async function carryBeside(crew: Crew, run: string, options: Options): Promise<void> {
  const { app } = crew;
  const lease = keepCarrying(app, carriedRun(run, "running", carrierOf("worker")));
  const changes = watchChanges(app.db);
  const until = AbortSignal.any([options.signal, lease.lost]);
  const answering = answerQuestions(crew, run, until);
  try {
    for (;;) {
      const seen = changes.count();
      if (until.aborted || (await isRunOver(app, run))) break;
      await changes.after(seen, recheckMs, until);
    }
    await answering.end();
    await finish(crew, run, undefined, { ...options, isLost: () => lease.lost.aborted, handOver: lease.handOver });
  } finally {
    changes.close();
    await answering.end();
    lease.end();
  }
}

/** The process that concludes the last task finishes the run: its carrier may be gone, and otherwise sees the result. */
async function finishIfOver(crew: Crew, run: string, options: Options): Promise<void> {
  const { db } = crew.app;
  if (options.signal.aborted || (await stateOfRun(db.read, run)) !== "running") return;
  if ((await restOf(db.read, run)).open === 0) await finish(crew, run, undefined, options);
}

/** Finishes runs that no single process executes and whose tasks are all over: one, or all. */
export async function finishShared(
  crew: Crew,
  run: string | undefined,
  options: Pick<Options, "signal" | "by">,
): Promise<Outcome[]> {
  const { db } = crew.app;
  const outcomes: Outcome[] = [];
  for (const { run: id, carrier } of await carriedRuns(db.read)) {
    if ((run !== undefined && id !== run) || !isShared(carrier)) continue;
    if (options.signal.aborted || (await restOf(db.read, id)).open > 0) continue;
    const finished = await finish(crew, id, undefined, options);
    if (finished.ok) outcomes.push(finished.value);
  }
  return outcomes;
}

type Ending = Pick<Options, "signal" | "by"> & {
  /** True if another process has the run now. */
  isLost?: () => boolean;
  /** Left out where a stopped process stops its runs. */
  handOver?: () => Promise<unknown>;
};

async function finish(
  crew: Crew,
  run: string,
  stopped: Stop | undefined,
  { signal, by, isLost = () => false, handOver }: Ending,
): Promise<Result<Outcome>> {
  const { app } = crew;
  const rest = await restOf(app.db.read, run);
  const now = await app.runs.find(run);
  // A killed process may have accepted the last task and not moved the branch: no later task would make up for it.
  const followed = app.packs.isOn() ? ok(undefined) : await app.packs.follow(run);
  if (now?.state === "running" && isLost()) {
    // The other process finishes it.
  } else if (now?.state === "running" && !followed.ok) {
    await app.runs.step(run, { type: "stop", reason: followed.problem.message, cause: "other" }, by);
  } else if (now?.state === "running" && rest.open === 0) {
    await writeRunReports(crew, run, signal);
    await app.runs.step(run, { type: "finish", failed: rest.lost }, by);
  } else if (now?.state === "running" && handOver && signal.aborted && stopped === undefined) {
    await handOver();
  } else if (now?.state === "running") {
    const reason = signal.aborted ? "the run was stopped" : "no task can be started";
    await app.runs.step(run, { type: "stop", ...(stopped ?? { reason, cause: "other" }) }, by);
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

type Stopping = {
  /** Another process has the run: stages in progress end, and nothing new starts. */
  lost?: AbortSignal;
  /** Runs that this process leaves to others. */
  skips?: () => readonly string[];
  /** True if the pool continues with other runs. */
  onStop?(stopped: Stop & { task: string }): Promise<boolean>;
  onEnd?(task: string): Promise<void>;
};

/**
 * Runs the stages of one run, or of all runs, on a pool of workers until nothing is left to do. Returns
 * why, if it stopped before that.
 */
async function runStages(
  crew: Crew,
  run: string | undefined,
  { workers, signal, serving = false, lost, skips, onStop: stopOther, onEnd }: Options & Stopping,
  isOver: () => Promise<boolean>,
): Promise<Stop | undefined> {
  const { app } = crew;
  const abort = new AbortController();
  const all = AbortSignal.any([signal, abort.signal]);
  const times = workerTimes(app, run, processName(), workers);
  let stopped: Stop | undefined;
  const { pool, changes, ...stages } = await openStagePool(crew, {
    run,
    stages: "all",
    signal: all,
    ...(skips ? { skips } : {}),
    ...(onEnd ? { onEnd } : {}),
    carries: stopOther === undefined,
    async onStop({ reason, cause, task, failed }) {
      if (await stopOther?.({ reason, cause, task })) return;
      stopped ??= { reason, cause };
      stages.finishRunning();
      if (failed) abort.abort();
    },
  });
  pool.scale(workers);
  try {
    for (;;) {
      const seen = changes.count();
      if (run !== undefined && (await stateOfRun(app.db.read, run)) === "cancelled") abort.abort();
      if (lost?.aborted) stages.finishRunning();
      if (!stages.areRunning() && (all.aborted || stopped !== undefined || (await isOver()))) return stopped;
      // A server waits for the person; a command ends and says what for.
      if (run !== undefined && !serving && !stages.areRunning()) {
        const waiting = await personReason(app, run);
        if (waiting !== undefined) return { reason: waiting, cause: "other" };
      }
      await changes.after(seen, recheckMs, all.aborted ? undefined : all);
    }
  } finally {
    await pool.drain();
    stages.close();
    await times.record(pool.metrics());
  }
}

/** What a run waits for, with the command where the inbox does not have to be asked; undefined if it can go on. */
export async function personReason({ db }: CrewApp, run: string): Promise<string | undefined> {
  const waiting = await waitingForPerson(db.read, run);
  if (waiting.length === 0) return undefined;
  const named = (tasks: readonly WaitingForPerson[]) => tasks.map(({ number }) => `task ${number}`).join(", ");
  const files = waiting.filter(({ why }) => why === "files");
  const gates = waiting.filter(({ why }) => why === "gate");
  const questions = waiting.filter(({ why }) => why === "question");
  const answers = questions.map(({ id }) => `scriptorium task approve ${id}`).join("; ");
  const approve = gates.map(({ id }) => `scriptorium task approve ${id}`).join("; ");
  return [
    ...(files.length > 0 ? [`${named(files)} changed files that a person must allow first`] : []),
    ...(gates.length > 0
      ? [`${named(gates)} ${gates.length === 1 ? "waits" : "wait"} for the approval of a person: ${approve}`]
      : []),
    ...(questions.length > 0
      ? [`${named(questions)} ${questions.length === 1 ? "waits" : "wait"} for the answer of a person: ${answers}`]
      : []),
    ...waiting.flatMap(({ id, number, holder, why }) =>
      why === "taken"
        ? [`${holder} took over task ${number}; hand it back with: scriptorium task hand-back ${id}`]
        : [],
    ),
  ].join("; ");
}
