import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { Selectable } from "kysely";
import { batches } from "../batches.ts";
import { type Chained, chainedHash } from "../chained-hash.ts";
import type { Query } from "../database.ts";
import type { EventArchiveRow, EventRow } from "../tables.ts";

/** Reads the oldest events, which store/archive-events.ts packed. */

const pack = promisify(gzip);
const unpack = promisify(gunzip);

export type ArchivedEvent = Selectable<EventRow> & { position: number };
export type Archive = Omit<EventArchiveRow, "content" | "kinds">;

type Line = [seq: number, at: string, actor: string, kind: string, subject: string, data: string];

async function eventsIn({ first, content }: { first: number; content: Buffer }): Promise<ArchivedEvent[]> {
  const lines = String(await unpack(content)).split("\n");
  return lines.map((line, index) => {
    const [seq, at, actor, kind, subject, data] = JSON.parse(line) as Line;
    return { position: Number(first) + index, seq, at, actor, kind, subject, data };
  });
}

const numbers = ["first", "last", "min_seq", "max_seq"] as const;

/** PostgreSQL's driver returns bigint as text. */
const parsed = <T extends Archive>(row: T): T => ({
  ...row,
  ...Object.fromEntries(numbers.map((name) => [name, Number(row[name])])),
});

const columns = ["first", "last", "min_seq", "max_seq", "hash_before", "hash"] as const;

/** The archive that ends last; undefined while nothing is archived. */
export async function newestArchive(query: Query): Promise<Archive | undefined> {
  const row = await query
    .selectFrom("event_archives")
    .select(columns)
    .orderBy("first", "desc")
    .limit(1)
    .executeTakeFirst();
  return row && parsed(row);
}

/** The archive of the lowest position after this one, with its events. */
export async function archiveAfter(
  query: Query,
  position: number,
): Promise<{ archive: Archive; events: ArchivedEvent[] } | undefined> {
  const row = await query
    .selectFrom("event_archives")
    .selectAll()
    .where("last", ">", position)
    .orderBy("first")
    .limit(1)
    .executeTakeFirst();
  return row && { archive: parsed(row), events: await eventsIn(row) };
}

/** Archived events after a position, in order. */
export async function archivedAfter(query: Query, position: number, limit: number): Promise<ArchivedEvent[]> {
  const found: ArchivedEvent[] = [];
  for (let last = position; found.length < limit; ) {
    const next = await archiveAfter(query, last);
    if (!next) break;
    found.push(...next.events.filter((event) => event.position > last));
    last = next.archive.last;
  }
  return found.slice(0, limit);
}

/** The link of an archived event, with its hash computed again. */
export async function archivedLink(
  query: Query,
  by: { position: number } | { seq: number },
): Promise<(ArchivedEvent & { hash: string }) | undefined> {
  const archives = query.selectFrom("event_archives").selectAll();
  const rows = await ("position" in by
    ? archives.where("first", "<=", by.position).where("last", ">=", by.position)
    : archives.where("min_seq", "<=", by.seq).where("max_seq", ">=", by.seq)
  ).execute();
  for (const row of rows) {
    let hash = row.hash_before ?? undefined;
    for (const event of await eventsIn(row)) {
      hash = chainedHash(hash, event.position, event);
      if ("position" in by ? event.position === by.position : event.seq === by.seq) return { ...event, hash };
    }
  }
  return undefined;
}

type Wanted = {
  /** Exactly these subjects. */
  subjects?: readonly string[];
  kinds?: readonly string[];
  /** Only archives with events at or after this position, or with a higher `seq`. */
  from?: number;
  sinceSeq?: number;
  /** Only events before this position: the newest of them, so many. */
  newest?: { before: number; limit: number };
  is?(event: ArchivedEvent): boolean;
};

