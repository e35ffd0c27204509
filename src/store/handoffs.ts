import type { Query } from "./database.ts";
import type { HandoffRow } from "./tables.ts";

export const lastStep = async (query: Query, run: string): Promise<HandoffRow | undefined> =>
  query.selectFrom("handoffs").selectAll().where("run", "=", run).orderBy("step", "desc").limit(1).executeTakeFirst();

/** What waits for a role: the newest handoff to it that it has not yet passed on. */
export const waitingFor = async (
  query: Query,
  role: string,
  run: string | undefined,
): Promise<HandoffRow | undefined> =>
  query
    .selectFrom("handoffs")
    .selectAll()
    .where("to_role", "=", role)
    .where("taken_at", "is", null)
    .$if(run !== undefined, (q) => q.where("run", "=", run ?? ""))
    .orderBy("at", "desc")
    .limit(1)
    .executeTakeFirst();

export async function saveHandoff(tx: Query, row: HandoffRow): Promise<void> {
  await tx
    .updateTable("handoffs")
    .set({ taken_at: row.at })
    .where("run", "=", row.run)
    .where("to_role", "=", row.from_role)
    .where("taken_at", "is", null)
    .execute();
  await tx.insertInto("handoffs").values(row).execute();
}
