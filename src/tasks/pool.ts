import type { Result } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import type { Claim, TaskEngine } from "./engine.ts";
import type { Task } from "./task.ts";
import type { Step } from "./transition.ts";

/** What a worker does with a claim: the step with which it ends. Nothing of it is kept for the next task. */
export type Execute = (claim: Claim, signal: AbortSignal) => Promise<Step>;

export type PoolMetrics = {
  workers: number;
  busy: number;
  done: number;
  failed: number;
  /** Steps that were refused because the lease had gone to another. */
  late: number;
  claimMs: { p50: number; p99: number };
  /** The share of the time before they store that workers waited for work while there was some to be had. */
  idleShare: number;
};

type Deps = { db: Database; tasks: TaskEngine; execute: Execute; name: string; run?: string; leaseMs: number };
type Worker = {
  id: string;
  stop: AbortController;
  claim: Claim | undefined;
  since: number;
  heart: NodeJS.Timeout | undefined;
  /** Its work is done and on its way into the store; another has its place. */
  storing: boolean;
  ended: Promise<void>;
};

const recheckMs = 2000;
/** How long work that was asked to stop may take to do so, before its task is taken from it. */
const lastWordMs = 1000;
const keptSamples = 10_000;

/**
 * Workers that claim, execute, store and end; each task gets a fresh one (O13). While one stores, the
 * next asks for a task, so that both are one transaction. An idle worker waits to be told of a change,
 * with a slow look at the clock for leases that run out.
 */
export function workerPool({ db, tasks, execute, name, run, leaseMs }: Deps) {
  const workers = new Map<string, Worker>();
  const claimTimes: number[] = [];
  const waiters = new Set<() => void>();
  const counts = { done: 0, failed: 0, late: 0, idleMs: 0, busyMs: 0 };
  let target = 0;
  let born = 0;
  const unsubscribe = db.onChange(() => {
    for (const wake of waiters) wake();
  });

  function start(): void {
    const id = `${name}-${++born}`;
    const worker: Worker = {
      id,
      stop: new AbortController(),
      claim: undefined,
      since: Date.now(),
      heart: undefined,
      storing: false,
      ended: Promise.resolve(),
    };
    workers.set(id, worker);
    worker.ended = live(worker)
      .catch(async () => {
        // The store did not answer: the next worker asks again, but not at once.
        counts.failed++;
        await somethingChanges(worker.stop.signal);
      })
      .finally(() => {
        workers.delete(id);
        fill();
      });
  }

  const inPlace = () => [...workers.values()].filter((worker) => !worker.storing);
  function fill(): void {
    for (let missing = target - inPlace().length; missing > 0; missing--) start();
  }

  /** One worker's life: at most one task. */
  async function live(worker: Worker): Promise<void> {
    const claim = await claimOrWait(worker);
    if (!claim) return;
    worker.claim = claim;
    worker.since = Date.now();
    worker.heart = setInterval(() => void beat(claim, worker), leaseMs / 3);
    try {
      await settle(claim, worker, await execute(claim, worker.stop.signal));
    } catch (error) {
      counts.failed++;
      await settle(claim, worker, { type: "release", reason: `the worker failed: ${String(error)}` });
    } finally {
      clearInterval(worker.heart);
    }
  }

  async function claimOrWait(worker: Worker): Promise<Claim | undefined> {
    while (!worker.stop.signal.aborted) {
      const began = performance.now();
      const claim = await tasks.claim(worker.id, run);
      const took = performance.now() - began;
      if (claim) {
        claimTimes.push(took);
        if (claimTimes.length > keptSamples) claimTimes.shift();
        counts.idleMs += took;
        return claim;
      }
      await somethingChanges(worker.stop.signal);
    }
    return undefined;
  }

  function somethingChanges(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        waiters.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, recheckMs);
      waiters.add(done);
      signal.addEventListener("abort", done);
      if (signal.aborted) done();
    });
  }

  /** A lease that cannot be renewed has gone to another: the work is stopped, its result would be refused. */
  async function beat(claim: Claim, worker: Worker): Promise<void> {
    const renewed: Result<unknown> | undefined = await tasks
      .renew(claim.task.id, claim.epoch, leaseMs)
      .catch(() => undefined);
    if (renewed && !renewed.ok) worker.stop.abort();
  }

  async function settle(claim: Claim, worker: Worker, step: Step): Promise<void> {
    const storing = tasks.step(claim.task.id, step, worker.id, claim.epoch);
    if (!worker.storing) counts.busyMs += Date.now() - worker.since;
    worker.storing = true;
    fill();
    const stored: Result<Task> = await storing;
    if (!stored.ok) counts.late++;
    else if (step.type !== "release") counts.done++;
  }

  /** From a worker that does not listen: whatever it still brings comes too late. */
  async function takeAway(worker: Worker): Promise<void> {
    clearInterval(worker.heart);
    workers.delete(worker.id);
    const reason = "the work did not end when it was asked to";
    if (worker.claim) await settle(worker.claim, worker, { type: "release", reason });
  }

  const scale = (n: number) => {
    target = Math.max(0, n);
    fill();
    const tooMany = Math.max(0, inPlace().length - target);
    const idle = inPlace().filter((worker) => worker.claim === undefined);
    for (const worker of idle.slice(0, tooMany)) worker.stop.abort();
  };

  return {
    spawn: (n: number) => scale(target + n),
    scale,

    healthCheck: () => ({
      healthy: inPlace().length >= target,
      workers: [...workers.values()].map(({ id, claim, since }) => ({
        id,
        task: claim?.task.id ?? null,
        sinceMs: Date.now() - since,
      })),
    }),

    metrics(): PoolMetrics {
      const sorted = [...claimTimes].sort((a, b) => a - b);
      const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
      const total = counts.idleMs + counts.busyMs;
      return {
        workers: inPlace().length,
        busy: inPlace().filter((worker) => worker.claim !== undefined).length,
        done: counts.done,
        failed: counts.failed,
        late: counts.late,
        claimMs: { p50: at(0.5), p99: at(0.99) },
        idleShare: total === 0 ? 0 : counts.idleMs / total,
      };
    },

    /** Lets what runs finish for `deadlineMs`, then asks it to stop; what does not is handed back. */
    async stop(deadlineMs: number): Promise<void> {
      target = 0;
      const living = [...workers.values()];
      for (const worker of living) if (worker.claim === undefined) worker.stop.abort();
      const all = Promise.all(living.map((worker) => worker.ended));
      if (!(await within(all, deadlineMs))) {
        for (const worker of living) worker.stop.abort();
        if (!(await within(all, lastWordMs))) await Promise.all([...workers.values()].map(takeAway));
      }
      unsubscribe();
    },
  };
}

export type WorkerPool = ReturnType<typeof workerPool>;

/** Whether it came to its end in time. */
async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((done) => {
    timer = setTimeout(() => done(false), ms);
  });
  return Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer));
}
