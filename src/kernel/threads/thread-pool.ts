import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Log } from "../log.ts";
import { cpuTimeOf } from "./cpu-time.ts";
import { fairQueue, type Lane } from "./fair-queue.ts";

/** `slow` and `memory`: the thread was stopped at its limit. `cancelled`: nobody waits for the answer. */
export type Outcome<A> = { kind: "done"; answer: A } | { kind: "slow" | "memory" | "failed" | "cancelled" };

type Limits = {
  threads: number;
  heapMb: number;
  /** The most CPU time for one job, or the longest time where CPU time cannot be read. */
  jobMs: number;
  /** The longest time for one job, also on a machine that is busy with other things. */
  wallMs: number;
  /** A cancelled job may finish within this time from its start; starting a thread again costs more. */
  graceMs: number;
  /** All threads but one end after this time without a job. */
  idleMs: number;
};

/** CPU time is counted in steps of this size. */
const shortestMs = 10;

/** At least two threads, so that one client cannot take all. */
export const defaultLimits: Limits = {
  threads: Math.max(2, Math.min(4, availableParallelism())),
  heapMb: 512,
  jobMs: 4_000,
  wallMs: 40_000,
  graceMs: 250,
  idleMs: 30_000,
};

type Job<Q, A> = Lane & {
  question: Q;
  signal: AbortSignal;
  settle(outcome: Outcome<A>): void;
};

type Thread<Q, A> = {
  worker: Worker;
  state: "starting" | "idle" | "busy" | "ending";
  job?: Job<Q, A>;
  /** Its number in the system, for its CPU time. */
  number: string | undefined;
  startedAt: number;
  /** Its CPU time when its job started. */
  cpuBefore: number | undefined;
  clock?: NodeJS.Timeout;
  /** Data that the thread has received and keeps. */
  memory: Map<string, string>;
};

export type PoolCounts = { threads: number; running: number; waiting: number } & Record<Outcome<never>["kind"], number>;

type Setup<Q> = {
  file: URL;
  log: Log;
  /** The message for a thread: data that it has already need not be sent again. */
  messageFor(question: Q, memory: Map<string, string>): unknown;
  limits?: Limits;
};

/**
 * Runs jobs in worker threads, one per thread at a time, in the order of a fair queue. A client never occupies the
 * last thread. A thread whose job exceeds its time or memory is stopped and replaced; so is one whose job nobody
 * waits for.
 */
