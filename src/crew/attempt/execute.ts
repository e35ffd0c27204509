import { processName, processState } from "../../kernel/process-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import {
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
import type { CrewApp } from "../record/crew-app.ts";
import type { Outcome } from "../record/run-host.ts";
import { workerTimes } from "../record/worker-times.ts";
import { reportOf } from "../report/report.ts";
import { acceptedBranch } from "../rules/branches.ts";
import { changeText } from "../rules/plan-change.ts";
import type { Run } from "../rules/run.ts";
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
  /** Marks the run as a server's, which resumes it after a restart. */
  serving?: boolean;
};

/** Executes a run until it is over or the signal aborts. Other processes may work on the same run. */
export async function executeRun(crew: Crew, run: string, options: Options): Promise<Result<Outcome>> {
  const { app } = crew;
  const begun = await begin(crew, run, options, options.serving ? server : "command");
  if (!begun.ok) return begun;
  const isOver = async () =>
    (await restOf(app.db.read, run)).open === 0 || !(await runningRuns(app.db.read)).includes(run);
  const prepared = await installFirst(crew, run, options.signal);
  if (!prepared.ok) return finish(crew, run, options.signal.aborted ? undefined : prepared.problem.message, options);
  const answering = answerQuestions(crew, run, options.signal);
  let stopped: string | undefined;
  try {
    do stopped = await runStages(crew, run, options, isOver);
    while (
      // A person may have resumed a paused run just when its last agent ended.
      stopped === undefined &&
      !options.signal.aborted &&
      !(await isOver())
    );
  } finally {
    await answering.end();
  }
  return finish(crew, run, stopped, options);
}

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
  const begun = await begin(crew, run, options, shared);
  if (!begun.ok) return begun;
  return ok({ ended: answerUntilOver(crew, run, options.signal) });
}

type Started = { ended: Promise<void> };

async function answerUntilOver(crew: Crew, run: string, signal: AbortSignal): Promise<void> {
  const { db } = crew.app;
  const changes = watchChanges(db);
  const answering = answerQuestions(crew, run, signal);
  try {
    for (;;) {
      const seen = changes.count();
      if (signal.aborted || (await stateOfRun(db.read, run)) !== "running") return;
      await changes.after(seen, recheckMs, signal);
    }
  } finally {
    changes.close();
    await answering.end();
  }
}

/** Adopts edits of the plan, checks agents and budget, and starts the run. */
async function begin(
  crew: Crew,
  run: string,
  options: Omit<Options, "workers">,
  carrier: string,
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
  await finishRerun(app, run);
  const also = { carried_by: `${processName()}/${carrier}`, ...budget };
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

const server = "server";
/** Marks a run that no single process executes. */
const shared = "shared";

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

/** Finishes runs that no single process executes and whose tasks are all over: one, or all. */
export async function finishShared(
  crew: Crew,
  run: string | undefined,
  options: Pick<Options, "signal" | "by">,
): Promise<Outcome[]> {
  const { db } = crew.app;
  const outcomes: Outcome[] = [];
  for (const { run: id, carrier } of await carriedRuns(db.read)) {
    if ((run !== undefined && id !== run) || !carrier.endsWith(`/${shared}`)) continue;
    if (options.signal.aborted || (await restOf(db.read, id)).open > 0) continue;
    const finished = await finish(crew, id, undefined, options);
    if (finished.ok) outcomes.push(finished.value);
  }
  return outcomes;
}

async function finish(
  crew: Crew,
  run: string,
  stopped: string | undefined,
  { signal, by }: Pick<Options, "signal" | "by">,
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
  const abort = new AbortController();
  const all = AbortSignal.any([signal, abort.signal]);
  const times = workerTimes(app, run, processName(), workers);
  let reason: string | undefined;
  const { pool, changes, ...stages } = await openStagePool(crew, {
    run,
    stages: "all",
    signal: all,
    onStop({ reason: why, failed }) {
      reason ??= why;
      stages.finishRunning();
      if (failed) abort.abort();
    },
  });
  pool.scale(workers);
  try {
    for (;;) {
      const seen = changes.count();
      if (run !== undefined && (await stateOfRun(app.db.read, run)) === "cancelled") abort.abort();
      if (!stages.areRunning() && (all.aborted || reason !== undefined || (await isOver()))) return reason;
      // A server waits for the person; a command ends and says what for.
      if (run !== undefined && !serving && !stages.areRunning()) {
        const waiting = await personReason(app, run);
        if (waiting !== undefined) return waiting;
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
