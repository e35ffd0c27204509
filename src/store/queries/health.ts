import { sql } from "kysely";
import type { Database, Query } from "../database.ts";
import { parseJsonOr } from "../json.ts";

export const databaseVersion: Record<Database["engine"], (query: Query) => Promise<string>> = {
  postgres: async (query) => {
    const { rows } = await sql<{ version: string }>`SELECT version() AS version`.execute(query);
    return rows[0]?.version.split(" on ")[0] ?? "PostgreSQL";
  },
  sqlite: async (query) => {
    const { rows } = await sql<{ version: string }>`SELECT sqlite_version() AS version`.execute(query);
    return `SQLite ${rows[0]?.version ?? ""}`.trim();
  },
};

/** The damage that the database finds in itself; undefined if none. PostgreSQL has no such check. */
export const databaseReport: Record<Database["engine"], (query: Query) => Promise<string | undefined>> = {
  postgres: async () => undefined,
  sqlite: async (query) => {
    const { rows } = await sql<{ quick_check: string }>`PRAGMA quick_check`.execute(query);
    const report = rows.map((row) => row.quick_check).join("; ");
    return report === "ok" ? undefined : report;
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
