import type { CrewApp } from "../record/crew-app.ts";
import { setupOf } from "../record/setup-spec.ts";
import { cacheNames } from "../rules/setup.ts";
import { setupCache, setupsFolder } from "./install/cache.ts";

export type PlannedSetup = { commands: string[][]; origin: string; is_installed: boolean };

/** The setup that executing a run would start with; null if there is none. */
export async function plannedSetup(app: CrewApp, id: string): Promise<PlannedSetup | null> {
  const run = await app.runs.find(id);
  const commit = (await app.packs.acceptedHere(id)) ?? (await app.git.head()).commit;
  const spec = commit && (await setupOf(app, run?.plan ?? null, commit));
  if (!spec) return null;
  const cache = setupCache(setupsFolder(app.config.stateFolder));
  const found = await Promise.all(cacheNames(spec.hash, { kind: "accepted", run: id }).map((name) => cache.find(name)));
  const commands = spec.commands.map((command) => [...command]);
  return { commands, origin: spec.origin, is_installed: found.some((one) => one !== undefined) };
}
