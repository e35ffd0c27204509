import { AsyncLocalStorage } from "node:async_hooks";
import type { Log } from "../log.ts";
import { builtFile } from "../package-files.ts";
import { ok, type Result, refuse } from "../result.ts";
import { type PoolCounts, threadPool } from "./thread-pool.ts";

/**
 * A pure function that may take long: comparing, merging, finding passages. It has a name because a thread gets data
 * only; `src/thread-tasks.ts` lists them all.
 */
export type ThreadTask<I, O> = {
  name: string;
  /** What it does, for the error when it takes too long: "comparing the two texts". */
  doing: string;
  /** What to do about it. */
  remedy?: string;
  /** The size of the work in characters: small work is done at once, because passing it to a thread takes longer. */
  size(input: I): number;
  run(input: I): O;
};

export type ThreadRequest = { name: string; input: unknown };

export type Threads = {
  /** Refused when it takes longer than the time limit or more memory than a thread has. */
  run<I, O>(task: ThreadTask<I, O>, input: I): Promise<Result<O>>;
  counts(): PoolCounts;
  close(): Promise<void>;
};

/** The client that waits for work; `signal` aborts when it disconnects. */
type Requester = { client: string; signal: AbortSignal };

const requesters = new AsyncLocalStorage<Requester>();

/** Cancels thread work that `work` starts when the client disconnects, and gives each client the same share of threads. */
export const onBehalfOf = <T>(requester: Requester, work: () => Promise<T>): Promise<T> =>
  requesters.run(requester, work);

/** Work of this size takes a few milliseconds. */
const smallWork = 16_000;

/** Runs tasks in worker threads, so that no request delays another one. Threads start when there is work for them. */
export function openThreads(log: Log): Threads {
  let pool: ReturnType<typeof threadPool<ThreadRequest, unknown>> | undefined;
  return {
    async run<I, O>(task: ThreadTask<I, O>, input: I): Promise<Result<O>> {
      const { client, signal } = requesters.getStore() ?? { client: task.name, signal: new AbortController().signal };
      if (task.size(input) <= smallWork && !signal.aborted) return ok(task.run(input));
      pool ??= threadPool({ file: builtFile("text-worker.js"), log, messageFor: (request) => request });
      const outcome = await pool.run({ name: task.name, input }, { client, request: {} }, signal);
      if (outcome.kind === "done") return ok(outcome.answer as O);
      if (outcome.kind === "cancelled") return refuse("refused", `${task.doing} was cancelled; try again`);
      return refuse(
        "refused",
        `${task.doing} ${troubles[outcome.kind]}; ${task.remedy ?? "make the text smaller or change less of it at once"}`,
      );
    },
    counts: () => pool?.counts() ?? { ...none },
    close: async () => pool?.close(),
  };
}

const troubles = {
  slow: "takes too long",
  memory: "takes too much memory",
  failed: "failed",
};

const none: PoolCounts = { threads: 0, running: 0, waiting: 0, done: 0, slow: 0, memory: 0, failed: 0, cancelled: 0 };
