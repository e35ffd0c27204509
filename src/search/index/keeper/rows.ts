import { sql } from "kysely";
import { batches } from "../../../store/batches.ts";
import type { Database, Query } from "../../../store/database.ts";
import { among, listOf, withNumbers } from "../../../store/lists.ts";
import { prepared } from "../../../store/prepared.ts";
import { lengthOf, lexemes } from "../words.ts";
import type { Part, Prepared } from "./prepare.ts";

/** A thing as it is now; undefined when it is gone. */
export type Work = { kind: string; id: string; found: Prepared | undefined };

type Engine = Database["engine"];
type Had = { num: number; thing: number; part: number; line: number; state: string; hash: string };
type Moved = Pick<Had, "num" | "part" | "line">;
type Fresh = { thing: number; at: number; part: Part };

/**
 * Brings the rows of many things in line with what they are, in about as many statements as one takes.
 * Parts that are as they were stay as they are: a line more in a long log costs a line.
 */
export async function replaceAll(tx: Query, engine: Engine, work: Work[]): Promise<void> {
  const known = await thingsOf(tx, engine, work);
  const had = await partsOf(tx, engine, [...known.values()]);
  const kept = work.flatMap(({ kind, id, found }) => (found && found.parts.length > 0 ? [{ kind, id, found }] : []));
  const nums = await keepThings(tx, kept);

  const stay = new Set(nums.values());
  const gone = [...known.values()].filter((num) => !stay.has(num));
  const change = {
    fresh: [] as Fresh[],
    moved: [] as Moved[],
    leftOver: gone.flatMap((thing) => had.get(thing) ?? []),
  };
  for (const one of kept) compare(nums.get(keyOf(one)) ?? 0, had, one.found.parts, change);

  await forget(
    tx,
    change.leftOver.map(({ num }) => num),
  );
  for (const some of batches(gone, 500)) await tx.deleteFrom("things").where("num", "in", some).execute();
  if (change.moved.length > 0) await move[engine](tx, change.moved);
  await add(tx, engine, change.fresh);
  await dropVectors(
    tx,
    engine,
    change.leftOver.map(({ hash }) => hash),
  );
}

const keyOf = ({ kind, id }: { kind: string; id: string }) => `${kind}:${id}`;

function compare(
  thing: number,
  had: Map<number, Had[]>,
  parts: Part[],
  change: { fresh: Fresh[]; moved: Moved[]; leftOver: Had[] },
): void {
  const same = grouped(had.get(thing) ?? [], ({ state }) => state);
  for (const [at, part] of parts.entries()) {
    const old = same.get(part.state)?.shift();
    if (!old) change.fresh.push({ thing, at, part });
    else if (old.part !== at || old.line !== part.line) change.moved.push({ num: old.num, part: at, line: part.line });
  }
  for (const rest of same.values()) change.leftOver.push(...rest);
}