/** Archived events that fit, in the order of `seq`. Without subjects, every archive with one of the kinds is read. */
export async function archivedOf(query: Query, wanted: Wanted): Promise<ArchivedEvent[]> {
  const { subjects, kinds, from, sinceSeq, newest, is } = wanted;
  const [only, of] = [subjects && new Set(subjects), kinds && new Set(kinds)];
  const found: ArchivedEvent[] = [];
  const archives = await archivesOf(query, wanted);
  if (newest) archives.reverse();
  for (const { first } of archives) {
    if (newest && (first >= newest.before || found.length >= newest.limit)) continue;
    const row = await query.selectFrom("event_archives").selectAll().where("first", "=", first).executeTakeFirst();
    if (!row) continue;
    for (const event of await eventsIn(row)) {
      if ((only && !only.has(event.subject)) || (of && !of.has(event.kind))) continue;
      if (event.position < (from ?? 0) || event.seq <= (sinceSeq ?? 0)) continue;
      if (newest && event.position >= newest.before) continue;
      if (!is || is(event)) found.push(event);
    }
  }
  return found.sort((a, b) => a.seq - b.seq);
}

/** Rows of events with the archived ones that fit, oldest first. The rows are read before: events move to an archive. */
export async function withArchivedRows<T extends Selectable<EventRow>>(
  query: Query,
  rows: T[],
  wanted: Wanted,
): Promise<(T | Selectable<EventRow>)[]> {
  const archived = (await archivedOf(query, wanted)).map(({ position: _, ...event }) => event);
  const known = new Set(archived.map(({ seq }) => seq));
  const live = rows.filter(({ seq }) => !known.has(Number(seq)));
  return [...archived, ...live].sort((a, b) => Number(a.seq) - Number(b.seq));
}

/** Without their contents, which are read one after the other. */
async function archivesOf(query: Query, { subjects, kinds, from, sinceSeq }: Wanted): Promise<{ first: number }[]> {
  const named = new Set<number>();
  for (const batch of batches([...(subjects ?? [])], 500)) {
    const rows = await query
      .selectFrom("event_archive_subjects")
      .select("first")
      .distinct()
      .where("subject", "in", batch)
      .execute();
    for (const { first } of rows) named.add(Number(first));
  }
  if (subjects && named.size === 0) return [];
  let archives = query.selectFrom("event_archives").select(["first", "kinds"]).orderBy("first");
  if (from !== undefined) archives = archives.where("last", ">=", from);
  if (sinceSeq !== undefined) archives = archives.where("max_seq", ">", sinceSeq);
  const rows = (await archives.execute()).map((row) => ({ ...row, first: Number(row.first) }));
  return rows.filter((row) => {
    if (subjects && !named.has(row.first)) return false;
    return !kinds || (JSON.parse(row.kinds) as string[]).some((kind) => kinds.includes(kind));
  });
}

/** The archive of events that follow each other in the chain. */
export async function packed(
  events: (Chained & { seq: number; position: number })[],
  { hashBefore, hash }: { hashBefore: string | undefined; hash: string },
): Promise<EventArchiveRow> {
  const lines = events.map(({ seq, at, actor, kind, subject, data }) =>
    JSON.stringify([seq, at, actor, kind, subject, data] satisfies Line),
  );
  const seqs = events.map(({ seq }) => seq);
  return {
    first: events[0]?.position ?? 0,
    last: events.at(-1)?.position ?? 0,
    min_seq: Math.min(...seqs),
    max_seq: Math.max(...seqs),
    hash_before: hashBefore ?? null,
    hash,
    kinds: JSON.stringify([...new Set(events.map(({ kind }) => kind))]),
    content: await pack(lines.join("\n")),
  };
}

/** Saves an archive and deletes the rows of its events. */
export async function moveToArchive(tx: Query, archive: EventArchiveRow, subjects: Iterable<string>): Promise<void> {
  const { first, last } = archive;
  await tx.insertInto("event_archives").values(archive).execute();
  const rows = [...subjects].map((subject) => ({ subject, first }));
  for (const batch of batches(rows, 500)) await tx.insertInto("event_archive_subjects").values(batch).execute();
  const chain = tx.selectFrom("event_chain").select("seq").where("position", "<=", last);
  await tx.deleteFrom("events").where("seq", "in", chain).execute();
  await tx.deleteFrom("event_chain").where("position", "<=", last).execute();
}
