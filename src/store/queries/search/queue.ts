import { sql } from "kysely";
import { batches } from "../../batches.ts";
import type { Database, Query } from "../../database.ts";

/** Things that changed and are not indexed yet. Triggers on the tables of each kind insert the rows. */
export type Ticket = { ticket: number; kind: string; thing: string };

/** In the order in which they were queued, whichever end they are taken from. */
export async function nextTickets(query: Query, limit: number, from: "oldest" | "newest"): Promise<Ticket[]> {
  const order = from === "oldest" ? "asc" : "desc";
  const rows = await query.selectFrom("search_queue").selectAll().orderBy("ticket", order).limit(limit).execute();
  return rows.sort((a, b) => a.ticket - b.ticket);
}

export async function ticketsStillQueued(tx: Query, tickets: number[]): Promise<Set<number>> {
  const rows = await tx.selectFrom("search_queue").select("ticket").where("ticket", "in", tickets).execute();
  return new Set(rows.map((row) => row.ticket));
}

export async function deleteTickets(tx: Query, tickets: number[]): Promise<void> {
  await tx.deleteFrom("search_queue").where("ticket", "in", tickets).execute();
}

/** Empties the index and queues these things for indexing. */
export async function resetIndex(
  tx: Query,
  engine: Database["engine"],
  things: { kind: string; thing: string }[],
): Promise<void> {
  if (engine === "sqlite") await sql`INSERT INTO passage_text (passage_text) VALUES ('delete-all')`.execute(tx);
  else await tx.deleteFrom("passage_text").execute();
  for (const table of ["passage_links", "passages", "things", "search_queue"] as const)
    await tx.deleteFrom(table).execute();
  for (const batch of batches(things, 500)) await tx.insertInto("search_queue").values(batch).execute();
}
