import type { GateRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";

type Key = Pick<GateRow, "task_id" | "epoch">;

export const findGate = (query: Query, { task_id, epoch }: Key): Promise<GateRow | undefined> =>
  query.selectFrom("gates").selectAll().where("task_id", "=", task_id).where("epoch", "=", epoch).executeTakeFirst();

/** Every result of a task that waited for a person, oldest first. */
export const gatesOf = (query: Query, task: string): Promise<GateRow[]> =>
  query.selectFrom("gates").selectAll().where("task_id", "=", task).orderBy("epoch").execute();

/** False if it waits already. */
export async function insertGate(
  tx: Query,
  gate: Omit<GateRow, "decision" | "note" | "decided_by" | "decided_at">,
): Promise<boolean> {
  const inserted = await tx
    .insertInto("gates")
    .values({ ...gate, decision: null, note: null, decided_by: null, decided_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .returning("epoch")
    .executeTakeFirst();
  return inserted !== undefined;
}

type Decision = Pick<GateRow, "decision" | "note" | "decided_by" | "decided_at">;

/** False if it was decided before. */
export async function saveGateDecision(tx: Query, { task_id, epoch }: Key, decision: Decision): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("gates")
    .set(decision)
    .where("task_id", "=", task_id)
    .where("epoch", "=", epoch)
    .where("decision", "is", null)
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}

/** Forgets results that nobody decided about: their attempt was overtaken by another. */
export const deleteUndecidedGates = (tx: Query, task: string) =>
  tx.deleteFrom("gates").where("task_id", "=", task).where("decision", "is", null).execute();

export type WaitingGate = GateRow & { number: string; title: string; on_reject: "fail" | "stop" | null };

/** Verified results and questions of runs in progress that wait for a person, oldest first; of one run, if given. */
export const waitingGates = (query: Query, run?: string): Promise<WaitingGate[]> =>
  query
    .selectFrom("gates")
    .innerJoin("runs", "runs.id", "gates.run_id")
    .innerJoin("tasks", "tasks.id", "gates.task_id")
    .innerJoin("run_tasks", "run_tasks.task_id", "gates.task_id")
    .selectAll("gates")
    .select(["run_tasks.number", "run_tasks.on_reject", "tasks.title"])
    .where("gates.decision", "is", null)
    .where("runs.state", "in", ["running", "stopped"])
    .where("tasks.state", "=", "qc_passed")
    .$if(run !== undefined, (q) => q.where("gates.run_id", "=", run ?? ""))
    .orderBy("gates.held_at")
    .execute();
