import { NoAnswer } from "./errors.ts";
import type { Limits } from "./limits.ts";

type Watched = { destroy(error: Error): void; cancelQuery(): void };
type Running = { client: Watched; since: number; limitMs: number };

/** After the limit the server has this long to say that it cancelled the statement. */
const graceMs = 5000;
const sweepMs = 500;

/**
 * Ends the wait for answers that will not come. When packets are dropped, the kernel reports nothing for a quarter
 * of an hour. So a query that takes long is a reason to probe the server on a new connection: without an answer
 * there, all waiting connections are closed. A query that is just slow has until its time limit.
 */
export function openWatchdog({ connectMs, statementMs }: Limits, probe: () => Promise<unknown>) {
  const running = new Set<Running>();
  let timer: NodeJS.Timeout | undefined;
  let isProbing = false;
  let answeredAt = performance.now();

  function sweep() {
    if (running.size === 0) {
      clearInterval(timer);
      timer = undefined;
      return;
    }
    const now = performance.now();
    for (const one of running) {
      if (now - one.since > one.limitMs + graceMs) {
        running.delete(one);
        one.client.cancelQuery();
        one.client.destroy(new NoAnswer(Math.round((one.limitMs + graceMs) / 1000)));
      } else if (!isProbing && now - Math.max(one.since, answeredAt) > connectMs) void ask();
    }
  }

  async function ask() {
    isProbing = true;
    const since = performance.now();
    try {
      await probe();
    } catch {
      for (const one of [...running]) {
        if (one.since > since) continue;
        running.delete(one);
        one.client.destroy(new NoAnswer(Math.round((performance.now() - one.since) / 1000)));
      }
    }
    answeredAt = performance.now();
    isProbing = false;
  }

  return {
    /** Watches a query until the returned function is called. */
    watch(client: Watched, limitMs = statementMs): () => void {
      const one = { client, since: performance.now(), limitMs };
      running.add(one);
      timer ??= setInterval(sweep, sweepMs).unref();
      return () => running.delete(one);
    },
    stop() {
      clearInterval(timer);
      running.clear();
    },
  };
}

export type Watchdog = ReturnType<typeof openWatchdog>;
