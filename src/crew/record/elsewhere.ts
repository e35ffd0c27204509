import { processName } from "../../kernel/process-name.ts";
import { type Result, refuse } from "../../kernel/result.ts";

export const isOurs = (carrier: string) => carrier.startsWith(`${processName()}/`);

export const hostOf = (carrier: string) => carrier.split(":", 1)[0] ?? carrier;

/** Refuses a write of a planner when another process plans the run since. */
export function refuseElsewhere(run: string, carrier: string | null): Result<never> | undefined {
  if (carrier === null || carrier === "" || isOurs(carrier)) return undefined;
  return refuse("conflict", `another process plans run ${run} now (${hostOf(carrier)}); nothing was saved`);
}
