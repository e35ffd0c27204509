import type { CrewPart } from "../../kernel/caller.ts";
import { ok, type Result } from "../../kernel/result.ts";
import type { Staff } from "./staff.ts";

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
