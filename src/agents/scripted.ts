import type { Runner, RunResult, RunSpec } from "./runner.ts";
import { unknownUsage } from "./runner.ts";

/** The behaviour of a scripted agent: it calls tools and returns its result. */
export type Script = (spec: RunSpec, signal: AbortSignal) => Promise<Partial<RunResult> | undefined>;

/** An agent that is a function in this process, for tests and the demo. Its time limit applies. */
export function scriptedRunner(script: Script): Runner {
  return {
    name: "scripted",
    async run(spec, signal) {
      const startedAt = Date.now();
      const over = new AbortController();
      const stop = () => over.abort();
      signal.addEventListener("abort", stop, { once: true });
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<Partial<RunResult>>((done) => {
        timer = setTimeout(() => done({ exitCode: null, ended: "timeout" }), spec.limits.wallMs);
        over.signal.addEventListener("abort", () => done({ exitCode: null, ended: "stopped" }), { once: true });
        if (signal.aborted) stop();
      });
      const acting = script(spec, over.signal).then(
        (said) => said ?? {},
        (error: Error): Partial<RunResult> => ({ exitCode: 1, errorTail: error.message, error: error.message }),
      );
      const said = await Promise.race([acting, late]);
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      over.abort();
      return {
        exitCode: 0,
        errorTail: "",
        ended: "exit",
        usage: unknownUsage,
        costUsd: null,
        ...said,
        durationMs: Date.now() - startedAt,
      };
    },
  };
}
