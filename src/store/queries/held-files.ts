import type { HeldFile, HeldFilesRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";
import { type Parsed, parseColumns, stringifyColumns } from "../json-columns.ts";

type Json = { files: HeldFile[] };
const empty: Json = { files: [] };

export type HeldFiles = Parsed<HeldFilesRow, Json>;
type Key = Pick<HeldFilesRow, "task_id" | "hash">;

export async function findHeld(query: Query, { task_id, hash }: Key): Promise<HeldFiles | undefined> {
  const row = await query
    .selectFrom("held_files")
    .selectAll()
    .where("task_id", "=", task_id)
    .where("hash", "=", hash)
    .executeTakeFirst();
  return row && parseColumns(row, empty);
}

/** Everything that was held of a task, decided or not, oldest first. */
export async function heldOf(query: Query, task: string): Promise<HeldFiles[]> {
  const rows = await query
    .selectFrom("held_files")
    .selectAll()
    .where("task_id", "=", task)
    .orderBy("held_at")
    .orderBy("epoch")
    .execute();
  return rows.map((row) => parseColumns(row, empty));
}

/** False if it is held already. */
export async function insertHeld(
  tx: Query,
  held: Omit<HeldFiles, "decision" | "note" | "decided_by" | "decided_at">,
): Promise<boolean> {
  const row = stringifyColumns<HeldFilesRow, Json>(held, empty) as typeof held & { files: string };
  const inserted = await tx
    .insertInto("held_files")
    .values({ ...row, decision: null, note: null, decided_by: null, decided_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .returning("hash")
    .executeTakeFirst();
  return inserted !== undefined;
}

type Decision = { decision: "allowed" | "refused"; note: string | null; decided_by: string; decided_at: string };

/** False if it was decided before. */
export async function decideHeld(tx: Query, { task_id, hash }: Key, decision: Decision): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("held_files")
    .set(decision)
    .where("task_id", "=", task_id)
    .where("hash", "=", hash)
    .where("decision", "is", null)
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}

/** Forgets files that nobody decided about: their attempt was overtaken by another. */
export const deleteUndecided = (tx: Query, task: string) =>
  tx.deleteFrom("held_files").where("task_id", "=", task).where("decision", "is", null).execute();

export type WaitingFiles = HeldFiles & { number: string; title: string };

/** Files of runs in progress that wait for a person, oldest first. */
export async function waitingFiles(query: Query): Promise<WaitingFiles[]> {
  const rows = await query
    .selectFrom("held_files")
    .innerJoin("runs", "runs.id", "held_files.run_id")
    .innerJoin("tasks", "tasks.id", "held_files.task_id")
    .innerJoin("run_tasks", "run_tasks.task_id", "held_files.task_id")
    .selectAll("held_files")
    .select(["run_tasks.number", "tasks.title"])
    .where("held_files.decision", "is", null)
    .where("runs.state", "in", ["running", "stopped"])
    .where("tasks.state", "in", ["worker_completed", "qc_passed"])
    .orderBy("held_files.held_at")
    .execute();
  return rows.map((row) => parseColumns(row, empty));
}
