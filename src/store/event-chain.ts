import { setTimeout as sleep } from "node:timers/promises";
import { type Chained, chainedHash } from "./chained-hash.ts";
import type { Database, Query } from "./database.ts";
import { crashPoint } from "./disk/crash.ts";
import { outsideCalls } from "./idempotency.ts";
import { archiveAfter, archivedLink } from "./queries/event-archives.ts";
import {
  type Gap,
  gaps,
  highestSealed,
  insertLinks,
  type Link,
  type LinkedEvent,
  lastLink,
  linkAt,
  linksAfter,
  maySeal,
  replaceGaps,
  transactionsWithEvents,
  unsealedEvents,
} from "./queries/event-chain.ts";

/**
 * The order of events, independent of the engine and the cluster, and a hash chain over it.
 *
 *   writers ──▶ events            committed, without a position
 *   readers ──▶ sealEvents ──▶ event_chain    position 1, 2, 3 …, hash = SHA-256(previous hash, position, event)
 *
 * One process seals at a time; writers neither wait for it nor do anything for it. An event that commits late gets
 * a later position, so a reader that has seen position n never misses an event at or below n.
 */

/** The newest link: all events up to `position` are determined by `hash`. */
export type ChainHead = { position: number; hash: string };

/** The trailer of commits that carries the head at that time, so that git can prove a rewritten log. */
export const headTrailer = "Events";
export const formatHead = ({ position, hash }: ChainHead): string => `${position} ${hash}`;

/** Reads the value of the trailer; undefined if it is malformed. */
export function parseHead(value: string): ChainHead | undefined {
  const [, position, hash] = /^(\d{1,15}) ([0-9a-f]{64})$/.exec(value.trim()) ?? [];
  return position && hash ? { position: Number(position), hash } : undefined;
}

const sealedAtOnce = 500;
/** A seal is a transaction: readers of a busy log share one. */
const betweenSealsMs = 50;
/** How long a reader waits for another process that seals, before it reads what is sealed so far. */
const patienceMs = 1000;

const sealers = new WeakMap<Database, () => Promise<void>>();

/** Gives every event that is committed now a position. Resolves too when another process has been sealing for long. */
export function sealEvents(db: Database): Promise<void> {
  const seal = sealers.get(db) ?? openSealer(db);
  sealers.set(db, seal);
  return seal();
}

/** The newest link, after sealing; undefined while there are no events. */
export async function chainHead(db: Database): Promise<ChainHead | undefined> {
  await sealEvents(db);
  const link = await lastLink(db.read);
  return link && { position: link.position, hash: link.hash };
}

/** The first link that does not hold. `what` names the kind of damage. */
export type BrokenLink = {
  position: number;
  /**
   * `event_missing`: the event of this position was deleted. `link_missing`: the position itself was.
   * `hash_differs`: the event, its place or an earlier link was changed. `head_missing`: the log ends before this
   * position, which was recorded elsewhere. `head_differs`: it has another hash than was recorded elsewhere.
   * `archive_differs`: an event of the archive that begins here was changed.
   */
  what: "event_missing" | "link_missing" | "hash_differs" | "head_missing" | "head_differs" | "archive_differs";
  /** The hash that is stored, or was recorded elsewhere; null if there is none. */
  expected: string | null;
  /** The hash of what the database has; null if there is nothing. */
  found: string | null;
};

/**
 * Computes every hash again. `recorded` are heads that were kept outside of the database, e.g. in git: they prove
 * a truncated tail and a log whose hashes were all recomputed. Returns the broken link with the lowest position.
 */
export async function verifyChain(
  db: Database,
  recorded: ChainHead[] = [],
): Promise<{ head: ChainHead | undefined; broken: BrokenLink | undefined; archived: number }> {
  await sealEvents(db);
  const elsewhere = await firstUnprovedHead(db.read, recorded);
  const lowest = (broken: BrokenLink) => (elsewhere && elsewhere.position < broken.position ? elsewhere : broken);
  let head: ChainHead | undefined;
  let archived = 0;
  const found = (broken: BrokenLink | undefined) => ({ head, broken, archived });
  for (;;) {
    const links = await linksAfter(db.read, { position: head?.position ?? 0, limit: sealedAtOnce });
    // Read after the links: what is archived meanwhile is found here.
    const next = links[0]?.position === (head?.position ?? 0) + 1 ? undefined : await archivedPart(db.read, head);
    if (next) {
      if (next.hash !== next.expected) {
        const { position, hash, expected } = next;
        return found(lowest({ position, what: "archive_differs", expected, found: hash }));
      }
      archived = next.last;
      head = { position: next.last, hash: next.hash };
      continue;
    }
    for (const link of links) {
      const position = (head?.position ?? 0) + 1;
      if (link.position !== position)
        return found(lowest({ position, what: "link_missing", expected: null, found: null }));
      if (!hasEvent(link)) return found(lowest({ position, what: "event_missing", expected: link.hash, found: null }));
      const hash = chainedHash(head?.hash, position, link);
      if (hash !== link.hash)
        return found(lowest({ position, what: "hash_differs", expected: link.hash, found: hash }));
      head = { position, hash: link.hash };
    }
    if (links.length < sealedAtOnce) return found(elsewhere);
  }
}

