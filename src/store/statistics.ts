import { sql } from "kysely";
import type { Database, Query } from "./database.ts";
import type { Tables } from "./tables.ts";

/** Runs ANALYZE after bulk inserts: with stale statistics PostgreSQL plans sequential scans. */
export async function analyze(tx: Query, engine: Database["engine"], tables: (keyof Tables)[]): Promise<void> {
  if (engine === "postgres") await sql`ANALYZE ${sql.join(tables.map((name) => sql.table(name)))}`.execute(tx);
}
