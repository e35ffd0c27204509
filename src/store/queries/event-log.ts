import { type Selectable, sql } from "kysely";
import type { Query } from "../database.ts";
import { parseJsonOr } from "../json.ts";
import type { EventRow } from "../tables.ts";

/** Looks into the event log by sequence number, kind and subject; store/events.ts appends to it and tails it. */

export type LoggedEvent = Omit<Selectable<EventRow>, "data"> & { data: Record<string, unknown> };

const parsed = (row: Selectable<EventRow>): LoggedEvent => ({ ...row, data: parseJsonOr(row.data, {}) });

/** PostgreSQL numbers an event before its transaction commits: a lower number may still appear later. */
export async function newestSeq(query: Query): Promise<number> {
  const { rows } = await sql<{ seq: number | string | null }>`SELECT max(seq) AS seq FROM events`.execute(query);
  return Number(rows[0]?.seq ?? 0);
}

export async function eventNumbered(query: Query, seq: number): Promise<LoggedEvent | undefined> {
  const row = await query.selectFrom("events").selectAll().where("seq", "=", seq).executeTakeFirst();
  return row && parsed(row);
}

/** The events about pages after `seq`, oldest first. */
export async function pageEventsSince(query: Query, seq: number): Promise<LoggedEvent[]> {
  const events = query.selectFrom("events").selectAll().where("seq", ">", seq).where("kind", "like", "page-%");
  return (await events.orderBy("seq").execute()).map(parsed);
}

export async function taskEvents(query: Query): Promise<LoggedEvent[]> {
  const events = query.selectFrom("events").selectAll().where("subject", "like", "task:%");
  return (await events.orderBy("seq").execute()).map(parsed);
}

const graphKinds = ["node-added", "node-updated", "node-deleted", "edge-added", "edge-deleted"];

/**
 * Every event about those nodes and edges of which one event has this property in its data, oldest first.
 * Data is JSON text: the property is found as a substring, so the caller checks the parsed data again.
 */
export async function graphEventsWith(query: Query, name: string, value: unknown): Promise<LoggedEvent[]> {
  const property = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  const pattern = `%${property.replaceAll(/[\\%_]/g, "\\$&")}%`;
  const { rows } = await sql<Selectable<EventRow>>`
    SELECT seq, at, kind, actor, subject, data FROM events
    WHERE kind IN (${sql.join(graphKinds)}) AND subject IN (
      SELECT subject FROM events WHERE kind IN (${sql.join(graphKinds)}) AND data LIKE ${pattern} ESCAPE '\\'
    )
    ORDER BY seq`.execute(query);
  return rows.map(parsed);
}

/** The time of the newest event; undefined when there is none. */
export async function newestEventTime(query: Query): Promise<string | undefined> {
  const row = await query.selectFrom("events").select("at").orderBy("seq", "desc").limit(1).executeTakeFirst();
  return row?.at;
}
