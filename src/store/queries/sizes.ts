import { sql } from "kysely";
import type { Database, Query } from "../database.ts";

/** Bytes of every table with its indexes. */
export const tableSizes: Record<Database["engine"], (query: Query) => Promise<{ name: string; bytes: number }[]>> = {
  postgres: async (query) => {
    const { rows } = await sql<{ name: string; bytes: string }>`
      SELECT relname AS name, pg_total_relation_size(oid) AS bytes
      FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`.execute(query);
    return rows.map(({ name, bytes }) => ({ name, bytes: Number(bytes) }));
  },
  sqlite: async (query) => {
    const { rows } = await sql<{ name: string; bytes: number }>`
      SELECT coalesce(m.tbl_name, s.name) AS name, sum(s.pgsize) AS bytes
      FROM dbstat s LEFT JOIN sqlite_master m ON m.name = s.name
      WHERE s.aggregate = 1 GROUP BY 1`.execute(query);
    return rows.map(({ name, bytes }) => ({ name, bytes: Number(bytes) }));
  },
};
