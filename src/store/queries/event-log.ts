import { type Selectable, sql } from "kysely";
import type { EventKind } from "../../kernel/event-kinds.ts";
import { batches } from "../batches.ts";
import type { Database, Query } from "../database.ts";
import { parseJsonOr } from "../json.ts";
import type { EventRow } from "../tables.ts";
import { archivedLink, archivedOf, withArchivedRows } from "./event-archives.ts";

/**
 * Looks into the event log by kind and subject, events that are not sealed yet included; store/events.ts appends to
 * it and tails it. These queries order by `seq`: the events of one subject are written under its lock, so among
 * them `seq` is the order of commits, in a copy too.
 */

export type LoggedEvent = Omit<Selectable<EventRow>, "data"> & { data: Record<string, unknown> };

const parsed = ({ seq, at, actor, kind, subject, data }: Selectable<EventRow>): LoggedEvent => ({
  ...{ seq: Number(seq), at, actor, kind, subject },
  data: parseJsonOr(data, {}),
});

const withArchived = async (query: Query, rows: Selectable<EventRow>[], wanted: Parameters<typeof archivedOf>[1]) =>
  (await withArchivedRows(query, rows, wanted)).map(parsed);

/** Every event with this or a lower number is sealed or was rolled back: none of them can still appear. */
export async function settledSeq(query: Query, engine: Database["engine"]): Promise<number> {
  const open = engine === "postgres" ? sql`(SELECT min(first) - 1 FROM event_gaps)` : sql`NULL`;
  const { rows } = await sql<{ seq: number }>`
    SELECT coalesce(${open}, (SELECT max(seq) FROM event_chain), 0) AS seq`.execute(query);
  return Number(rows[0]?.seq);
}

export async function eventNumbered(query: Query, seq: number): Promise<LoggedEvent | undefined> {
  const row = await query.selectFrom("events").selectAll().where("seq", "=", seq).executeTakeFirst();
  const found = row ?? (await archivedLink(query, { seq }));
  return found && parsed(found);
}

/** The events about pages after `seq`, oldest first. */
export async function pageEventsSince(query: Query, seq: number): Promise<LoggedEvent[]> {
  const events = query.selectFrom("events").selectAll().where("seq", ">", seq).where("kind", "like", "page-%");
  const rows = await events.orderBy("seq").execute();
  return withArchived(query, rows, { sinceSeq: seq, is: ({ kind }) => kind.startsWith("page-") });
}

export async function taskEvents(query: Query): Promise<LoggedEvent[]> {
  const events = query.selectFrom("events").selectAll().where("subject", "like", "task:%");
  const rows = await events.orderBy("seq").execute();
  return withArchived(query, rows, { is: ({ subject }) => subject.startsWith("task:") });
}

/** The events that stored a plan of this run, oldest first. */
export async function planEvents(query: Query, run: string): Promise<LoggedEvent[]> {
  const events = query.selectFrom("events").selectAll().where("subject", "=", `run:${run}`);
  const kinds = ["run-planned", "run-plan-changed"];
  const rows = await events.where("kind", "in", kinds).orderBy("seq").execute();
  return withArchived(query, rows, { subjects: [`run:${run}`], kinds });
}

/** The merges of a run's work into branches of people, oldest first. */
export const mergeEvents = (query: Query, run: string): Promise<LoggedEvent[]> => eventsOf(query, run, "run-merged");

/** The commits that took a run's files out of branches of people, oldest first. */
export const fileRevertEvents = (query: Query, run: string): Promise<LoggedEvent[]> =>
  eventsOf(query, run, "run-files-reverted");

async function eventsOf(query: Query, run: string, kind: EventKind): Promise<LoggedEvent[]> {
  const events = query.selectFrom("events").selectAll().where("subject", "=", `run:${run}`);
  const rows = await events.where("kind", "=", kind).orderBy("seq").execute();
  return withArchived(query, rows, { subjects: [`run:${run}`], kinds: [kind] });
}

/** The newest event about a thing that is of one of these kinds. */
export async function lastEvent(
  query: Query,
  subject: string,
  kinds: readonly EventKind[],
): Promise<LoggedEvent | undefined> {
  const row = await query
    .selectFrom("events")
    .selectAll()
    .where("subject", "=", subject)
    .where("kind", "in", kinds)
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
  const found = row ?? (await archivedOf(query, { subjects: [subject], kinds })).at(-1);
  return found && parsed(found);
}

