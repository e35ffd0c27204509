import { sql } from "kysely";
import { advisoryLock } from "../../store/advisory-lock.ts";
import { batches } from "../../store/batches.ts";
import type { Database, Query } from "../../store/database.ts";
import { analyze } from "../../store/statistics.ts";
import type { Kind } from "../kinds.ts";
import { nameOf, prepare } from "./keeper/prepare.ts";
import { replaceAll } from "./keeper/rows.ts";
import { learner } from "./spelling.ts";

const atOnce = 200;

/** Keeps the index true: behind writes, and before each search. */
export function indexKeeper(db: Database, kinds: readonly Kind[], sections: () => Promise<string[]> = async () => []) {
  const byName = new Map(kinds.map((kind) => [kind.name, kind]));
  const vocabulary = learner();
  let seen: string | undefined;

  /** A section that left the schema takes its entry out of sight, though the entry is as it was. */
  async function noticeSections(): Promise<void> {
    const now = nameOf(...(await sections()));
    if (now === seen) return;
    const row = await db.read.selectFrom("meta").select("value").where("key", "=", sectionsSeen).executeTakeFirst();
    if (row?.value !== now) {
      await db.write(async (tx) => {
        await again.execute(tx);
        await tx
          .insertInto("meta")
          .values({ key: sectionsSeen, value: now })
          .onConflict((conflict) => conflict.column("key").doUpdateSet({ value: now }))
          .execute();
      });
    }
    seen = now;
  }

  /** Takes in some of what changed; how much it was. */
  async function catchUp(): Promise<number> {
    await noticeSections();
    const tickets = await db.read.selectFrom("search_queue").selectAll().orderBy("ticket").limit(atOnce).execute();
    if (tickets.length === 0) return 0;
    const latest = new Map(tickets.map((row) => [`${row.kind}:${row.thing}`, row]));
    const work = await Promise.all(
      [...latest.values()].map(async ({ kind, thing, ticket }) => {
        const found = await byName.get(kind)?.read(thing);
        return { kind, id: thing, ticket, found: found && prepare(found) };
      }),
    );
    const isKept = await db.write(async (tx) => {
      await advisoryLock(tx, db.engine, "(search)");
      const waiting = await stillWaiting(
        tx,
        tickets.map((row) => row.ticket),
      );
      // Whoever struck a ticket off has indexed this state, or a later one.
      await replaceAll(
        tx,
        db.engine,
        work.filter(({ ticket }) => waiting.has(ticket)),
      );
      const words = work.flatMap(({ found }) => found?.parts.flatMap(({ words }) => words.body) ?? []);
      const learned = await vocabulary.learn(tx, words);
      await tx
        .deleteFrom("search_queue")
        .where(
          "ticket",
          "in",
          tickets.map((row) => row.ticket),
        )
        .execute();
      return learned;
    });
    isKept();
    return tickets.length;
  }

  return {
    catchUp,
    noticeSections,
    /** Everything again from the beginning, as after a change of how texts are cut. */
    async rebuild(): Promise<number> {
      const ids = await Promise.all(
        kinds.map(async (kind) => (await kind.all()).map((thing) => ({ kind: kind.name, thing }))),
      );
      const rows = ids.flat();
      await db.write(async (tx) => {
        await advisoryLock(tx, db.engine, "(search)");
        for (const table of ["passage_text", "passage_links", "passages", "things", "search_queue"] as const)
          await tx.deleteFrom(table).execute();
        await vocabulary.forget(tx);
        for (const some of batches(rows, 500)) await tx.insertInto("search_queue").values(some).execute();
      });
      while ((await catchUp()) > 0);
      await db.write((tx) => analyze(tx, db.engine, ["things", "passages", "passage_text", "passage_links"]));
      return rows.length;
    },
    async pending(): Promise<number> {
      const { count } = await db.read
        .selectFrom("search_queue")
        .select((x) => x.fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow();
      return Number(count);
    },
  };
}

const sectionsSeen = "search-sections";

const again = sql`INSERT INTO search_queue (kind, thing) SELECT 'entry', id FROM entries`;

async function stillWaiting(tx: Query, tickets: number[]): Promise<Set<number>> {
  const rows = await tx.selectFrom("search_queue").select("ticket").where("ticket", "in", tickets).execute();
  return new Set(rows.map((row) => row.ticket));
}