export function threadPool<Q, A>({ file, log, messageFor, limits = defaultLimits }: Setup<Q>) {
  const queue = fairQueue<Job<Q, A>>();
  const threads = new Set<Thread<Q, A>>();
  const counts = { done: 0, slow: 0, memory: 0, failed: 0, cancelled: 0 };
  let isClosed = false;

  const inState = (state: Thread<Q, A>["state"]) => [...threads].filter((thread) => thread.state === state);
  const runningOf = (client: string) => inState("busy").filter(({ job }) => job?.client === client).length;
  const mayRun = (client: string) => runningOf(client) < limits.threads - 1;

  function start(): void {
    const worker = new Worker(file, { resourceLimits: { maxOldGenerationSizeMb: limits.heapMb } });
    const thread: Thread<Q, A> = {
      ...{ worker, state: "starting", startedAt: 0, memory: new Map() },
      ...{ number: undefined, cpuBefore: undefined },
    };
    let why: "memory" | "failed" = "failed";
    threads.add(thread);
    worker.unref();
    worker.on("message", (message: { ready: true; thread?: string } | { answer: A } | { error: string }) => {
      if ("ready" in message) {
        thread.number = message.thread;
        rest(thread);
      } else if ("answer" in message) finish(thread, { kind: "done", answer: message.answer });
      else {
        log.warn({ error: message.error }, "thread-job-failed");
        finish(thread, { kind: "failed" });
      }
    });
    worker.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ERR_WORKER_OUT_OF_MEMORY") why = "memory";
      log.warn({ error: String(error) }, "thread-failed");
    });
    worker.on("exit", () => {
      clearTimeout(thread.clock);
      threads.delete(thread);
      thread.job?.settle({ kind: why });
      dispatch();
    });
  }

  /** Waits for the next job. */
  function rest(thread: Thread<Q, A>): void {
    thread.state = "idle";
    thread.clock = setTimeout(() => {
      if (threads.size - inState("ending").length > 1) end(thread);
    }, limits.idleMs).unref();
    dispatch();
  }

  function finish(thread: Thread<Q, A>, outcome: Outcome<A>): void {
    if (thread.state !== "busy") return;
    clearTimeout(thread.clock);
    thread.job?.settle(outcome);
    delete thread.job;
    rest(thread);
  }

  /** Stops the thread. It counts until it has exited, so that there are never more than the limit. */
  function end(thread: Thread<Q, A>, outcome?: Outcome<A>): void {
    clearTimeout(thread.clock);
    thread.state = "ending";
    if (outcome) thread.job?.settle(outcome);
    delete thread.job;
    void thread.worker.terminate();
  }

  const cpuOf = ({ number }: Thread<Q, A>) => (number === undefined ? undefined : cpuTimeOf(number));

  /** Stops the thread when its job has used its time. On a busy machine that takes longer than the CPU time it had. */
  function watchTime(thread: Thread<Q, A>, ms: number): void {
    thread.clock = setTimeout(() => {
      const [now, before] = [cpuOf(thread), thread.cpuBefore];
      const used = performance.now() - thread.startedAt;
      const left = Math.min(
        limits.jobMs - (now === undefined || before === undefined ? used : now - before),
        limits.wallMs - used,
      );
      if (left <= 0) end(thread, { kind: "slow" });
      else watchTime(thread, Math.max(left, shortestMs));
    }, ms);
  }

  function dispatch(): void {
    while (!isClosed && queue.size > 0) {
      const [thread] = inState("idle");
      if (!thread) break;
      const job = queue.next(mayRun);
      if (!job) break;
      clearTimeout(thread.clock);
      thread.state = "busy";
      thread.job = job;
      thread.startedAt = performance.now();
      thread.cpuBefore = cpuOf(thread);
      watchTime(thread, limits.jobMs);
      thread.worker.postMessage(messageFor(job.question, thread.memory));
    }
    const wanted = Math.min(queue.size - inState("starting").length, limits.threads - threads.size);
    for (let n = 0; n < wanted && !isClosed; n++) start();
  }

  function cancel(job: Job<Q, A>): void {
    queue.remove(job);
    job.settle({ kind: "cancelled" });
    const thread = inState("busy").find((busy) => busy.job === job);
    if (!thread) return;
    clearTimeout(thread.clock);
    const left = limits.graceMs - (performance.now() - thread.startedAt);
    thread.clock = setTimeout(() => end(thread), Math.max(0, left));
  }

  return {
    /** `signal` cancels the job: it leaves the queue, or its thread is stopped. */
    run(question: Q, lane: Lane, signal: AbortSignal): Promise<Outcome<A>> {
      return new Promise((resolve) => {
        let isSettled = false;
        const job: Job<Q, A> = {
          ...lane,
          question,
          signal,
          settle(outcome) {
            if (isSettled) return;
            isSettled = true;
            counts[outcome.kind]++;
            resolve(outcome);
          },
        };
        if (signal.aborted || isClosed) return job.settle({ kind: "cancelled" });
        signal.addEventListener("abort", () => cancel(job), { once: true });
        queue.add(job);
        dispatch();
      });
    },
    /** Whether a thread has been started. */
    isWarm: () => threads.size > 0,
    counts: (): PoolCounts => ({
      threads: threads.size,
      running: inState("busy").length,
      waiting: queue.size,
      ...counts,
    }),
    async close() {
      isClosed = true;
      for (let job = queue.next(() => true); job; job = queue.next(() => true)) job.settle({ kind: "cancelled" });
      await Promise.all(
        [...threads].map((thread) => {
          thread.job?.settle({ kind: "cancelled" });
          return thread.worker.terminate();
        }),
      );
    },
  };
}