function grouped<T, K>(items: T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

async function thingsOf(tx: Query, engine: Engine, work: Work[]): Promise<Map<string, number>> {
  const names =
    engine === "sqlite"
      ? sql`(SELECT value ->> 0 AS kind, value ->> 1 AS id FROM json_each(${JSON.stringify(work.map(({ kind, id }) => [kind, id]))}))`
      : sql`unnest(${work.map(({ kind }) => kind)}::text[], ${work.map(({ id }) => id)}::text[])`;
  const { rows } = await sql<{ num: number; kind: string; id: string }>`
    SELECT t.num, t.kind, t.id FROM ${names} AS w ${engine === "sqlite" ? sql`` : sql`(kind, id)`}
    JOIN things t ON t.kind = w.kind AND t.id = w.id`.execute(tx);
  return new Map(rows.map((row) => [keyOf(row), row.num]));
}

async function partsOf(tx: Query, engine: Engine, things: number[]): Promise<Map<number, Had[]>> {
  if (things.length === 0) return new Map();
  const { rows } = await sql<Had>`
    SELECT num, thing, part, line, state, hash ${withNumbers[engine]("passages", "thing", listOf[engine](things))} ORDER BY thing, part`.execute(
    tx,
  );
  return grouped(rows, ({ thing }) => thing);
}

async function keepThings(
  tx: Query,
  kept: { kind: string; id: string; found: Prepared }[],
): Promise<Map<string, number>> {
  const nums = new Map<string, number>();
  for (const some of batches(kept, 100)) {
    const values = some.map(({ kind, id, found: { about } }) => {
      const { title, author, at, run = "", type = kind } = about;
      return { kind, id, title, author, at, run, type };
    });
    const rows = await tx
      .insertInto("things")
      .values(values)
      .onConflict((conflict) =>
        conflict.columns(["kind", "id"]).doUpdateSet((row) => ({
          title: row.ref("excluded.title"),
          author: row.ref("excluded.author"),
          at: row.ref("excluded.at"),
          run: row.ref("excluded.run"),
          type: row.ref("excluded.type"),
        })),
      )
      .returning(["num", "kind", "id"])
      .execute();
    for (const row of rows) nums.set(keyOf(row), row.num);
  }
  return nums;
}

const move = {
  async sqlite(tx: Query, moved: Moved[]): Promise<void> {
    const rows = JSON.stringify(moved.map(({ num, part, line }) => [num, part, line]));
    await sql`UPDATE passages SET part = w.value ->> 1, line = w.value ->> 2
      FROM json_each(${rows}) AS w WHERE passages.num = w.value ->> 0`.execute(tx);
  },
  async postgres(tx: Query, moved: Moved[]): Promise<void> {
    const column = (name: keyof Moved) => moved.map((row) => row[name]);
    await sql`UPDATE passages SET part = w.part, line = w.line
      FROM unnest(${column("num")}::bigint[], ${column("part")}::bigint[], ${column("line")}::bigint[]) AS w (num, part, line)
      WHERE passages.num = w.num`.execute(tx);
  },
};

async function forget(tx: Query, nums: number[]): Promise<void> {
  for (const some of batches(nums, 500)) {
    await tx.deleteFrom("passage_text").where("rowid", "in", some).execute();
    await tx.deleteFrom("passage_links").where("passage", "in", some).execute();
    await tx.deleteFrom("passages").where("num", "in", some).execute();
  }
}

/** Of texts that stand nowhere any more; those that only moved are there again by now. */
async function dropVectors(tx: Query, engine: Engine, hashes: string[]): Promise<void> {
  if (hashes.length === 0) return;
  await sql`DELETE FROM vectors WHERE hash ${among[engine](listOf[engine](hashes))}
    AND NOT EXISTS (SELECT 1 FROM passages p WHERE p.hash = vectors.hash)`.execute(tx);
}

async function add(tx: Query, engine: Engine, fresh: Fresh[]): Promise<void> {
  for (const some of batches(fresh, 200)) {
    const values = some.map(({ thing, at, part: { heading, line, body, hash, state } }) => ({
      thing,
      part: at,
      heading,
      line,
      body,
      hash,
      state,
    }));
    const rows = await tx.insertInto("passages").values(values).returning(["num", "thing", "part"]).execute();
    const nums = new Map(rows.map(({ num, thing, part }) => [`${thing}/${part}`, num]));
    const placed = some.map(({ thing, at, part }) => ({ num: nums.get(`${thing}/${at}`) ?? 0, part }));
    await insertTexts[engine](tx, placed);
    const links = placed.flatMap(({ num, part }) => part.links.map((target) => ({ passage: num, target })));
    for (const part of batches(links, 400)) await tx.insertInto("passage_links").values(part).execute();
  }
}

type Placed = { num: number; part: Part };

const insertTexts = {
  async sqlite(tx: Query, parts: Placed[]): Promise<void> {
    for (const { num, part } of parts) {
      const { title, body, near } = part.words;
      await insertWords(tx, { rowid: num, title: title.join(" "), body: body.join(" "), near: near.join(" ") });
    }
  },
  async postgres(tx: Query, parts: Placed[]): Promise<void> {
    const nums = parts.map(({ num }) => num);
    const lengths = parts.map(({ part }) => lengthOf(part.words));
    const words = parts.map(({ part }) => lexemes(part.words));
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
