import { type Result, refuse } from "../../kernel/result.ts";
import { storageProblem } from "../../kernel/storage-problem.ts";
import { carriedRun, carrierOf, keepCarrying, stepAsCarrier } from "../record/carrier.ts";
import type { CrewApp } from "../record/crew-app.ts";

/** `serving`: stopped, it hands its work over to the next server. */
export type Planning = { by: string; signal: AbortSignal; serving: boolean };

/** Plans or researches a run under the lease that this process has on it; a failure fails the run. */
export async function carryPlanning(
  app: CrewApp,
  run: string,
  { by, signal, serving, kind }: Planning & { kind: "planner" | "researcher" },
  work: (signal: AbortSignal) => Promise<Result<true>>,
): Promise<Result<true>> {
  const carrier = carrierOf(kind);
  const lease = keepCarrying(app, carriedRun(run, "planning", carrier));
  try {
    const done = await work(AbortSignal.any([signal, lease.lost])).catch(refuseUnlessOutage(app, { run }));
    if (done.ok) return done;
    const { message } = done.problem;
    if (signal.aborted && serving) await lease.handOver();
    else if (!lease.lost.aborted) await stepAsCarrier(app, run, carrier, { type: "fail", reason: message }, by);
    return refuse("refused", `${message} (${run})`, { run });
  } finally {
    lease.end();
  }
}

/** An error other than an outage of the database ends the planning: whoever repeated it would pay for it again. */
export const refuseUnlessOutage =
  (app: CrewApp, about: Record<string, string>) =>
  (error: unknown): Result<never> => {
    if (storageProblem(error)?.details?.reason === "unavailable") throw error;
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    app.log.error({ ...about, error: message, stack }, "planning-failed");
    return refuse("refused", `planning failed: ${message}`);
  };
