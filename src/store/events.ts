import { sql } from "kysely";
import type { EventKind } from "../kernel/event-kinds.ts";
import type { WireData } from "../kernel/wire.ts";
import type { Database, Query } from "./database.ts";
import { parseJsonOr } from "./json.ts";
import { prepared, withAll, withEach } from "./prepared.ts";
import type { EventRow } from "./tables.ts";

/** An entry of the event log; every mutation appends one in its own transaction. */
export type Event = {
  /** A cursor: pass it to `eventsAfter` to continue from here. */
  id: string;
  at: string;
  actor: string;
  kind: string;
  subject: string;
  data: unknown;
};

/** An event to be written. */
export type NewEvent = Omit<Event, "id" | "kind" | "data"> & { kind: EventKind; data: WireData };

export async function appendEvent(tx: Query, event: NewEvent): Promise<void> {
  await insertEvent(tx, { ...event, data: JSON.stringify(event.data) });
}

/** Appends many events with one statement, for bulk changes. */
export async function appendEvents(tx: Query, engine: Database["engine"], events: NewEvent[]): Promise<void> {
  const rows = events.map((event): WrittenEvent => ({ ...event, data: JSON.stringify(event.data) }));
  if (engine === "sqlite") insertEach(tx, rows);
  else if (rows.length > 0) await insertAll(tx, rows);
}

/** An event row without the number that the database assigns. */
export type WrittenEvent = Omit<EventRow, "seq">;

export const insertEach = withEach<WrittenEvent>(
  (part) => sql`
    INSERT INTO events (at, actor, kind, subject, data)
    VALUES (${part((e) => e.at)}, ${part((e) => e.actor)}, ${part((e) => e.kind)}, ${part((e) => e.subject)},
      ${part((e) => e.data)})`,
);
const insertAll = withAll<WrittenEvent, unknown>(
  { at: "text", actor: "text", kind: "text", subject: "text", data: "text" },
  (given) => sql`
    INSERT INTO events (at, actor, kind, subject, data) SELECT at, actor, kind, subject, data FROM ${given}`,
);

const insertEvent = prepared<WrittenEvent, unknown>((query, slot) =>
  query.insertInto("events").values({
    at: slot("at"),
    actor: slot("actor"),
    kind: slot("kind"),
    subject: slot("subject"),
    data: slot("data"),
  }),
);

export async function eventsAfter(db: Database, cursor: string | undefined, limit: number): Promise<Event[]> {
  const rows = await after[db.engine](db.read, cursor, limit);
  return rows.map(({ id, at, actor, kind, subject, data }) => ({
    id: String(id),
    at,
    actor,
    kind,
    subject,
    data: parseJsonOr(data, {}),
  }));
}

/** The cursor of the newest event, for a reader that wants only new ones. */
export async function lastEventId(db: Database): Promise<string | undefined> {
  const { rows } = await newest[db.engine].execute(db.read);
  return rows[0] && String(rows[0].id);
}

type Row = { id: string | number; at: string; actor: string; kind: string; subject: string; data: string };

/**
 * SQLite has one writer, so `seq` is the order of commits. PostgreSQL hands out `seq` before the
 * commit: there the order is (xid, seq), and nothing is shown while an older transaction still runs.
 */
const after = {
  sqlite: async (query: Query, cursor: string | undefined, limit: number): Promise<Row[]> => {
    const seq = /^\d{1,15}$/.test(cursor ?? "") ? Number(cursor) : 0;
    const text = sql<Row>`SELECT seq AS id, at, actor, kind, subject, data FROM events WHERE seq > ${seq} ORDER BY seq LIMIT ${limit}`;
    return (await text.execute(query)).rows;
  },
  postgres: async (query: Query, cursor: string | undefined, limit: number): Promise<Row[]> => {
    const [xid, seq] = /^\d{1,18}-\d{1,18}$/.test(cursor ?? "") ? (cursor as string).split("-") : ["0", "0"];
    const text = sql<Row>`
      SELECT xid::text || '-' || seq AS id, at, actor, kind, subject, data FROM events
      WHERE (xid, seq) > (${xid}::text::xid8, ${seq}::text::bigint) AND xid < pg_snapshot_xmin(pg_current_snapshot())
      ORDER BY xid, seq LIMIT ${limit}`;
    return (await text.execute(query)).rows;
  },
};

const newest = {
  sqlite: sql<{ id: number }>`SELECT seq AS id FROM events ORDER BY seq DESC LIMIT 1`,
  postgres: sql<{ id: string }>`
    SELECT xid::text || '-' || seq AS id FROM events
    WHERE xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid DESC, seq DESC LIMIT 1`,
};
