import { ok, type Result } from "../../kernel/result.ts";
import { betweenStages, carriedRuns, heldIn, restOf, runningRuns, stateOfRun } from "../../store/queries/crew-queue.ts";
import type { Claim } from "../../tasks/engine.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { poolRecord } from "../record/worker-times.ts";
import { reportOf } from "../report/report.ts";
import { acceptedBranch } from "../rules/branches.ts";
import type { Stage } from "./attempt.ts";
import { conclude } from "./conclude.ts";
import type { Crew } from "./crew.ts";
import { isGone, processName } from "./holders.ts";
import { learnTheRest } from "./learn.ts";
import { verify } from "./verify.ts";
import { work } from "./work.ts";

export type Outcome = {
  run: string;
  state: string;
  tasks: { all: number; completed: number; lost: number };
  reason: string | null;
  report: string | null;
  /** Where the accepted files are; null for a run that delivered none. */
  branch: string | null;
};

type Options = {
  workers: number;
  signal: AbortSignal;
  by: string;
  budgetTokens?: number | undefined;
  budgetUsd?: number | undefined;
  /** A server goes on by itself, once it is started again, with what it was cut off from. */
  serving?: boolean;
};

const lookAgainMs = 2000;

/** Carries a run to its end, or until it is told to stop; what others finish meanwhile counts just the same. */
export async function executeRun(crew: Crew, run: string, options: Options): Promise<Result<Outcome>> {
  const { app } = crew;
  const { by } = options;
  const read = await app.runs.readBack(run, by);
  if (!read.ok) return read;
  const { run_tokens, run_usd } = app.config.crew.budget;
  const tokens = options.budgetTokens ?? read.value.budgetTokens ?? run_tokens;
  const usd = options.budgetUsd ?? read.value.budgetUsd ?? run_usd;
  const also = {
    carried_by: `${processName()}/${options.serving ? server : "command"}`,
    ...(tokens === undefined ? {} : { budget_tokens: tokens }),
    ...(usd === undefined ? {} : { budget_usd: usd }),
  };
  const started = await app.runs.step(run, { type: "start" }, by, also);
  if (!started.ok) return started;
  crew.tell({ kind: "run-started", run, title: started.value.title });

  const isOver = async () =>
    (await restOf(app.db.read, run)).open === 0 || !(await runningRuns(app.db.read)).includes(run);
  const stopped = await labour(crew, run, options, isOver);
  return finish(crew, run, stopped, options);
}

const server = "server";

/** Runs that a server of this machine was carrying out when it was killed. */
export const cutOff = async ({ db }: CrewApp): Promise<{ run: string; by: string }[]> =>
  (await carriedRuns(db.read))
    .filter(({ carrier }) => carrier.endsWith(`/${server}`) && isGone(carrier))
    .map(({ run, by }) => ({ run, by }));

