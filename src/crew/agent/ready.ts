import { findSandbox } from "../../agents/sandbox.ts";
import type { CrewPart } from "../../kernel/caller.ts";
import { ok, type Result } from "../../kernel/result.ts";
import type { Staff } from "./staff.ts";

/** The parts that execute a plan. */
export const executingParts = ["preamble", "worker", "qc"] as const satisfies CrewPart[];

/** What planning needs and what executing the plan will need, before the first call is paid for (W17). */
export async function checkBeforePlanning(staff: Staff, parts: readonly CrewPart[]): Promise<Result<true>> {
  const ready = checkReady(staff, [...parts, ...executingParts]);
  if (!ready.ok) return ready;
  const { crew, environment } = staff.app.config;
  const sandbox = await findSandbox(crew.sandbox, environment);
  return sandbox.ok ? ok(true) : sandbox;
}

/** Refuses to start parts whose program or key is missing, before a run is created or started for them. */
export function checkReady({ app, agents }: Staff, parts: readonly CrewPart[]): Result<true> {
  for (const part of parts) {
    const playing = agents(part);
    if (!playing.ok) return playing;
    const { runner, model, env } = playing.value;
    const ready = runner.check?.({ model, env, cwd: app.config.root }) ?? ok(true);
    if (!ready.ok) return ready;
  }
  return ok(true);
}
