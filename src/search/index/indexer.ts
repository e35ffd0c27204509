import type { Folders } from "../../kernel/markdown/links.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import type { Database } from "../../store/database.ts";
import { countRows } from "../../store/queries/counts.ts";
import { findMeta, setMeta } from "../../store/queries/meta.ts";
import {
  deleteTickets,
  enqueueAllEntries,
  oldestTickets,
  resetIndex,
  ticketsStillQueued,
} from "../../store/queries/search/queue.ts";
import { analyze } from "../../store/statistics.ts";
import type { Kind } from "../kinds.ts";
import { hashOf, prepare } from "./prepare.ts";
import { replaceThings } from "./replace.ts";
import { vocabulary } from "./spelling.ts";

const batchSize = 200;
const sectionsKey = "search-sections";

type Options = { folders: Folders; sections?(): Promise<string[]> };

/** Indexes the things in `search_queue`: in the background after writes, and before each search. */
export function indexer(db: Database, kinds: readonly Kind[], { folders, sections }: Options) {
  const byName = new Map(kinds.map((kind) => [kind.name, kind]));
  const words = vocabulary();
  let seenSections: string | undefined;

  /**
   * Reindexes all entries when the schema's sections changed: an entry whose section was removed is hidden,
   * although no write to the entry queued it.
   */
  async function noticeSections(): Promise<void> {
    const now = hashOf(...((await sections?.()) ?? []));
    if (now === seenSections) return;
    if ((await findMeta(db.read, sectionsKey)) !== now) {
      await db.write(async (tx) => {
        await enqueueAllEntries(tx);
        await setMeta(tx, sectionsKey, now);
      });
    }
    seenSections = now;
  }

  /** Indexes the oldest batch of changes; returns its size. */
  async function catchUp(): Promise<number> {
    await noticeSections();
    const rows = await oldestTickets(db.read, batchSize);
    if (rows.length === 0) return 0;
    const tickets = rows.map(({ ticket }) => ticket);
    const latest = new Map(rows.map((row) => [`${row.kind}:${row.thing}`, row]));
    const updates = await Promise.all(
      [...latest.values()].map(async ({ kind, thing, ticket }) => {
        const found = await byName.get(kind)?.read(thing);
        return { kind, id: thing, ticket, found: found && prepare({ kind, id: thing }, found, folders) };
      }),
    );
    const remember = await db.write(async (tx) => {
      await advisoryLock(tx, db.engine, "(search)");
      // A ticket that is gone was indexed by another process, in this state or a later one.
      const queued = await ticketsStillQueued(tx, tickets);
      await replaceThings(
        tx,
        db.engine,
        updates.filter(({ ticket }) => queued.has(ticket)),
      );
      const learned = updates.flatMap(({ found }) => found?.passages.flatMap((passage) => passage.words.body) ?? []);
      const remember = await words.learn(tx, learned);
      await deleteTickets(tx, tickets);
      return remember;
    });
    remember();
    return tickets.length;
  }

  return {
    catchUp,
    noticeSections,
    /** Queues changes that no trigger reports, of these kinds or of all. Returns notes for the result of a search. */
    async refresh(names: readonly string[] = [...byName.keys()]): Promise<string[]> {
      const notes = await Promise.all(names.map((name) => byName.get(name)?.refresh?.()));
      return notes.flatMap((some) => some ?? []);
    },
    /** Empties the index and indexes everything; needed after a change of how texts are split. */
    async rebuild(): Promise<number> {
      const ids = await Promise.all(
        kinds.map(async (kind) => (await kind.all()).map((thing) => ({ kind: kind.name, thing }))),
      );
      const things = ids.flat();
      await db.write(async (tx) => {
        await advisoryLock(tx, db.engine, "(search)");
        await resetIndex(tx, things);
        await words.forget(tx);
      });
      while ((await catchUp()) > 0);
      await db.write((tx) => analyze(tx, db.engine, ["things", "passages", "passage_text", "passage_links"]));
      return things.length;
    },
    pending: () => countRows(db.read, "search_queue"),
  };
}
