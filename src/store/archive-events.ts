import { chainedHash } from "./chained-hash.ts";
import type { Database } from "./database.ts";
import { sealEvents } from "./event-chain.ts";
import { moveToArchive, newestArchive, packed } from "./queries/event-archives.ts";
import { gaps, highestSealed, linksAfter, mayArchive } from "./queries/event-chain.ts";

/** One archive: small enough to be read for a single event. */
export const eventsPerArchive = 2000;

/** Thrown when the oldest events are not as they were sealed: archives would hide that. */
export class ChainBroken extends Error {
  constructor(position: number) {
    super(`event ${position} is not as it was sealed; nothing was archived. scriptorium doctor says more`);
    this.name = "ChainBroken";
  }
}

type Wanted = { before: string; size?: number; isStopped?: () => boolean };

/**
 * Packs the oldest events, in the order of their positions and in whole archives, as long as they were written before a
 * time. They stay in the database: the log goes on in the archives, and its hashes prove them as before.
 *
 *   event_archives   1 … 2000 | 2001 … 4000 |      events, event_chain   4001 … newest
 *
 * Returns the number of archived events.
 */
export async function archiveEvents(
  db: Database,
  { before, size = eventsPerArchive, isStopped = () => false }: Wanted,
): Promise<number> {
  await sealEvents(db);
  let count = 0;
  while (!isStopped()) {
    const archived = await archiveOne(db, before, size);
    if (archived === 0) return count;
    count += archived;
  }
  return count;
}

/** The number of events that `archiveEvents` would archive now. */
export async function archivable(db: Database, { before, size = eventsPerArchive }: Wanted): Promise<number> {
  await sealEvents(db);
  let position = (await newestArchive(db.read))?.last ?? 0;
  let count = 0;
  for (;;) {
    const links = await linksAfter(db.read, { position, limit: size + 1 });
    if (links.length <= size || (links[size - 1]?.at ?? "~") >= before) return count;
    count += size;
    position += size;
  }
}

/** Reads and packs before the transaction: events do not change. */
async function archiveOne(db: Database, before: string, size: number): Promise<number> {
  const { last, links } = await db.snapshot(async (tx) => {
    const last = await newestArchive(tx);
    return { last, links: await linksAfter(tx, { position: last?.last ?? 0, limit: size + 1 }) };
  });
  // One event stays, so that the log has a newest one.
  if (links.length <= size || (links[size - 1]?.at ?? "~") >= before) return 0;
  let hash = last?.hash;
  const events = links.slice(0, size).map((link, index) => {
    const position = (last?.last ?? 0) + 1 + index;
    const { seq, at, actor, kind, subject, data } = link;
    if (link.position !== position || !(at && actor !== null && kind && subject !== null && data !== null))
      throw new ChainBroken(position);
    const event = { seq: Number(seq), position, at, actor, kind, subject, data };
    hash = chainedHash(hash, position, event);
    if (hash !== link.hash) throw new ChainBroken(position);
    return event;
  });
  const archive = await packed(events, { hashBefore: last?.hash, hash: hash ?? "" });
  return db.write(async (tx) => {
    if (db.engine === "postgres" && !(await mayArchive(tx))) return 0;
    if ((await newestArchive(tx))?.last !== last?.last) return 0;
    // On PostgreSQL a lower number may still be committed; what is sealed next is found by the highest one.
    const open = db.engine === "postgres" ? await gaps(tx) : [];
    if (open.some(({ first }) => first <= archive.max_seq) || (await highestSealed(tx)) <= archive.max_seq) return 0;
    await moveToArchive(tx, archive, new Set(events.map(({ subject }) => subject)));
    return size;
  });
}
