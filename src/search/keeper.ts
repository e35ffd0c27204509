import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { Database, Query } from "../store/database.ts";
import { lockEntry } from "../store/entries.ts";
import { prepared } from "../store/prepared.ts";
import type { ThingRow } from "../store/tables.ts";
import { type Chunk, chunk, type Document } from "./chunk.ts";
import type { Kind, Readable } from "./kinds.ts";
import { linksIn } from "./links.ts";
import { learnWords } from "./spelling.ts";
import { lengthOf, lexemes, wordsIn } from "./words.ts";

const atOnce = 200;

/** Keeps the index true: behind writes, and before each search. */
export function indexKeeper(db: Database, kinds: readonly Kind[], sections: () => Promise<string[]> = async () => []) {
  const byName = new Map(kinds.map((kind) => [kind.name, kind]));
  const known = new Set<string>();
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
    await db.write(async (tx) => {
      await lockEntry(tx, db.engine, "(search)");
      const waiting = await stillWaiting(
        tx,
        tickets.map((row) => row.ticket),
      );
      const fresh: Fresh[] = [];
      for (const { kind, id, ticket, found } of work) {
        // Whoever struck the ticket off has indexed this state, or a later one.
        if (waiting.has(ticket)) fresh.push(...(await replace(tx, { kind, id }, found)));
      }
      await add(tx, db.engine, fresh);
      const words = work.flatMap(({ found }) => found?.chunks.flatMap(({ words }) => words.body) ?? []);
      await learnWords(tx, words, known);
      await tx
        .deleteFrom("search_queue")
        .where(
          "ticket",
          "in",
          tickets.map((row) => row.ticket),
        )
        .execute();
    });
    return tickets.length;
  }

  return {
    catchUp,
    /** Everything again from the beginning, as after a change of how texts are cut. */
    async rebuild(): Promise<number> {
      const ids = await Promise.all(
        kinds.map(async (kind) => (await kind.all()).map((thing) => ({ kind: kind.name, thing }))),
      );
      const rows = ids.flat();
      await db.write(async (tx) => {
        await lockEntry(tx, db.engine, "(search)");
        for (const table of [
          "passage_text",
          "passage_links",
          "passages",
          "things",
          "vocabulary",
          "search_queue",
        ] as const)
          await tx.deleteFrom(table).execute();
        for (let from = 0; from < rows.length; from += 500)
          await tx
            .insertInto("search_queue")
            .values(rows.slice(from, from + 500))
            .execute();
      });
      known.clear();
      while ((await catchUp()) > 0);
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

type Prepared = {
  about: Readable;
  chunks: (Chunk & { words: ReturnType<typeof wordsIn>; hash: string; state: string; links: string[] })[];
};

function prepare(found: Readable): Prepared {
  const document: Document = { title: clean(found.title), text: clean(found.text) };
  const chunks = chunk(document).map((part) => {
    const hash = nameOf(document.title, part.heading, part.body);
    return { ...part, words: wordsIn(document, part), hash, state: nameOf(hash, part.near), links: linksIn(part.body) };
  });
  return { about: { ...found, title: document.title }, chunks };
}

/** PostgreSQL keeps neither NUL nor half of a surrogate pair. */
const clean = (text: string) => text.replaceAll("\0", "").replace(/\p{Surrogate}/gu, "\ufffd");

const nameOf = (...texts: string[]) => createHash("sha256").update(texts.join("\0")).digest("base64url").slice(0, 22);

async function stillWaiting(tx: Query, tickets: number[]): Promise<Set<number>> {
  const rows = await tx.selectFrom("search_queue").select("ticket").where("ticket", "in", tickets).execute();
  return new Set(rows.map((row) => row.ticket));
}

type Part = Prepared["chunks"][number];
type Fresh = { thing: number; part: number; chunk: Part };

/** Parts that are as they were stay as they are: a line more in a long log costs a line. Gives what is to be added. */
async function replace(
  tx: Query,
  { kind, id }: { kind: string; id: string },
  found: Prepared | undefined,
): Promise<Fresh[]> {
  const row = (await findThing(tx, { kind, id }))[0];
  const had = row ? await partsOf(tx, { thing: row.num }) : [];
  if (!found || found.chunks.length === 0) {
    await forget(
      tx,
      had.map((part) => part.num),
    );
    if (row) await tx.deleteFrom("things").where("num", "=", row.num).execute();
    return [];
  }
  const { title, author, at, run = "", type = kind } = found.about;
  const about = { title, author, at, run, type };
  if (row) await tx.updateTable("things").set(about).where("num", "=", row.num).execute();
  const thing = row?.num ?? (await insertThing(tx, { kind, id, ...about }))[0]?.num ?? 0;

  const same = new Map<string, typeof had>();
  for (const part of had) same.set(part.state, [...(same.get(part.state) ?? []), part]);
  const fresh: Fresh[] = [];
  for (const [part, chunk] of found.chunks.entries()) {
    const old = same.get(chunk.state)?.shift();
    if (!old) fresh.push({ thing, part, chunk });
    else if (old.part !== part || old.line !== chunk.line)
      await tx.updateTable("passages").set({ part, line: chunk.line }).where("num", "=", old.num).execute();
  }
  await forget(
    tx,
    [...same.values()].flat().map((part) => part.num),
  );
  return fresh;
}

const findThing = prepared<{ kind: string; id: string }, { num: number }>((query, slot) =>
  query.selectFrom("things").select("num").where("kind", "=", slot("kind")).where("id", "=", slot("id")),
);

const insertThing = prepared<Omit<ThingRow, "num">, { num: number }>((query, slot) =>
  query
    .insertInto("things")
    .values({
      kind: slot("kind"),
      id: slot("id"),
      title: slot("title"),
      author: slot("author"),
      at: slot("at"),
      run: slot("run"),
      type: slot("type"),
    })
    .returning("num"),
);

const partsOf = prepared<{ thing: number }, { num: number; part: number; line: number; state: string }>((query, slot) =>
  query
    .selectFrom("passages")
    .select(["num", "part", "line", "state"])
    .where("thing", "=", slot("thing"))
    .orderBy("part"),
);

async function add(tx: Query, engine: Database["engine"], fresh: Fresh[]): Promise<void> {
  for (const some of portions(fresh, 100)) {
    const rows = await tx
      .insertInto("passages")
      .values(
        some.map(({ thing, part, chunk: { heading, line, body, hash, state } }) => ({
          thing,
          part,
          heading,
          line,
          body,
          hash,
          state,
        })),
      )
      .returning(["num", "thing", "part"])
      .execute();
    const nums = new Map(rows.map(({ num, thing, part }) => [`${thing}/${part}`, num]));
    const placed = some.map(({ thing, part, chunk }) => ({ num: nums.get(`${thing}/${part}`) ?? 0, chunk }));
    await insertTexts[engine](tx, placed);
    const links = placed.flatMap(({ num, chunk }) => chunk.links.map((target) => ({ passage: num, target })));
    for (const part of portions(links, 400)) await tx.insertInto("passage_links").values(part).execute();
  }
}

async function forget(tx: Query, nums: number[]): Promise<void> {
  for (const some of portions(nums, 500)) {
    await tx.deleteFrom("passage_text").where("rowid", "in", some).execute();
    await tx.deleteFrom("passage_links").where("passage", "in", some).execute();
    await tx.deleteFrom("passages").where("num", "in", some).execute();
  }
}

type Placed = { num: number; chunk: Part };

const insertTexts = {
  async sqlite(tx: Query, parts: Placed[]): Promise<void> {
    for (const { num, chunk } of parts) {
      const { title, body, near } = chunk.words;
      await insertWords(tx, { rowid: num, title: title.join(" "), body: body.join(" "), near: near.join(" ") });
    }
  },
  async postgres(tx: Query, parts: Placed[]): Promise<void> {
    const nums = parts.map(({ num }) => num);
    const lengths = parts.map(({ chunk }) => lengthOf(chunk.words));
    const words = parts.map(({ chunk }) => lexemes(chunk.words));
    await sql`
      INSERT INTO passage_text (rowid, length, words)
      SELECT n, l, w::tsvector FROM unnest(${nums}::bigint[], ${lengths}::bigint[], ${words}::text[]) AS x (n, l, w)`.execute(
      tx,
    );
  },
};

const insertWords = prepared<{ rowid: number; title: string; body: string; near: string }, unknown>((query, slot) =>
  query
    .insertInto("passage_text")
    .values({ rowid: slot("rowid"), title: slot("title"), body: slot("body"), near: slot("near") }),
);

function* portions<T>(items: T[], size: number): Generator<T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
