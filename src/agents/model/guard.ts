import type { RunSpec } from "../runner.ts";

type Why = "timeout" | "idle";

/** One signal for the caller's abort, the time limit and the idle limit. */
export function guarded({ limits }: RunSpec, outer: AbortSignal) {
  const inner = new AbortController();
  let reason: Why | undefined;
  const end = (why: Why) => {
    reason ??= why;
    inner.abort();
  };
  let left = limits.wallMs;
  let since = performance.now();
  let wall = setTimeout(end, left, "timeout");
  let idle: NodeJS.Timeout | undefined;
  const alive = () => {
    clearTimeout(idle);
    if (limits.idleMs !== undefined) idle = setTimeout(end, limits.idleMs, "idle");
  };
  alive();
  return {
    signal: AbortSignal.any([inner.signal, outer]),
    alive,
    /** Stops both clocks while the provider is out of service: the agent does not work then. */
    async paused<T>(wait: () => Promise<T>): Promise<T> {
      clearTimeout(wall);
      clearTimeout(idle);
      left -= performance.now() - since;
      try {
        return await wait();
      } finally {
        since = performance.now();
        wall = setTimeout(end, Math.max(0, left), "timeout");
        alive();
      }
    },
    reason: (): Why | "stopped" | undefined => (outer.aborted ? "stopped" : reason),
    done() {
      clearTimeout(wall);
      clearTimeout(idle);
    },
  };
}

export type Guard = ReturnType<typeof guarded>;
