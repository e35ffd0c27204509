import { sql } from "kysely";
import type { Database, Query } from "../database.ts";
import { prepared } from "../prepared.ts";
import type { FocusRow } from "../tables.ts";

/** Prepared, because every operation of an agent checks it first. */
export const findFocus = async (query: Query, run: string): Promise<FocusRow | undefined> =>
  (await selectFocus(query, { run }))[0];

const selectFocus = prepared<{ run: string }, FocusRow>((query, slot) =>
  query.selectFrom("focus").selectAll().where("run", "=", slot("run")),
);

/** Begins a run, unless it exists, and locks its row until the transaction ends. */
export async function lockFocus(tx: Query, engine: Database["engine"], first: FocusRow): Promise<FocusRow> {
  await tx
    .insertInto("focus")
    .values(first)
    .onConflict((conflict) => conflict.column("run").doNothing())
    .execute();
  const lock = engine === "postgres" ? sql`FOR UPDATE` : sql``;
  const { rows } = await sql<FocusRow>`SELECT * FROM focus WHERE run = ${first.run} ${lock}`.execute(tx);
  return rows[0] ?? first;
}

export async function saveFocus(tx: Query, { run, ...columns }: FocusRow): Promise<void> {
  await tx.updateTable("focus").set(columns).where("run", "=", run).execute();
}

/** The columns of a run that has ended. */
export const endedFocus = (why: string, { epoch }: FocusRow, at: string) => ({
  holder: null,
  epoch: epoch + 1,
  since: at,
  active_at: at,
  ended: why,
});

/** Locks those of the runs that have not ended, in one order. */
export const lockOpenFocus = (tx: Query, engine: Database["engine"], runs: string[]): Promise<FocusRow[]> =>
  tx
    .selectFrom("focus")
    .selectAll()
    .where("run", "in", runs)
    .where("holder", "is not", null)
    .orderBy("run")
    .$if(engine === "postgres", (q) => q.forUpdate())
    .execute();

/**
 * The run of an agent that names none: the one whose focus its role holds, begun ones first; else the one that its role
 * has just handed over to a role that has not begun. A run that it began itself counts only if it was active after `recent`.
 */
export async function focusOfRole(
  query: Query,
  role: string,
  owner: string,
  recent: string,
): Promise<FocusRow | undefined> {
  const held = await query
    .selectFrom("focus")
    .selectAll()
    .where("holder", "=", role)
    .where((is) => is.or([is("step", ">", 0), is.and([is("owner", "=", owner), is("active_at", ">=", recent)])]))
    .orderBy(sql`CASE WHEN begun_at IS NULL THEN 1 ELSE 0 END`)
    .orderBy("since", "desc")
    .limit(1)
    .executeTakeFirst();
  if (held) return held;
  return query
    .selectFrom("focus")
    .selectAll()
    .where("handed_by", "=", role)
    .where("holder", "is not", null)
    .where("begun_at", "is", null)
    .where("owner", "=", owner)
    .where("active_at", ">=", recent)
    .orderBy("since", "desc")
    .limit(1)
    .executeTakeFirst();
}

export async function readsOf(query: Query, run: string, epoch: number): Promise<string[]> {
  const rows = await selectReads(query, { run, epoch });
  return rows.map(({ entry_id }) => entry_id);
}

const selectReads = prepared<{ run: string; epoch: number }, { entry_id: string }>((query, slot) =>
  query
    .selectFrom("focus_reads")
    .select("entry_id")
    .where("run", "=", slot("run"))
    .where("epoch", "=", slot("epoch"))
    .orderBy("nth"),
);

export async function saveRead(tx: Query, run: string, epoch: number, entry: string, nth: number): Promise<void> {
  await tx
    .insertInto("focus_reads")
    .values({ run, epoch, entry_id: entry, nth })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Open runs first, then the newest. */
export const listFocus = (query: Query, run: string | undefined, limit: number): Promise<FocusRow[]> =>
  query
    .selectFrom("focus")
    .selectAll()
    .$if(run !== undefined, (q) => q.where("run", "=", run ?? ""))
    .orderBy(sql`CASE WHEN holder IS NULL THEN 1 ELSE 0 END`)
    .orderBy("since", "desc")
    .limit(limit)
    .execute();