/** The archive that goes on after a position, with the hash of its last event as it is and as it should be. */
async function archivedPart(query: Query, head: ChainHead | undefined) {
  const position = (head?.position ?? 0) + 1;
  const next = await archiveAfter(query, position - 1);
  if (next?.archive.first !== position) return undefined;
  let hash = head?.hash;
  for (const event of next.events) hash = chainedHash(hash, event.position, event);
  const { last, hash: expected } = next.archive;
  const isWhole = next.events.at(-1)?.position === last;
  return { position, last, expected, hash: isWhole ? (hash ?? "") : "" };
}

async function firstUnprovedHead(query: Query, recorded: ChainHead[]): Promise<BrokenLink | undefined> {
  for (const { position, hash } of [...recorded].sort((a, b) => a.position - b.position)) {
    const link = (await linkAt(query, position)) ?? (await archivedLink(query, { position }));
    const found = link?.hash ?? null;
    if (found !== hash)
      return { position, what: found === null ? "head_missing" : "head_differs", expected: hash, found };
  }
  return undefined;
}

const hasEvent = (link: LinkedEvent): link is LinkedEvent & Chained => link.at !== null;

/** Callers during a run share the next run: the present one may have begun before what they want was committed. */
function openSealer(db: Database): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let mayAgainAt = 0;

  async function sealAll(): Promise<void> {
    const giveUpAt = performance.now() + patienceMs;
    while ((await unsealedEvents[db.engine](db.read, { limit: 1 })).length > 0) {
      if (performance.now() < mayAgainAt) await sleep(mayAgainAt - performance.now());
      const sealed = await db.write(async (tx) => {
        const count = await sealSome(tx, db.engine);
        crashPoint("events-sealed");
        return count;
      });
      if (sealed === undefined) {
        if (performance.now() > giveUpAt) return;
        await sleep(5);
      } else mayAgainAt = sealed < sealedAtOnce ? performance.now() + betweenSealsMs : 0;
    }
  }

  function start(): Promise<void> {
    next = undefined;
    const now = outsideCalls(sealAll).finally(() => {
      if (running === now) running = undefined;
    });
    running = now;
    return now;
  }

  return () => {
    if (!running) return start();
    next ??= running.catch(() => undefined).then(start);
    return next;
  };
}

/** Seals one batch and returns its size; undefined while another process seals. */
async function sealSome(tx: Query, engine: Database["engine"]): Promise<number | undefined> {
  if (engine === "postgres") return (await maySeal(tx)) ? sealWithGaps(tx) : undefined;
  return insertLinks.sqlite(tx, linked(await lastLink(tx), await unsealedEvents.sqlite(tx, { limit: sealedAtOnce })))
    .length;
}

async function sealWithGaps(tx: Query): Promise<number> {
  const open = await gaps(tx);
  const running = open.length > 0 ? await transactionsWithEvents(tx) : [];
  const highest = await highestSealed(tx);
  const last = await lastLink(tx);
  // Read after the list of transactions: one that is not in it has ended, and what it wrote is seen here.
  const events = await unsealedEvents.postgres(tx, { limit: sealedAtOnce });
  await insertLinks.postgres(tx, linked(last, events));
  const sealed = events.map(({ seq }) => seq);
  const skipped = withoutNumbers(
    [{ first: highest + 1, last: sealed.at(-1) ?? highest, holders: [] }],
    sealed.filter((seq) => seq > highest),
  );
  // Listed after the events were read: whoever took a skipped number holds its lock, or has ended.
  const holders = skipped.length > 0 ? await transactionsWithEvents(tx) : [];
  const isOpen = ({ holders }: Gap) => events.length === sealedAtOnce || holders.some((id) => running.includes(id));
  const left = [...withoutNumbers(open.filter(isOpen), sealed), ...skipped.map((gap) => ({ ...gap, holders }))];
  if (open.length > 0 || left.length > 0) await replaceGaps(tx, left);
  return events.length;
}

function linked(last: Link | undefined, events: (Chained & { seq: number })[]): Link[] {
  let { position, hash }: { position: number; hash?: string } = last ?? { position: 0 };
  return events.map((event) => {
    position++;
    hash = chainedHash(hash, position, event);
    return { position, seq: event.seq, hash };
  });
}

/** The ranges without those numbers, which are in ascending order. */
function withoutNumbers(ranges: Gap[], numbers: number[]): Gap[] {
  return ranges.flatMap(({ first, last, holders }) => {
    const left: Gap[] = [];
    let from = first;
    for (const number of numbers) {
      if (number < from || number > last) continue;
      if (number > from) left.push({ first: from, last: number - 1, holders });
      from = number + 1;
    }
    return from <= last ? [...left, { first: from, last, holders }] : left;
  });
}
