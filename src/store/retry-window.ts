import { AsyncLocalStorage } from "node:async_hooks";

/** How long work waits for a database that was lost, where that is longer than `postgresql.retry_timeout`. */
export type RetryWindow = {
  ms: number;
  /** Ends the window early. */
  signal: AbortSignal;
  /** Called once in each outage that lasts longer than `retry_timeout`. */
  onWait(): void;
};

const windows = new AsyncLocalStorage<RetryWindow>();

/**
 * Calls to the database that `work` makes, directly or later, are retried for the length of the window. An agent was
 * paid for when its result is written, so that work of agents outlasts a failover, and a request does not.
 */
export const withRetryWindow = <T>(window: RetryWindow, work: () => T): T => windows.run(window, work);

export const retryWindow = (): RetryWindow | undefined => windows.getStore();
