import type { Database } from "./database.ts";

/**
 * Waits for changes of the database without missing one. Call `expect`, then read; `next` resolves at once if
 * something changed since `expect`:
 *
 *   while (!stopped) {
 *     changes.expect();
 *     await readAndWork();
 *     await changes.next(5000);
 *   }
 */
export function changeWaiter({ onChange }: Pick<Database, "onChange">) {
  let hasChanged = false;
  let isClosed = false;
  let wake: () => void = () => undefined;
  const unsubscribe = onChange(() => {
    hasChanged = true;
    wake();
  });
  return {
    expect(): void {
      hasChanged = false;
    },
    /** Resolves at the next change, after `timeoutMs`, or when closed. */
    next: (timeoutMs: number) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        if (hasChanged || isClosed) wake();
      }),
    close(): void {
      isClosed = true;
      unsubscribe();
      wake();
    },
  };
}
