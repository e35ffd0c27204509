import type { Database } from "../store/database.ts";
import { watchChanges } from "../store/wait-for-change.ts";

/** One piece of work on one task. */
export type Job = {
  task: string;
  /** How long the claim took; left out for work that needs no claim of a ready task. */
  claimMs?: number | undefined;
  /** `storing` frees the worker's place before the result is stored, so that its successor's claim can share the transaction. */
  run(signal: AbortSignal, storing: () => void): Promise<JobResult>;
  /** Takes the task away from work that does not stop when its signal aborts. */
  abandon?(): Promise<JobResult>;
};

/** `late`: the claim had gone to another, and the result was refused. `released`: the task was handed back. */
export type JobResult = "done" | "failed" | "late" | "released";

/** `healthy`: there are as many workers as were asked for. */
export type PoolHealth = { healthy: boolean; workers: { id: string; task: string | null; sinceMs: number }[] };

export type PoolMetrics = {
  workers: number;
  busy: number;
  claims: number;
  done: number;
  failed: number;
  late: number;
  claimMs: { p50: number; p99: number };
  /** Time that workers waited while there was work for them. */
  idleMs: number;
  busyMs: number;
  /** Idle time as a share of idle and busy time. */
  idleShare: number;
};

type Options = {
  db: Pick<Database, "onChange">;
  /** The name of the nth worker. */
  workerName(n: number): string;
  /** The next job for a worker, or undefined when there is none now. */
  next(worker: string, signal: AbortSignal): Promise<Job | undefined>;
  /** Told of each error that a job throws. */
  onError?(error: unknown, job: Job): void | Promise<void>;
};

type Worker = {
  id: string;
  stop: AbortController;
  job: Job | undefined;
  since: number;
  /** Its work is done and its result is being stored; another worker has its place. */
  storing: boolean;
  ended: Promise<void>;
};

/** Polls as well as waiting for changes: an expired lease changes no row. */
const recheckMs = 2000;
/** How long an aborted job may take to end before its task is taken away. */
const abortMs = 1000;
const maxSamples = 10_000;

/**
 * Workers that get a job, run it, store its result and end; every job gets a fresh worker (O13). Idle
 * workers wait for a change of the database. Everything runs on this pool: `execute`, `work` and the
 * library's crew with the stages of runs (`openStagePool`), `workerPool` with the caller's own function.
 */
export function jobPool({ db, workerName, next, onError }: Options) {
  const changes = watchChanges(db);
  const workers = new Map<string, Worker>();
  const claimTimes: number[] = [];
  const counts = { claims: 0, done: 0, failed: 0, late: 0, released: 0, idleMs: 0, busyMs: 0 };
  let target = 0;
  let started = 0;

  function start(): void {
    const id = workerName(++started);
    const worker: Worker = {
      id,
      stop: new AbortController(),
      job: undefined,
      since: Date.now(),
      storing: false,
      ended: Promise.resolve(),
    };
    workers.set(id, worker);
    worker.ended = live(worker)
      .catch(async () => {
        // The store did not answer: the next worker asks again, but not at once.
        counts.failed++;
        await changes.after(changes.count(), recheckMs, worker.stop.signal);
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

  /** The life of a worker: at most one job. */
  async function live(worker: Worker): Promise<void> {
    const job = await nextOrWait(worker);
    if (!job) return;
    worker.job = job;
    worker.since = Date.now();
    const storing = () => {
      if (worker.storing) return;
      counts.busyMs += Date.now() - worker.since;
      worker.storing = true;
      fill();
    };
    try {
      counts[await job.run(worker.stop.signal, storing)]++;
    } catch (error) {
      counts.failed++;
      await onError?.(error, job);
    } finally {
      storing();
    }
  }

  async function nextOrWait(worker: Worker): Promise<Job | undefined> {
    const { signal } = worker.stop;
    while (!signal.aborted) {
      const seen = changes.count();
      const began = performance.now();
      const job = await next(worker.id, signal);
      if (job) {
        counts.idleMs += performance.now() - began;
        if (job.claimMs !== undefined) sample(job.claimMs);
        return job;
      }
      await changes.after(seen, recheckMs, signal);
    }
    return undefined;
  }

  function sample(ms: number): void {
    counts.claims++;
    claimTimes.push(ms);
    if (claimTimes.length > maxSamples) claimTimes.shift();
  }

  const scale = (n: number) => {
    target = Math.max(0, n);
    fill();
    const tooMany = Math.max(0, inPlace().length - target);
    const idle = inPlace().filter((worker) => worker.job === undefined);
    for (const worker of idle.slice(0, tooMany)) worker.stop.abort();
  };

  /** Takes the task from a worker that does not end; its result will come too late. */
  async function abandon(worker: Worker): Promise<void> {
    workers.delete(worker.id);
    const result = await worker.job?.abandon?.();
    if (result) counts[result]++;
  }

  return {
    spawn: (n: number) => scale(target + n),
    scale,

    healthCheck: (): PoolHealth => ({
      healthy: inPlace().length >= target,
      workers: [...workers.values()].map(({ id, job, since }) => ({
        id,
        task: job?.task ?? null,
        sinceMs: Date.now() - since,
      })),
    }),

    metrics(): PoolMetrics {
      const sorted = [...claimTimes].sort((a, b) => a - b);
      const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
      const { claims, done, failed, late, idleMs, busyMs } = counts;
      const total = idleMs + busyMs;
      return {
        workers: inPlace().length,
        busy: inPlace().filter((worker) => worker.job !== undefined).length,
        claims,
        done,
        failed,
        late,
        claimMs: { p50: at(0.5), p99: at(0.99) },
        idleMs,
        busyMs,
        idleShare: total === 0 ? 0 : idleMs / total,
      };
    },

    /** Starts nothing new and resolves when all jobs have ended. */
    async drain(): Promise<void> {
      scale(0);
      await Promise.all([...workers.values()].map((worker) => worker.ended));
      changes.close();
    },

    /** Lets jobs finish for `deadlineMs`, then aborts them; tasks of jobs that do not end are taken away. */
    async stop(deadlineMs: number): Promise<void> {
      scale(0);
      const living = [...workers.values()];
      const all = Promise.all(living.map((worker) => worker.ended));
      if (!(await endsWithin(all, deadlineMs))) {
        for (const worker of living) worker.stop.abort();
        if (!(await endsWithin(all, abortMs))) await Promise.all([...workers.values()].map(abandon));
      }
      changes.close();
    },
  };
}

async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<false>((done) => {
    timer = setTimeout(() => done(false), ms);
  });
  return Promise.race([work.then(() => true), timeout]).finally(() => clearTimeout(timer));
}
