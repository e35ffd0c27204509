import { sql } from "kysely";
import type { Query } from "../database.ts";

/** Tables whose rows people and agents name, and the column with the name. */
const columns = {
  tasks: "id",
  runs: "id",
  topics: "id",
  proposals: "id",
  agent_jobs: "id",
  nodes: "id",
  questions: "id",
  tokens: "id",
  sessions: "id",
  passkeys: "id",
  users: "name",
  sources: "path",
} as const;
export type NamedTable = keyof typeof columns;

const most = 300;

/**
 * Names that may be meant by one that does not exist: those that begin alike, and the last in order, which for
 * ids are the newest. Bounded, because a table may have a million rows.
 */
export async function knownIds(query: Query, table: NamedTable, id: string): Promise<string[]> {
  const name = sql.ref(columns[table]);
  const from = sql.table(table);
  const start = id.includes(":") ? id.slice(0, id.indexOf(":") + 1) : id.slice(0, 8);
  const alike = await sql<{ known: string }>`
    SELECT ${name} AS known FROM ${from} WHERE ${name} >= ${start} AND ${name} < ${`${start}~`} LIMIT ${most}`.execute(
    query,
  );
  const newest = await sql<{ known: string }>`
    SELECT ${name} AS known FROM ${from} ORDER BY ${name} DESC LIMIT ${most}`.execute(query);
  return [...alike.rows, ...newest.rows].map(({ known }) => known);
}
