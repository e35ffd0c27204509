import type { Database } from "./database.ts";

/**
 * Waits for changes of the database without losing one that happens between a look and the wait:
 *
 *   const seen = changes.count();
 *   if (!(await lookForWork())) await changes.after(seen, 2000, signal);
 */
export function watchChanges(db: Pick<Database, "onChange">) {
  const waiting = new Set<() => void>();
  let count = 0;
  const wake = () => {
    for (const resume of [...waiting]) resume();
  };
  const unsubscribe = db.onChange(() => {
    count++;
    wake();
  });
  return {
    /** The number of changes so far. */
    count: () => count,
    /** Resumes everything that waits, without a change. */
    wake,
    /** Resolves at a change after `seen`, at `wake`, after `ms`, or when the signal aborts. */
    after(seen: number, ms: number, signal?: AbortSignal): Promise<void> {
      if (count !== seen || signal?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const resume = () => {
          clearTimeout(timer);
          waiting.delete(resume);
          signal?.removeEventListener("abort", resume);
          resolve();
        };
        const timer = setTimeout(resume, ms);
        waiting.add(resume);
        signal?.addEventListener("abort", resume);
      });
    },
    close: unsubscribe,
  };
}

export type Changes = ReturnType<typeof watchChanges>;
