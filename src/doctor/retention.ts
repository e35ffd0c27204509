import { lstat, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { cleanEnded } from "../crew/clean.ts";
import type { CrewApp } from "../crew/record/crew-app.ts";
import { operation } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { archivable, archiveEvents } from "../store/archive-events.ts";
import { maintain, needsMaintenance } from "../store/git/maintain.ts";

export const applyRetention = operation({
  name: "apply_retention",
  summary:
    "Pack and delete what is older than `retention` in scriptorium.yaml allows, and pack git's objects. Servers do it once an hour.",
  effect: "destroys",
  touches: ["run"],
  callers: ["admin"],
  group: "admin",
  http: { method: "post", path: "/retention" },
  input: z.object({ dry_run: z.boolean().default(false).describe("Only tell what would be done") }),
  output: z.object({
    applied: z.boolean().describe("False for a dry run"),
    archived_events: z.int().describe("Events that moved into archives of the database"),
    deleted_logs: z.int(),
    log_bytes: z.int().describe("Size of the deleted logs"),
    cleaned_runs: z.array(z.string()).describe("Runs of which checkouts, branches or git packs were deleted"),
    git_maintained: z.boolean().describe("Whether `git gc` packed the repository"),
  }),
  run: async (app: CrewApp, { dry_run: dryRun }) => ok(await applyPolicy(app, { dryRun })),
});

type Done = {
  applied: boolean;
  archived_events: number;
  deleted_logs: number;
  log_bytes: number;
  cleaned_runs: string[];
  git_maintained: boolean;
};

/** What a policy leaves out stays for ever. Everything here may be repeated, and run by several servers at once. */
export async function applyPolicy(
  app: CrewApp,
  { dryRun, isStopped = () => false }: { dryRun: boolean; isStopped?: () => boolean },
): Promise<Done> {
  const { events_days, logs_days, runs_days } = app.config.retention;
  const before = (days: number) => new Date(app.now().getTime() - days * 24 * 60 * 60_000).toISOString();
  const events =
    events_days === undefined
      ? 0
      : await (dryRun ? archivable : archiveEvents)(app.db, { before: before(events_days), isStopped });
  const logs = logs_days === undefined ? { count: 0, bytes: 0 } : await deleteLogs(app, before(logs_days), dryRun);
  const runs = runs_days === undefined ? [] : await cleanEnded(app, before(runs_days), { dryRun });
  const isDue = !isStopped() && (await needsMaintenance(app.git));
  if (isDue && !dryRun) await maintain(app.git);
  return {
    applied: !dryRun,
    archived_events: events,
    deleted_logs: logs.count,
    log_bytes: logs.bytes,
    cleaned_runs: runs,
    git_maintained: isDue,
  };
}

/** Files named as logs of agents are, in the folder itself: what else lies there is not ours. */
async function deleteLogs({ config }: CrewApp, before: string, dryRun: boolean) {
  const folder = config.agent?.logDir ?? join(config.stateFolder, "agent-logs");
  const found = { count: 0, bytes: 0 };
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (!entry.isFile() || !entry.name.endsWith(".log")) continue;
    const path = join(folder, entry.name);
    const stat = await lstat(path).catch(() => undefined);
    if (!stat || stat.mtime.toISOString() >= before) continue;
    if (!dryRun) await unlink(path).catch(() => undefined);
    found.count++;
    found.bytes += stat.size;
  }
  return found;
}
