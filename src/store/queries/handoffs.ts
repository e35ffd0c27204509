import type { Query } from "../database.ts";
import { prepared } from "../prepared.ts";
import type { HandoffRow } from "../tables.ts";

/** Prepared, because every operation of an agent checks it first. */
export const lastStep = async (query: Query, run: string): Promise<HandoffRow | undefined> =>
  (await selectLastStep(query, { run }))[0];

const selectLastStep = prepared<{ run: string }, HandoffRow>((query, slot) =>
  query.selectFrom("handoffs").selectAll().where("run", "=", slot("run")).orderBy("step", "desc").limit(1),
);

/** The newest handoff to a role that it has not taken. */
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

/** The newest untaken handoff to each role. */
export async function openHandoffs(query: Query): Promise<{ from: string; to: string; summary: string }[]> {
  const rows = await query
    .selectFrom("handoffs")
    .select(["from_role", "to_role", "summary"])
    .where("taken_at", "is", null)
    .where("to_role", "is not", null)
    .orderBy("at", "desc")
    .limit(50)
    .execute();
  const newest = new Map<string, { from: string; to: string; summary: string }>();
  for (const { from_role: from, to_role, summary } of rows) {
    const to = to_role ?? "";
    if (!newest.has(to)) newest.set(to, { from, to, summary });
  }
  return [...newest.values()];
}

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

/** Withdraws the pending handoffs of a run or role and returns their number; `look` only counts them. */
export async function withdrawHandoffs(
  tx: Query,
  { run, role, task }: { run?: string | undefined; role?: string | undefined; task?: string | undefined },
  at: string,
  look: boolean,
): Promise<number> {
  if (task !== undefined) return 0;
  const waiting = await tx
    .selectFrom("handoffs")
    .select("id")
    .where("taken_at", "is", null)
    .$if(run !== undefined, (q) => q.where("run", "=", run ?? ""))
    .$if(role !== undefined, (q) => q.where("from_role", "=", role ?? ""))
    .execute();
  const ids = waiting.map(({ id }) => id);
  if (!look && ids.length > 0) await tx.updateTable("handoffs").set({ taken_at: at }).where("id", "in", ids).execute();
  return ids.length;
}
