import { sql } from "kysely";
import type { Database, Query } from "../database.ts";
import { parseJsonOr } from "../json.ts";

/** The server's version on PostgreSQL; on SQLite "ok" or the damage that quick_check found. */
export const databaseReport: Record<Database["engine"], (query: Query) => Promise<string>> = {
  postgres: async (query) => {
    const { rows } = await sql<{ version: string }>`SELECT version() AS version`.execute(query);
    return rows[0]?.version.split(" on ")[0] ?? "PostgreSQL";
  },
  sqlite: async (query) => {
    const { rows } = await sql<{ quick_check: string }>`PRAGMA quick_check`.execute(query);
    return rows.map((row) => row.quick_check).join("; ");
  },
};

/** The ids of rows whose JSON cannot be parsed; readers of those rows use defaults (json.ts). */
export async function damagedRows(query: Query): Promise<string[]> {
  const texts = await Promise.all([
    query.selectFrom("tasks").select(["id", "result as text"]).execute(),
    query.selectFrom("runs").select(["id", "plan as text"]).execute(),
    query.selectFrom("proposals").select(["id", "data as text"]).execute(),
    query.selectFrom("topics").select(["id", "anchor as text"]).execute(),
  ]);
  const damaged = texts.flat().filter(({ text }) => text !== null && parseJsonOr(text, damage) === damage);
  return damaged.map(({ id }) => id);
}

const damage: unknown = Symbol("damage");
