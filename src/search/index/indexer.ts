import type { Folders } from "../../kernel/markdown/links.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import { batches } from "../../store/batches.ts";
import type { Database } from "../../store/database.ts";
import { countRows } from "../../store/queries/counts.ts";
import { deleteTickets, nextTickets, resetIndex, ticketsStillQueued } from "../../store/queries/search/queue.ts";
import { analyze } from "../../store/statistics.ts";
import type { Kind } from "../kinds.ts";
import { prepare } from "./prepare.ts";
import { replaceThings, type ThingUpdate } from "./replace.ts";
import { vocabulary } from "./spelling.ts";

const batchSize = 200;
/** With PostgreSQL a read waits for the network; with SQLite it does not, and more at once only hold more memory. */
const readsAtOnce = 8;

/** Indexes the things in `search_queue`: in the background after writes, and before each search. */
export function indexer(db: Database, kinds: readonly Kind[], folders: Folders) {
  const byName = new Map(kinds.map((kind) => [kind.name, kind]));
  const words = vocabulary();

  /**
   * Indexes a batch of changes; returns its size. A search, which has no time for all of a large import, begins with
   * the newest: what was just written is what its caller looks for.
   */
  async function catchUp(from: "oldest" | "newest" = "oldest"): Promise<number> {
    const rows = await nextTickets(db.read, batchSize, from);
    if (rows.length === 0) return 0;
    const tickets = rows.map(({ ticket }) => ticket);
    const latest = new Map(rows.map((row) => [`${row.kind}:${row.thing}`, row]));
    const updates: (ThingUpdate & { ticket: number })[] = [];
    for (const batch of batches([...latest.values()], readsAtOnce)) {
      const read = batch.map(async ({ kind, thing, ticket }) => {
        const found = await byName.get(kind)?.read(thing);
        return { kind, id: thing, ticket, found: found && (await prepare({ kind, id: thing }, found, folders)) };
      });
      updates.push(...(await Promise.all(read)));
    }
    const remember = await db.write(async (tx) => {
      await advisoryLock(tx, db.engine, "(search)");
      // A ticket that is gone was indexed by another process, in this state or a later one.
      const queued = await ticketsStillQueued(tx, tickets);
      await replaceThings(
        tx,
        db.engine,
        updates.filter(({ ticket }) => queued.has(ticket)),
      );
      const passages = updates.flatMap(({ found }) => found?.passages ?? []);
      const remember = await words.learn(
        tx,
        passages.map((passage) => passage.words.body),
      );
      await deleteTickets(tx, tickets);
      return remember;
    });
    remember();
    return tickets.length;
  }

  return {
    catchUp,
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
        await resetIndex(tx, db.engine, things);
        await words.forget(tx);
      });
      while ((await catchUp()) > 0);
      await db.write((tx) => analyze(tx, db.engine, ["things", "passages", "passage_text", "passage_links"]));
      return things.length;
    },
    pending: () => countRows(db.read, "search_queue"),
  };
}
