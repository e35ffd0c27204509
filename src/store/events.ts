import { sql } from "kysely";
import type { EventKind } from "../kernel/event-kinds.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { turns } from "../kernel/turns.ts";
import type { WireData } from "../kernel/wire.ts";
import { batches } from "./batches.ts";
import type { Database, Query } from "./database.ts";
import { chainHead, sealEvents } from "./event-chain.ts";
import { parseJsonOr } from "./json.ts";
import { prepared, withAll, withEach } from "./prepared.ts";
import { archivedAfter } from "./queries/event-archives.ts";
import { sealedAfter } from "./queries/event-chain.ts";
import type { EventRow } from "./tables.ts";

/** An entry of the event log; every mutation appends one in its own transaction. */
export type Event = {
  /** Its position, 1, 2, 3 … without gaps; also a cursor: pass it to `eventsAfter` to continue from here. */
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

const eventsAtOnce = 250;

/** Appends many events with few statements, for bulk changes. */
export async function appendEvents(tx: Query, engine: Database["engine"], events: NewEvent[]): Promise<void> {
  for (const batch of batches(events, eventsAtOnce)) {
    const rows = batch.map((event): WrittenEvent => ({ ...event, data: JSON.stringify(event.data) }));
    if (engine === "sqlite") insertEach(tx, rows);
    else await insertAll(tx, rows);
    await turns.next();
  }
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

/** Sealed events after a cursor, in the order of their positions; from the first event without a cursor. */
export async function eventsAfter(db: Database, cursor: string | undefined, limit: number): Promise<Event[]> {
  await sealEvents(db);
  const position = positionOf(cursor ?? "0");
  const rows = await sealedAfter(db.read, { position, limit });
  // Positions have no gaps, and the newest event is never archived.
  const isWhole = rows.length === 0 || Number(rows[0]?.position) === position + 1;
  const archived = isWhole ? [] : await archivedAfter(db.read, position, limit);
  const from = archived.at(-1)?.position ?? 0;
  return [...archived, ...rows.filter((row) => Number(row.position) > from)]
    .slice(0, limit)
    .map(({ position, at, actor, kind, subject, data }) => ({
      id: String(position),
      at,
      actor,
      kind,
      subject,
      data: parseJsonOr(data, {}),
    }));
}

/** The cursor of the newest event, for a reader that wants only new ones. */
export async function lastEventId(db: Database): Promise<string | undefined> {
  const head = await chainHead(db);
  return head && String(head.position);
}

/** Refuses a cursor that this log has never issued: the reader would miss events, or wait for ever. */
export async function checkCursor(db: Database, cursor: string): Promise<Result<string>> {
  const again = "read from the first event (after=0), or without a cursor for new events only";
  if (/^\d{1,18}-\d{1,18}$/.test(cursor))
    return refuse("invalid", `the cursor ${cursor} is from Scriptorium 0.1, which numbered events otherwise; ${again}`);
  if (!/^\d{1,15}$/.test(cursor)) return refuse("invalid", `${JSON.stringify(cursor)} is not an event id; ${again}`);
  const newest = (await lastEventId(db)) ?? "0";
  if (Number(cursor) <= Number(newest)) return ok(cursor);
  return refuse(
    "invalid",
    `event ${cursor} does not exist, the newest is ${newest}: the log was restored or replaced; ${again}`,
  );
}

function positionOf(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new Error(`${JSON.stringify(cursor)} is not the position of an event`);
  return Number(cursor);
}