/** The events about versions of entries, in the order of the log. */
export async function versionEvents(query: Query): Promise<LoggedEvent[]> {
  const events = query.selectFrom("events").selectAll().where("subject", "like", "entry:%");
  const kinds = ["entry-committed", "entry-appended", "entry-edited", "entry-recovered", "section-renamed"];
  const rows = await events.where("kind", "in", kinds).orderBy("seq").execute();
  return withArchived(query, rows, { kinds, is: ({ subject }) => subject.startsWith("entry:") });
}

const withdrawals: EventKind[] = ["task-overturn", "run-reverted"];

/** The events that took back what tasks, runs and roles made, such as `task:t-1`, oldest first. */
export async function withdrawalEvents(query: Query, subjects: readonly string[]): Promise<LoggedEvent[]> {
  if (subjects.length === 0) return [];
  const rows: Selectable<EventRow>[] = [];
  for (const batch of batches([...subjects], 500))
    rows.push(
      ...(await query
        .selectFrom("events")
        .selectAll()
        .where("subject", "in", batch)
        .where("kind", "in", withdrawals)
        .orderBy("seq")
        .execute()),
    );
  return withArchived(query, rows, { subjects, kinds: withdrawals });
}

const writings: EventKind[] = [
  "entry-committed",
  "entry-appended",
  "entry-edited",
  "entry-recovered",
  "page-written",
  "page-edited",
  "page-relinked",
  "page-moved",
  "page-created",
];

/** The newest events that changed the text of an entry or page, oldest first. */
export async function writingEvents(query: Query, subject: string, limit: number): Promise<LoggedEvent[]> {
  const rows = await query
    .selectFrom("events")
    .selectAll()
    .where("subject", "=", subject)
    .where("kind", "in", writings)
    .orderBy("seq", "desc")
    .limit(limit)
    .execute();
  return rows.length < limit
    ? withArchived(query, rows, { subjects: [subject], kinds: writings })
    : rows.map(parsed).reverse();
}

/** The events of entries that were moved to another store, oldest first. */
export async function moveEvents(query: Query): Promise<LoggedEvent[]> {
  const events = query.selectFrom("events").selectAll().where("kind", "=", "entry-moved");
  return withArchived(query, await events.orderBy("seq").execute(), { kinds: ["entry-moved"] });
}

/** The oldest and the newest event of a kind. */
export const oldestOfKind = (query: Query, kind: EventKind) => endOfKind(query, kind, "asc");
export const newestOfKind = (query: Query, kind: EventKind) => endOfKind(query, kind, "desc");

async function endOfKind(query: Query, kind: EventKind, end: "asc" | "desc"): Promise<LoggedEvent | undefined> {
  const events = query.selectFrom("events").selectAll().where("kind", "=", kind);
  const row = await events.orderBy("seq", end).limit(1).executeTakeFirst();
  if (row && end === "desc") return parsed(row);
  const archived = await archivedOf(query, { kinds: [kind] });
  const found = archived.at(end === "asc" ? 0 : -1) ?? row;
  return found && parsed(found);
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
  const archived = await archivedOf(query, { kinds: graphKinds, is: ({ data }) => data.includes(property) });
  const subjects = [...new Set([...rows, ...archived].map(({ subject }) => subject))];
  const live = archived.length === 0 ? rows : await graphEventsOf(query, subjects);
  return withArchived(query, live, { kinds: graphKinds, subjects });
}

async function graphEventsOf(query: Query, subjects: string[]): Promise<Selectable<EventRow>[]> {
  const found: Selectable<EventRow>[] = [];
  for (const batch of batches(subjects, 500)) {
    const events = query.selectFrom("events").select(["seq", "at", "kind", "actor", "subject", "data"]);
    found.push(...(await events.where("kind", "in", graphKinds).where("subject", "in", batch).execute()));
  }
  return found;
}

/** The time of the newest event; undefined when there is none. */
export async function newestEventTime(query: Query): Promise<string | undefined> {
  const row = await query.selectFrom("events").select("at").orderBy("seq", "desc").limit(1).executeTakeFirst();
  return row?.at;
}
