import { sql } from "kysely";
import type { Query } from "../../database.ts";
import { parseJsonOr } from "../../json.ts";
import { type List, listOf, withNumbers } from "../../lists.ts";
import { onEach } from "../../prepared.ts";
import { type Reader, type Scope, scoped } from "./scope.ts";

/** Reads passages, the parts of things that search returns. */

export type StoredPassage = {
  num: number;
  part: number;
  heading: string;
  line: number;
  body: string;
  kind: string;
  id: string;
  title: string;
  author: string;
  at: string;
};

export const passagesByNum = async (db: Reader, scope: Scope, nums: number[]): Promise<StoredPassage[]> =>
  nums.length === 0 ? [] : selectPassages(db, scope, { nums: listOf[db.engine](nums) });

const selectPassages = scoped<{ nums: List }, StoredPassage>(
  (engine, slot, isInside) => sql`
    SELECT p.num, p.part, p.heading, p.line, p.body, t.kind, t.id, t.title, t.author, t.at
    ${withNumbers[engine]("passages p JOIN things t ON t.num = p.thing", "p.num", slot("nums"))} AND ${isInside}`,
);

/** Those of `nums` that are in the scope. */
export async function numsInScope(db: Reader, scope: Scope, nums: number[]): Promise<Set<number>> {
  const rows = await selectNums(db, scope, { nums: listOf[db.engine](nums) });
  return new Set(rows.map((row) => row.num));
}

const selectNums = scoped<{ nums: List }, { num: number }>(
  (engine, slot, isInside) => sql`
    SELECT p.num ${withNumbers[engine]("passages p JOIN things t ON t.num = p.thing", "p.num", slot("nums"))} AND ${isInside}`,
);

/** The thing that a passage is a part of, and the targets of its links. */
export type PassagePlace = { kind: string; id: string; run: string; links: string[] };

export async function placesOf(db: Reader, nums: number[]): Promise<(PassagePlace & { num: number })[]> {
  const rows = await selectPlaces[db.engine](db.read, { nums: listOf[db.engine](nums) });
  return rows.map((row) => ({ ...row, links: typeof row.links === "string" ? parseJsonOr(row.links, []) : row.links }));
}

const selectPlaces = onEach<
  { nums: List },
  { num: number; kind: string; id: string; run: string; links: string[] | string }
>(
  (engine, slot) => sql`
    SELECT p.num, t.kind, t.id, t.run, ${linkTargets[engine]} AS links
    ${withNumbers[engine]("passages p JOIN things t ON t.num = p.thing", "p.num", slot("nums"))}`,
);

const linkTargets = {
  sqlite: sql`(SELECT json_group_array(l.target) FROM passage_links l WHERE l.passage = p.num)`,
  postgres: sql`ARRAY(SELECT l.target FROM passage_links l WHERE l.passage = p.num)`,
};

export async function newestPassage(query: Query): Promise<number> {
  const row = await query
    .selectFrom("passages")
    .select((x) => x.fn.max("num").as("num"))
    .executeTakeFirst();
  return Number(row?.num ?? 0);
}

/** The passages directly before and after each of these, under the same headings. */
export async function passagesBeside(db: Reader, nums: number[]): Promise<Map<number, number[]>> {
  const beside = new Map<number, number[]>();
  if (nums.length === 0) return beside;
  for (const { num, other } of await selectBeside[db.engine](db.read, { nums: listOf[db.engine](nums) })) {
    const others = beside.get(num);
    if (others) others.push(other);
    else beside.set(num, [other]);
  }
  return beside;
}

const selectBeside = onEach<{ nums: List }, { num: number; other: number }>(
  (engine, slot) => sql`
    SELECT p.num, o.num AS other
    ${withNumbers[engine](
      "passages p JOIN passages o ON o.thing = p.thing AND o.part IN (p.part - 1, p.part + 1) AND o.heading = p.heading",
      "p.num",
      slot("nums"),
    )}`,
);
