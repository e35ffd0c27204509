import type { Query } from "../database.ts";

/** The number of nodes of each type that agents and people made. */
export const nodesByType = (query: Query): Promise<{ type: string; count: number }[]> =>
  query
    .selectFrom("nodes")
    .select((select) => ["type", select.fn.countAll<number>().as("count")])
    .groupBy("type")
    .orderBy("type")
    .execute();
