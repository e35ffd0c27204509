import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { HeldFile } from "../../store/crew-tables.ts";
import { appendEvent } from "../../store/events.ts";
import { decideHeld, findHeld, type HeldFiles, insertHeld } from "../../store/queries/held-files.ts";
import type { CrewApp } from "./crew-app.ts";
import { hashOf } from "./facts.ts";

/** The same paths with the same contents have the same hash, in whichever attempt. */
export const hashOfFiles = (files: readonly HeldFile[]) =>
  hashOf(
    files
      .map(({ path, blob }) => `${path}\0${blob ?? ""}`)
      .sort()
      .join("\n"),
  );

type Held = Pick<HeldFiles, "task_id" | "run_id" | "epoch" | "base_id" | "commit_id" | "files">;

/** Holds files of a deliverable until a person has decided; returns the decision if there is one. */
export async function holdFiles(app: CrewApp, held: Held): Promise<HeldFiles> {
  const { task_id, run_id, epoch, files } = held;
  const hash = hashOfFiles(files);
  const before = await findHeld(app.db.read, { task_id, hash });
  if (before) return before;
  const held_at = app.now().toISOString();
  await app.db.write(async (tx) => {
    if (!(await insertHeld(tx, { ...held, hash, held_at }))) return;
    const data = { run: run_id, epoch, hash, files: files.map(({ path, why }) => ({ path, why })) };
    await appendEvent(tx, { at: held_at, actor: "crew", kind: "files-held", subject: `task:${task_id}`, data });
  });
  const row = await findHeld(app.db.read, { task_id, hash });
  if (!row) throw new Error(`the held files of task ${task_id} were not stored`);
  return row;
}

export type Decision = { task: string; hash: string; decision: "allowed" | "refused"; note: string | null };

export async function decideFiles(
  app: CrewApp,
  { task, hash, decision, note }: Decision,
  actor: string,
): Promise<Result<HeldFiles>> {
  const at = app.now().toISOString();
  return app.db.write(async (tx): Promise<Result<HeldFiles>> => {
    const found = await findHeld(tx, { task_id: task, hash });
    if (!found) return refuse("not_found", `no files with this hash are held for task ${task}; look at them again`);
    const made = { decision, note, decided_by: actor, decided_at: at };
    if (!(await decideHeld(tx, { task_id: task, hash }, made)))
      return refuse("conflict", `${found.decided_by} has already decided: the files are ${found.decision}`);
    const data = { run: found.run_id, hash, files: found.files.map(({ path }) => path), note };
    await appendEvent(tx, { at, actor, kind: `files-${decision}`, subject: `task:${task}`, data });
    return ok({ ...found, ...made });
  });
}
