import type { PreambleRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";

export const findPreamble = (query: Query, hash: string): Promise<PreambleRow | undefined> =>
  query.selectFrom("preambles").selectAll().where("hash", "=", hash).executeTakeFirst();

/** False if another process stored one for this role first: that one counts. */
export async function insertPreamble(tx: Query, row: Omit<PreambleRow, "uses">): Promise<boolean> {
  const inserted = await tx
    .insertInto("preambles")
    .values({ ...row, uses: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .returning("hash")
    .executeTakeFirst();
  return inserted !== undefined;
}

export const countPreambleUse = (tx: Query, hash: string) =>
  tx
    .updateTable("preambles")
    .set((x) => ({ uses: x("uses", "+", 1) }))
    .where("hash", "=", hash)
    .execute();

/** The newest run with a task for this role. */
export const runWithRole = async (query: Query, role: string): Promise<string | undefined> =>
  (
    await query
      .selectFrom("run_tasks")
      .innerJoin("runs", "runs.id", "run_tasks.run_id")
      .select("run_id")
      .where((x) => x.or([x("worker_role", "=", role), x("qc_role", "=", role)]))
      .orderBy("runs.created_at", "desc")
      .limit(1)
      .executeTakeFirst()
  )?.run_id;
