import { monitorEventLoopDelay } from "node:perf_hooks";

const resolutionMs = 10;

/** Measures for how long the event loop was blocked, which is how long every other request waits. */
export function openLoopDelay() {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  histogram.enable();
  // The histogram has the time between two ticks of its timer: subtract the interval of the timer itself.
  const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - resolutionMs / 1e3);
  return {
    /** In seconds, since the last call. */
    take() {
      const delay = { worst: seconds(histogram.max), p99: seconds(histogram.percentile(99)) };
      histogram.reset();
      return delay;
    },
    close: () => histogram.disable(),
  };
}

export type LoopDelay = ReturnType<ReturnType<typeof openLoopDelay>["take"]>;
