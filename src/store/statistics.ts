import { sql } from "kysely";
import type { Database, Query } from "./database.ts";
import type { Tables } from "./tables.ts";

/** After many rows at once PostgreSQL plans for the tables it knew, and reads all of them, until it has looked again. */
export async function lookAgain(tx: Query, engine: Database["engine"], tables: (keyof Tables)[]): Promise<void> {
  if (engine === "postgres") await sql`ANALYZE ${sql.join(tables.map((name) => sql.table(name)))}`.execute(tx);
}
