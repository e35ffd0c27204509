import { delayBefore } from "../../agents/model/failure.ts";
import { processName, processState } from "../../kernel/process-name.ts";
import { storageProblem } from "../../kernel/storage-problem.ts";
import { betweenStages, heldIn, runningRuns, type StageState, stateOfRun } from "../../store/queries/crew-queue.ts";
import { type Changes, watchChanges } from "../../store/wait-for-change.ts";
import { type JobResult, jobPool } from "../../tasks/job-pool.ts";
import type { RunStep, Stop } from "../rules/run.ts";
import type { StageResult } from "./attempt.ts";
import { conclude } from "./conclude.ts";
import type { Crew } from "./crew.ts";
import { learnMissing } from "./learn.ts";
import { isMergeOfLivingProcess } from "./merge.ts";
import { verify } from "./verify.ts";
import { work } from "./work.ts";

export const recheckMs = 2000;

/** `work`: workers, and the retries of attempts that failed. `verify`: what workers delivered, up to its merge. */
export type Stages = "all" | "work" | "verify";

const waitingStates: Record<Stages, readonly StageState[]> = {
  all: ["worker_completed", "qc_passed", "qc_failed"],
  work: ["qc_failed"],
  verify: ["worker_completed", "qc_passed", "qc_failed"],
};

type Options = {
  /** The run whose stages are run; of all running ones if left out. */
  run: string | undefined;
  stages: Stages;
  signal: AbortSignal;
  /** A run cannot go on. `failed`: because a stage threw an error. */
  onStop(stopped: Stop & { task: string; failed: boolean }): void | Promise<void>;
  /** Runs whose stages are left to other processes. */
  skips?: () => readonly string[];
  /** True if this process carries the run, and so says of it what it waits for. */
  carries?: boolean;
  /** A stage ended, before the next one of its task can start. */
  onEnd?(task: string): Promise<void>;
};

