import { batches } from "../batches.ts";
import type { PlanDraftRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";

export const draftOf = (query: Query, run: string): Promise<PlanDraftRow[]> =>
  query.selectFrom("plan_drafts").selectAll().where("run_id", "=", run).execute();

/** A task that is submitted again replaces the one with its number. */
export async function saveDraftTasks(tx: Query, rows: PlanDraftRow[]): Promise<void> {
  for (const some of batches(rows))
    await tx
      .insertInto("plan_drafts")
      .values(some)
      .onConflict((conflict) =>
        conflict
          .columns(["run_id", "number"])
          .doUpdateSet((x) => ({ task: x.ref("excluded.task"), at: x.ref("excluded.at") })),
      )
      .execute();
}

export const deleteDraftTasks = (tx: Query, run: string, numbers: string[]) =>
  tx.deleteFrom("plan_drafts").where("run_id", "=", run).where("number", "in", numbers).execute();

export const deleteDraft = (tx: Query, run: string) => tx.deleteFrom("plan_drafts").where("run_id", "=", run).execute();
