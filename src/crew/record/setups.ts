import type { DestinationUse } from "../../kernel/destination-use.ts";
import { appendEvent } from "../../store/events.ts";
import {
  deleteUnfinishedSetups,
  type EndedSetup,
  endSetup,
  insertSetup,
  type SetupRecord,
} from "../../store/queries/setups.ts";
import type { CrewApp } from "./crew-app.ts";
import type { SetupSpec } from "./setup-spec.ts";

export type SetupStart = { run: string; task: string | null; spec: SetupSpec };
export type SetupEnd = {
  state: "installed" | "reused" | "failed";
  bytes?: number;
  files?: number;
  error?: string;
  destinations?: DestinationUse[];
};

/** Records that a setup starts; returns how to record its end. */
export async function recordSetup(
  { db, now, newId }: CrewApp,
  { run, task, spec }: SetupStart,
  actor: string,
): Promise<(end: SetupEnd) => Promise<void>> {
  const at = now().toISOString();
  const id = newId("setup");
  const subject = `run:${run}`;
  const commands = spec.commands.map((command) => [...command]);
  const row: SetupRecord = {
    ...{ id, run_id: run, task_id: task, hash: spec.hash, commands, origin: spec.origin, state: "running" },
    ...{ started_at: at, ended_at: null, bytes: null, files: null, error: null, destinations: [] },
  };
  await db.write(async (tx) => {
    await deleteUnfinishedSetups(tx, run, spec.hash);
    await insertSetup(tx, row);
    const data = { setup: id, task, hash: spec.hash, commands, origin: spec.origin };
    await appendEvent(tx, { at, actor, kind: "run-setup-started", subject, data });
  });
  return async (end) => {
    const ended_at = now().toISOString();
    const { state, bytes, files, error, destinations }: Omit<EndedSetup, "ended_at"> = { ...nothing, ...end };
    await db.write(async (tx) => {
      await endSetup(tx, id, { state, ended_at, bytes, files, error, destinations });
      const data = { setup: id, task, state, bytes, files, error };
      await appendEvent(tx, { at: ended_at, actor, kind: "run-setup-finished", subject, data });
    });
  };
}

const nothing = { bytes: null, files: null, error: null, destinations: [] };
