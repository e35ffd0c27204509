import { sql } from "kysely";
import type { Database, Query } from "./database.ts";

/**
 * Serialises all writers of one name (an entry, a page, a topic) until the transaction ends. Without it
 * two transactions on PostgreSQL could both read the state before either has written. SQLite has a single
 * writer and needs no lock.
 */
export async function advisoryLock(tx: Query, engine: Database["engine"], name: string): Promise<void> {
  if (engine === "postgres") await sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 7346))`.execute(tx);
}
