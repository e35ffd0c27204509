import type { PlanChangeRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";

export const insertPlanChange = (tx: Query, row: PlanChangeRow) => tx.insertInto("plan_changes").values(row).execute();

export const findPlanChange = (query: Query, id: string): Promise<PlanChangeRow | undefined> =>
  query.selectFrom("plan_changes").selectAll().where("id", "=", id).executeTakeFirst();

/** The change of a run that is being drafted or waits for a person; there is at most one. */
export const currentPlanChange = (query: Query, run: string): Promise<PlanChangeRow | undefined> =>
  query
    .selectFrom("plan_changes")
    .selectAll()
    .where("run_id", "=", run)
    .where("state", "in", ["drafting", "open"])
    .executeTakeFirst();

/** Saves a change that is still in one of these states, and drafted by `process` if given; false if it is not. */
export async function updatePlanChange(
  tx: Query,
  id: string,
  from: PlanChangeRow["state"][],
  set: Partial<PlanChangeRow>,
  process?: string,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("plan_changes")
    .set(set)
    .where("id", "=", id)
    .where("state", "in", from)
    .$if(process !== undefined, (q) => q.where("process", "=", process ?? ""))
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}

/** Changes in this state, oldest first, with the titles of their runs. */
export const planChangesIn = (
  query: Query,
  state: PlanChangeRow["state"],
): Promise<(PlanChangeRow & { title: string })[]> =>
  query
    .selectFrom("plan_changes")
    .innerJoin("runs", "runs.id", "plan_changes.run_id")
    .selectAll("plan_changes")
    .select("runs.title")
    .where("plan_changes.state", "=", state)
    .where("runs.state", "in", ["stopped", "failed"])
    .orderBy("plan_changes.requested_at")
    .orderBy("plan_changes.id")
    .execute();
