import { sql } from "kysely";
import type { EventKind } from "../kernel/noun.ts";
import type { WireData } from "../kernel/wire.ts";
import type { Database, Query } from "./database.ts";
import { kept } from "./kept.ts";
import { prepared, withAll, withEach } from "./prepared.ts";
import type { EventRow } from "./tables.ts";

/** One line of the log that every mutation writes in its own transaction. */
export type Event = {
  /** Where a reader is; give it back to go on from there. */
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

/** Many at once, for work that makes many changes in one transaction. */
export async function appendEvents(tx: Query, engine: Database["engine"], events: NewEvent[]): Promise<void> {
  const rows = events.map((event): WrittenEvent => ({ ...event, data: JSON.stringify(event.data) }));
  if (engine === "sqlite") insertEach(tx, rows);
  else if (rows.length > 0) await insertAll(tx, rows);
}

/** As it stands in the table, but for its place. */
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
    data: kept(data, {}),
  }));
}

/** Where the log ends now, for a reader that wants only what is new. */
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
