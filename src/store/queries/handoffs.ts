import type { Database, Query } from "../database.ts";
import type { HandoffRow } from "../tables.ts";
import { endedFocus, lockOpenFocus, saveFocus } from "./focus.ts";

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

/**
 * Withdraws the pending handoffs of a run or role and returns their number; `look` only counts them. The focus is
 * locked first, as a handoff does it: in the other order the two can deadlock, and one overwrites the other's step.
 */
export async function withdrawHandoffs(
  tx: Query,
  engine: Database["engine"],
  { run, role, task }: { run?: string | undefined; role?: string | undefined; task?: string | undefined },
  at: string,
  look: boolean,
): Promise<number> {
  if (task !== undefined) return 0;
  const pending = () =>
    tx
      .selectFrom("handoffs")
      .select(["id", "run"])
      .where("taken_at", "is", null)
      .$if(run !== undefined, (q) => q.where("run", "=", run ?? ""))
      .$if(role !== undefined, (q) => q.where("from_role", "=", role ?? ""))
      .execute();
  const found = await pending();
  if (look || found.length === 0) return found.length;
  const open = await lockOpenFocus(
    tx,
    engine,
    found.map((handoff) => handoff.run),
  );
  const known = new Set(found.map((handoff) => handoff.run));
  // A handoff may have been taken or made before the lock was granted.
  const waiting = (await pending()).filter((handoff) => known.has(handoff.run));
  const runs = new Set(waiting.map((handoff) => handoff.run));
  const ids = waiting.map(({ id }) => id);
  if (ids.length > 0) await tx.updateTable("handoffs").set({ taken_at: at }).where("id", "in", ids).execute();
  for (const row of open) if (runs.has(row.run)) await saveFocus(tx, { ...row, ...endedFocus("reverted", row, at) });
  return ids.length;
}

/** The last handoffs of runs, newest first. */
export const handoffsOf = async (query: Query, runs: string[]): Promise<HandoffRow[]> =>
  runs.length === 0
    ? []
    : query.selectFrom("handoffs").selectAll().where("run", "in", runs).orderBy("step", "desc").execute();
