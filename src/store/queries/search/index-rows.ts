import { sql } from "kysely";
import { batches } from "../../batches.ts";
import type { Database, Query } from "../../database.ts";
import { listOf, withNumbers } from "../../lists.ts";
import { prepared } from "../../prepared.ts";
import type { PassageRow } from "../../tables.ts";
import { countWords, lexemes, type PassageWords } from "./lexemes.ts";

/** Writes the index: rows of `things`, `passages`, `passage_text` and `passage_links`, in batches. */

type Engine = Database["engine"];

export type ThingName = { kind: string; id: string };
export type ThingValues = ThingName & { title: string; author: string; at: string; run: string; type: string };

export const thingKey = ({ kind, id }: ThingName) => `${kind}:${id}`;

/** The numbers of those that are indexed, by `thingKey`. */
export async function findThings(tx: Query, engine: Engine, names: ThingName[]): Promise<Map<string, number>> {
  const wanted =
    engine === "sqlite"
      ? sql`(SELECT value ->> 0 AS kind, value ->> 1 AS id FROM json_each(${JSON.stringify(names.map(({ kind, id }) => [kind, id]))})) AS w`
      : sql`unnest(${names.map(({ kind }) => kind)}::text[], ${names.map(({ id }) => id)}::text[]) AS w (kind, id)`;
  const { rows } = await sql<{ num: number; kind: string; id: string }>`
    SELECT t.num, t.kind, t.id FROM ${wanted} JOIN things t ON t.kind = w.kind AND t.id = w.id`.execute(tx);
  return new Map(rows.map((row) => [thingKey(row), row.num]));
}

/** Inserts or updates; returns the numbers by `thingKey`. */
export async function upsertThings(tx: Query, things: ThingValues[]): Promise<Map<string, number>> {
  const nums = new Map<string, number>();
  for (const batch of batches(things, 100)) {
    const rows = await tx
      .insertInto("things")
      .values(batch)
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
    for (const row of rows) nums.set(thingKey(row), row.num);
  }
  return nums;
}

export async function deleteThings(tx: Query, nums: number[]): Promise<void> {
  for (const batch of batches(nums, 500)) await tx.deleteFrom("things").where("num", "in", batch).execute();
}

/** The titles that the passages of these things are indexed with. */
export async function titlesOf(tx: Query, engine: Engine, things: number[]): Promise<Map<number, string>> {
  if (things.length === 0) return new Map();
  const { rows } = await sql<{ num: number; title: string }>`
    SELECT num, title ${withNumbers[engine]("things", "num", listOf[engine](things))}`.execute(tx);
  return new Map(rows.map(({ num, title }) => [num, title]));
}

export type IndexedPassage = { num: number; thing: number; part: number; line: number; state: string; hash: string };

/** The indexed passages of these things, by thing and part. */
export async function indexedPassages(tx: Query, engine: Engine, things: number[]): Promise<IndexedPassage[]> {
  if (things.length === 0) return [];
  const { rows } = await sql<IndexedPassage>`
    SELECT num, thing, part, line, state, hash ${withNumbers[engine]("passages", "thing", listOf[engine](things))}
    ORDER BY thing, part`.execute(tx);
  return rows;
}

export type PassagePosition = { num: number; part: number; line: number };

/** Updates the part and line of passages whose text is unchanged. */
export async function movePassages(tx: Query, engine: Engine, positions: PassagePosition[]): Promise<void> {
  if (positions.length > 0) await updatePositions[engine](tx, positions);
}

const updatePositions = {
  async sqlite(tx: Query, positions: PassagePosition[]): Promise<void> {
    const rows = JSON.stringify(positions.map(({ num, part, line }) => [num, part, line]));
    await sql`UPDATE passages SET part = w.value ->> 1, line = w.value ->> 2
      FROM json_each(${rows}) AS w WHERE passages.num = w.value ->> 0`.execute(tx);
  },
  async postgres(tx: Query, positions: PassagePosition[]): Promise<void> {
    const column = (name: keyof PassagePosition) => positions.map((row) => row[name]);
    await sql`UPDATE passages SET part = w.part, line = w.line
      FROM unnest(${column("num")}::bigint[], ${column("part")}::bigint[], ${column("line")}::bigint[]) AS w (num, part, line)
      WHERE passages.num = w.num`.execute(tx);
  },
};

