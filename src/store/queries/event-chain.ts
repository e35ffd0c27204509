import { type Selectable, sql } from "kysely";
import { batches } from "../batches.ts";
import type { Query } from "../database.ts";
import { onEach, prepared, withAll, withEach } from "../prepared.ts";
import type { EventRow } from "../tables.ts";

/** The rows of the event chain; store/event-chain.ts has its rules. */

export type Link = { position: number; seq: number; hash: string };
/** Sequence numbers that were skipped, and the transactions that may still commit them. */
export type Gap = { first: number; last: number; holders: string[] };
/** A link with its event; the event's columns are null if it was deleted. */
export type LinkedEvent = Link & { [K in "at" | "actor" | "kind" | "subject" | "data"]: string | null };

export const lastLink = async (query: Query): Promise<Link | undefined> => (await selectLast(query, {}))[0];

const selectLast = prepared<object, Link>((query) =>
  query.selectFrom("event_chain").selectAll().orderBy("position", "desc").limit(1),
);

export const linkAt = (query: Query, position: number): Promise<Link | undefined> =>
  query.selectFrom("event_chain").selectAll().where("position", "=", position).executeTakeFirst();

export const linkOf = (query: Query, seq: number): Promise<Link | undefined> =>
  query.selectFrom("event_chain").selectAll().where("seq", "=", seq).executeTakeFirst();

type Sealed = Omit<Selectable<EventRow>, "seq"> & { position: number };

/** Sealed events after a position, in order. */
export const sealedAfter = prepared<{ position: number; limit: number }, Sealed>(
  (_, slot) => sql<Sealed>`
    SELECT event_chain.position, events.at, events.actor, events.kind, events.subject, events.data
    FROM event_chain JOIN events ON events.seq = event_chain.seq
    WHERE event_chain.position > ${slot("position")} ORDER BY event_chain.position LIMIT ${slot("limit")}`,
);

/** Links after a position with their events, deleted ones included. */
export const linksAfter = prepared<{ position: number; limit: number }, LinkedEvent>(
  (_, slot) => sql<LinkedEvent>`
    SELECT event_chain.position, event_chain.seq, event_chain.hash,
      events.at, events.actor, events.kind, events.subject, events.data
    FROM event_chain LEFT JOIN events ON events.seq = event_chain.seq
    WHERE event_chain.position > ${slot("position")} ORDER BY event_chain.position LIMIT ${slot("limit")}`,
);

/**
 * Committed events without a position, in the order of `seq`. SQLite commits in that order; PostgreSQL may commit a
 * number that was skipped later. One statement, thus one snapshot. The inner limits keep a long backlog out of the sort.
 */
export const unsealedEvents = onEach<{ limit: number }, Selectable<EventRow>>((engine, slot) => {
  const limit = slot("limit");
  const highest = sql`(SELECT coalesce(max(seq), 0) FROM event_chain)`;
  const fresh = sql`SELECT * FROM events WHERE seq > ${highest} ORDER BY seq LIMIT ${limit}`;
  if (engine === "sqlite") return sql`${fresh}`;
  return sql`
    SELECT * FROM (${fresh}) AS fresh
    UNION ALL
    SELECT late.* FROM event_gaps, LATERAL (
      SELECT * FROM events WHERE seq BETWEEN event_gaps.first AND least(event_gaps.last, ${highest})
        AND NOT EXISTS (SELECT 1 FROM event_chain WHERE event_chain.seq = events.seq)
      ORDER BY seq LIMIT ${limit}
    ) AS late
    ORDER BY seq LIMIT ${limit}`;
});

/** Events without a position although later ones have theirs; after sealing, they were inserted by hand. */
export async function strayEvents(query: Query, limit: number): Promise<Selectable<EventRow>[]> {
  const { rows } = await sql<Selectable<EventRow>>`
    SELECT events.* FROM events LEFT JOIN event_chain ON event_chain.seq = events.seq
    WHERE event_chain.seq IS NULL AND events.seq < (SELECT max(seq) FROM event_chain)
    ORDER BY events.seq LIMIT ${limit}`.execute(query);
  return rows;
}

/** The highest sealed sequence number. */
export async function highestSealed(query: Query): Promise<number> {
  const { rows } = await sql<{ seq: number | null }>`SELECT max(seq) AS seq FROM event_chain`.execute(query);
  return Number(rows[0]?.seq ?? 0);
}

export const insertLinks = {
  sqlite: withEach<Link>(
    (part) => sql`
      INSERT INTO event_chain (position, seq, hash)
      VALUES (${part((link) => link.position)}, ${part((link) => link.seq)}, ${part((link) => link.hash)})`,
  ),
  postgres: withAll<Link, unknown>(
    { position: "bigint", seq: "bigint", hash: "text" },
    (given) => sql`INSERT INTO event_chain (position, seq, hash) SELECT position, seq, hash FROM ${given}`,
  ),
};

/** PostgreSQL: true for one transaction at a time, until it ends. */
export async function maySeal(tx: Query): Promise<boolean> {
  const { rows } = await sql<{ mine: boolean }>`
    SELECT pg_try_advisory_xact_lock(hashtextextended('event-chain', 7346)) AS mine`.execute(tx);
  return rows[0]?.mine === true;
}

/**
 * PostgreSQL: the other transactions that have written events and not ended. An INSERT locks the table before it
 * takes a sequence number and until its transaction ends. Unlike transaction ids, this says nothing about other
 * databases of the cluster, and means nothing in a copy.
 */
export async function transactionsWithEvents(tx: Query): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    SELECT DISTINCT virtualtransaction AS id FROM pg_locks
    WHERE locktype = 'relation' AND relation = 'events'::regclass AND mode = 'RowExclusiveLock'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND pid IS DISTINCT FROM pg_backend_pid()`.execute(tx);
  return rows.map(({ id }) => id);
}

export async function gaps(query: Query): Promise<Gap[]> {
  const rows = await query.selectFrom("event_gaps").selectAll().orderBy("first").execute();
  return rows.map(({ first, last, holders }) => ({ first, last, holders: JSON.parse(holders) as string[] }));
}

export async function replaceGaps(tx: Query, to: Gap[]): Promise<void> {
  await tx.deleteFrom("event_gaps").execute();
  const rows = to.map(({ holders, ...range }) => ({ ...range, holders: JSON.stringify(holders) }));
  for (const batch of batches(rows, 1000)) await tx.insertInto("event_gaps").values(batch).execute();
}

/** PostgreSQL: true for one transaction at a time that archives, until it ends. */
export async function mayArchive(tx: Query): Promise<boolean> {
  const { rows } = await sql<{ mine: boolean }>`
    SELECT pg_try_advisory_xact_lock(hashtextextended('event-archive', 7346)) AS mine`.execute(tx);
  return rows[0]?.mine === true;
}