/** Stages of runs on a pool of workers: the one pool of `execute`, of `work`, and of the library's crew. */
export async function openStagePool(
  crew: Crew,
  { run, stages: kinds, signal, onStop, onEnd, skips = () => [], carries = false }: Options,
) {
  const { app } = crew;
  const name = processName();
  await freeTheDead(crew, run, name);
  await learnMissing(crew, run);

  const changes = watchChanges(app.db);
  let isStopping = false;
  /** Runs whose files this machine cannot get, and why. */
  const lacking = new Map<string, string>();
  const lacks = async (of: string, reason: string | undefined) => {
    if (lacking.get(of) === reason) return;
    if (reason === undefined) lacking.delete(of);
    else lacking.set(of, reason);
    if (reason !== undefined) crew.tell({ kind: "run-waits", run: of, reason });
    if (carries) await app.runs.step(of, reason === undefined ? { type: "proceed" } : { type: "wait", reason }, name);
  };
  const stages = stageFinder(crew, { run, kinds, changes, isStopping: () => isStopping, skips, lacks });
  const outage = providerOutage(app.config.crew.outage_minutes * 60_000);
  const pool = jobPool({
    db: app.db,
    workerName: (n) => `${name}/${n}`,
    async next(worker, own) {
      const isPaused = signal.aborted || isStopping || outage.isOn();
      const found = isPaused ? undefined : await stages.next(worker, AbortSignal.any([signal, own]));
      return found && { task: found.task, claimMs: found.claimMs, run: (_signal, storing) => runStage(found, storing) };
    },
    async onError(error, { task }) {
      app.log.error({ error: String(error), task }, "stage-failed");
      // The claim expires, and the stage is run again once the database answers.
      if (storageProblem(error)?.details?.reason === "unavailable") return;
      const reason = `a stage failed: ${error instanceof Error ? error.message : String(error)}`;
      await onStop({ reason, cause: "other", task, failed: true });
    },
  });

  async function runStage(stage: Stage, freeWorker: () => void): Promise<JobResult> {
    let result: StageResult | undefined;
    try {
      // A merge waits for others and for checks; meanwhile another worker may start an agent.
      if (stage.isMerge) freeWorker();
      result = await stage.run();
      if (result.outcome === "stop") {
        const { reason, cause } = result;
        await onStop({ reason, cause, task: stage.task, failed: false });
      }
      await notice(stage, result);
      await onEnd?.(stage.task);
      return jobResults[result.outcome];
    } finally {
      stages.ended(stage.task, result);
      changes.wake();
    }
  }

  /** An agent program that met an outage has ended; its task is retried after a delay. */
  async function notice({ task }: Stage, result: StageResult): Promise<void> {
    if (result.outcome === "done" && outage.ends()) await step(task, { type: "proceed" });
    const of = lacking.size > 0 || result.outcome === "released" ? (await app.tasks.find(task))?.run : undefined;
    if (of && result.outcome === "released" && result.lacksFiles) await lacks(of, result.reason);
    else if (of && result.outcome === "done") await lacks(of, undefined);
    if (result.outcome !== "waiting") return;
    if (outage.begins(changes.wake)) await step(task, { type: "wait", reason: result.reason });
    else await onStop({ reason: result.reason, cause: "other", task, failed: false });
  }

  async function step(task: string, wanted: RunStep): Promise<void> {
    const id = (await app.tasks.find(task))?.run;
    if (id) await app.runs.step(id, wanted, name);
  }

  return {
    pool,
    changes,
    areRunning: stages.areRunning,
    /** Starts no other stage; those in progress are paid for and finish. */
    finishRunning: () => {
      isStopping = true;
    },
    /** Tasks that wait for one of these stages. */
    waiting: () => betweenStages(app.db.read, run, waitingStates[kinds], 1),
    /** Ends the waiting of workers, once the pool has been drained or stopped. */
    close(): void {
      outage.close();
      changes.close();
    },
  };
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

type Stage = { task: string; claimMs?: number; isMerge?: boolean; run(): Promise<StageResult> };

type Finding = {
  run: string | undefined;
  kinds: Stages;
  changes: Changes;
  isStopping: () => boolean;
  skips(): readonly string[];
  lacks(run: string, reason: string | undefined): Promise<void>;
};

/**
 * Finds the next stage to run: a task that waits between two stages before a new one. Workers look one
 * after the other, and one look that finds nothing holds for all of them until something changes.
 */
function stageFinder(crew: Crew, { run, kinds, changes, isStopping, skips, lacks }: Finding) {
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
    const excluded = running.size + skipped.size;
    const found = await findStage(crew, { run, kinds, worker, isFree, signal, excluded, skips, lacks });
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

type Search = {
  run: string | undefined;
  kinds: Stages;
  worker: string;
  isFree(task: string): boolean;
  signal: AbortSignal;
  /** How many waiting tasks are not free. */
  excluded: number;
} & Pick<Finding, "skips" | "lacks">;

async function findStage(
  crew: Crew,
  { run, kinds, worker, isFree, signal, excluded, skips, lacks }: Search,
): Promise<Stage | undefined> {
  const { app } = crew;
  const left = skips();
  const waiting = (await betweenStages(app.db.read, run, waitingStates[kinds], excluded + 1, left)).find(({ id }) =>
    isFree(id),
  );
  if (waiting) {
    const { id, state } = waiting;
    const isVerified = state !== "worker_completed";
    return {
      task: id,
      isMerge: state === "qc_passed",
      run: () => (isVerified ? conclude(crew, id, worker, signal) : verify(crew, id, `${worker}/qc`, signal)),
    };
  }
  if (kinds === "verify") return undefined;
  // Tasks of a run that has not started are not claimed: a person may still change its plan.
  const runs = await runningRuns(app.db.read);
  for (const candidate of runs.filter((one) => (run ?? one) === one && !left.includes(one))) {
    // Claimed and released again, a task would look as if somebody had tried it.
    const there = await crew.trees.reach(candidate);
    await lacks(candidate, there.ok ? undefined : there.problem.message);
    if (!there.ok) continue;
    // A fetch takes long enough for a person to pause the run.
    if (app.packs.isOn() && (await stateOfRun(app.db.read, candidate)) !== "running") continue;
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
    return (folder) => held.has(folder.replace(/-qc(-checks)?$/, "")) || isMergeOfLivingProcess(folder);
  });
}