export type PassageText = { num: number; thing: number; heading: string; body: string };

/** The stored texts of these things, by thing and part. PostgreSQL needs none to delete a passage. */
export async function passageTexts(tx: Query, engine: Engine, things: number[]): Promise<PassageText[]> {
  if (engine === "postgres" || things.length === 0) return [];
  const { rows } = await sql<PassageText>`
    SELECT num, thing, heading, body ${withNumbers[engine]("passages", "thing", listOf[engine](things))}
    ORDER BY thing, part`.execute(tx);
  return rows;
}

/** `words` are those that the passage was indexed with. */
export type DeletedPassage = { num: number; words(): PassageWords };

export async function deletePassages(tx: Query, engine: Engine, passages: DeletedPassage[]): Promise<void> {
  for (const some of batches(passages, 500)) {
    const batch = some.map(({ num }) => num);
    if (engine === "postgres") await tx.deleteFrom("passage_text").where("rowid", "in", batch).execute();
    else for (const { num, words } of some) await deleteText(tx, { rowid: num, ...joined(words()) });
    await tx.deleteFrom("passage_links").where("passage", "in", batch).execute();
    await tx.deleteFrom("passages").where("num", "in", batch).execute();
  }
}

export type NewPassage = Omit<PassageRow, "num"> & { words: PassageWords; links: string[] };

export async function insertPassages(tx: Query, engine: Engine, passages: NewPassage[]): Promise<void> {
  for (const batch of batches(passages, 200)) {
    const values = batch.map(({ words: _words, links: _links, ...row }) => row);
    const rows = await tx.insertInto("passages").values(values).returning(["num", "thing", "part"]).execute();
    const nums = new Map(rows.map(({ num, thing, part }) => [`${thing}/${part}`, num]));
    const numbered = batch.map((row) => ({ ...row, num: nums.get(`${row.thing}/${row.part}`) ?? 0 }));
    await insertTexts[engine](tx, numbered);
    const links = numbered.flatMap((row) => row.links.map((target) => ({ passage: row.num, target })));
    for (const some of batches(links, 400)) await tx.insertInto("passage_links").values(some).execute();
  }
}

type IndexedText = { num: number; words: PassageWords };

const insertTexts = {
  async sqlite(tx: Query, texts: IndexedText[]): Promise<void> {
    for (const { num, words } of texts) await insertText(tx, { rowid: num, ...joined(words) });
  },
  async postgres(tx: Query, texts: IndexedText[]): Promise<void> {
    const nums = texts.map(({ num }) => num);
    const lengths = texts.map(({ words }) => countWords(words));
    const vectors = texts.map(({ words }) => lexemes(words));
    await sql`
      INSERT INTO passage_text (rowid, length, words)
      SELECT n, l, w::tsvector FROM unnest(${nums}::bigint[], ${lengths}::bigint[], ${vectors}::text[]) AS x (n, l, w)`.execute(
      tx,
    );
  },
};

const insertText = prepared<{ rowid: number; title: string; body: string; near: string }, unknown>((query, slot) =>
  query
    .insertInto("passage_text")
    .values({ rowid: slot("rowid"), title: slot("title"), body: slot("body"), near: slot("near") }),
);

/** With other words than those of the insert, the counts of the index would be wrong from then on. */
const deleteText = prepared<{ rowid: number; title: string; body: string; near: string }, unknown>(
  (_, slot) => sql`
    INSERT INTO passage_text (passage_text, rowid, title, body, near)
    VALUES ('delete', ${slot("rowid")}, ${slot("title")}, ${slot("body")}, ${slot("near")})`,
);

const joined = ({ title, body, near }: PassageWords) => ({
  title: title.join(" "),
  body: body.join(" "),
  near: near.join(" "),
});
