import type { Query } from "../database.ts";

export async function countByState(query: Query, table: "tasks" | "runs"): Promise<{ state: string; count: number }[]> {
  const rows = await query
    .selectFrom(table)
    .select((select) => ["state", select.fn.countAll<number>().as("count")])
    .groupBy("state")
    .execute();
  return rows.map(({ state, count }) => ({ state, count: Number(count) }));
}

export async function countRows(query: Query, table: "search_queue" | "vocabulary" | "passages"): Promise<number> {
  const { count } = await query
    .selectFrom(table)
    .select((select) => select.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return Number(count);
}