/** Works on whatever run has work, until it is told to stop: more hands for runs that others carry. */
export async function joinRuns(crew: Crew, run: string | undefined, options: Options): Promise<void> {
  const { db } = crew.app;
  await labour(crew, run, options, async () => run !== undefined && (await restOf(db.read, run)).open === 0);
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
    const reason = stopped ?? (signal.aborted ? "it was stopped" : "nothing more could be done");
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

type Job = { run(): Promise<Stage> };

/**
 * Hands are busy as long as there is something to do; a free hand takes what stands between two
 * stages before it begins anything new. One look serves all hands, and nobody writes while waiting.
 */
async function labour(
  crew: Crew,
  run: string | undefined,
  { workers, signal }: Options,
  isOver: () => Promise<boolean>,
): Promise<string | undefined> {
  const { app } = crew;
  const name = processName();
  const hands = handsOf(workers);
  const inHand = new Set<string>();
  const stop = new AbortController();
  const all = AbortSignal.any([signal, stop.signal]);
  const record = poolRecord(crew.app, run, name, workers);
  let reason: string | undefined;
  let wake: () => void = () => undefined;
  const unsubscribe = app.db.onChange(() => wake());

  await freeTheDead(crew, run, name);
  await learnTheRest(crew, run);

  const start = (job: Job, hand: number, id: string): void => {
    inHand.add(id);
    const began = Date.now();
    void job
      .run()
      .then(
        (stage) => {
          // What others have under way was paid for: it comes to its end, and nothing new is begun.
          reason ??= stage.stop;
        },
        (error: unknown) => {
          app.log.error({ error: String(error), task: id }, "stage-failed");
          reason ??= `a stage failed: ${error instanceof Error ? error.message : String(error)}`;
          stop.abort();
        },
      )
      .finally(() => {
        record.busy(Date.now() - began);
        inHand.delete(id);
        hands.free(hand);
        wake();
      });
  };

  try {
    for (;;) {
      const changed = new Promise<void>((done) => {
        const timer = setTimeout(done, lookAgainMs);
        wake = () => {
          clearTimeout(timer);
          done();
        };
        all.addEventListener("abort", wake, { once: true });
      });
      if (run !== undefined && (await stateOfRun(app.db.read, run)) === "cancelled") stop.abort();
      const looked = performance.now();
      while (!all.aborted && reason === undefined && hands.available()) {
        const found = await nextJob(crew, run, `${name}/${hands.peek()}`, inHand, all);
        if (!found) break;
        if (found.claimedInMs !== undefined) record.claimed(found.claimedInMs);
        const { hand, freeSince } = hands.take();
        // There was work since the look, or since the hand became free: what it waited then, it waited for nothing.
        record.idle(performance.now() - Math.max(looked, freeSince));
        start(found.job, hand, found.id);
      }
      if (inHand.size === 0 && (all.aborted || reason !== undefined || (await isOver()))) return reason;
      await changed;
      all.removeEventListener("abort", wake);
    }
  } finally {
    unsubscribe();
    await record.end();
  }
}

type Found = { id: string; job: Job; claimedInMs?: number };

async function nextJob(
  crew: Crew,
  run: string | undefined,
  hand: string,
  inHand: Set<string>,
  signal: AbortSignal,
): Promise<Found | undefined> {
  const { app } = crew;
  const waiting = (await betweenStages(app.db.read, run, inHand.size + 20)).find(({ id }) => !inHand.has(id));
  if (waiting) {
    const { id, state } = waiting;
    const stage =
      state === "worker_completed" ? () => verify(crew, id, `${hand}/qc`, signal) : () => conclude(crew, id, hand);
    return { id, job: { run: stage } };
  }
  // Nothing is begun for a run that is not carried out now: before its start a person may still change its plan.
  const running = await runningRuns(app.db.read);
  for (const candidate of run === undefined ? running : running.filter((one) => one === run)) {
    const worker = `${hand}/worker`;
    const began = performance.now();
    const claim: Claim | undefined = await app.tasks.claim(worker, candidate);
    if (!claim) continue;
    const job = { run: () => work(crew, claim, worker, signal) };
    return { id: claim.task.id, job, claimedInMs: performance.now() - began };
  }
  return undefined;
}

function handsOf(count: number) {
  const began = performance.now();
  const free = Array.from({ length: count }, (_, i) => ({ hand: i + 1, freeSince: began }));
  return {
    available: () => free.length > 0,
    peek: () => free[0]?.hand ?? 0,
    take: () => free.shift() ?? { hand: 0, freeSince: began },
    free: (hand: number) => {
      free.unshift({ hand, freeSince: performance.now() });
    },
  };
}

/** Claims of processes of this machine that were killed go back at once, and their worktrees are taken away. */
async function freeTheDead(crew: Crew, run: string | undefined, name: string): Promise<void> {
  const { app, trees } = crew;
  for (const { id, holder } of await heldIn(app.db.read, run)) {
    if (holder !== null && isGone(holder)) await app.tasks.release(id, name, { force: true });
  }
  await trees.sweep(async () => {
    const held = new Set((await heldIn(app.db.read, undefined)).map(({ id }) => id));
    return (folder) => held.has(folder.replace(/-\d+(-qc(-checks)?)?$/, ""));
  });
}
