import { sql } from "kysely";
import { clockByNow } from "../clock.ts";
import type { Database, Query } from "../database.ts";

export async function countByState(query: Query, table: "tasks" | "runs"): Promise<{ state: string; count: number }[]> {
  const rows = await query
    .selectFrom(table)
    .select((select) => ["state", select.fn.countAll<number>().as("count")])
    .groupBy("state")
    .execute();
  return rows.map(({ state, count }) => ({ state, count: Number(count) }));
}

/** Tasks that a worker holds, and those whose lease is over, by the clock of the engine. */
export async function countClaims(
  query: Query,
  engine: Database["engine"],
): Promise<{ held: number; expired: number }> {
  const row = await query
    .selectFrom("tasks")
    .select([
      sql<number>`count(*)`.as("all"),
      sql<number>`coalesce(sum(case when lease_until < ${clockByNow[engine]} then 1 else 0 end), 0)`.as("expired"),
    ])
    .where("holder", "is not", null)
    .executeTakeFirstOrThrow();
  return { held: Number(row.all) - Number(row.expired), expired: Number(row.expired) };
}

/** The number of waiting items in each queue. */
export async function countQueues(query: Query): Promise<{ state: string; count: number }[]> {
  const count = async (state: string, rows: Promise<{ count: number | string | bigint }>) => ({
    state,
    count: Number((await rows).count),
  });
  const all = sql<number>`count(*)`.as("count");
  const jobs = query.selectFrom("agent_jobs").select(all).where("status", "=", "queued");
  return Promise.all([
    count("git", query.selectFrom("git_queue").select(all).where("in_history", "=", 0).executeTakeFirstOrThrow()),
    count("search", query.selectFrom("search_queue").select(all).executeTakeFirstOrThrow()),
    count("jobs", jobs.executeTakeFirstOrThrow()),
    count("gates", query.selectFrom("gates").select(all).where("decided_at", "is", null).executeTakeFirstOrThrow()),
  ]);
}

export async function countRows(query: Query, table: "search_queue" | "vocabulary" | "passages"): Promise<number> {
  const { count } = await query
    .selectFrom(table)
    .select((select) => select.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return Number(count);
}
