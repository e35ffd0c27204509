import { sql } from "kysely";
import type { Database } from "../store/database.ts";
import { best, type Scores } from "./fuse.ts";
import { type Scope, within } from "./scope.ts";

/** How many of the best passages are followed. */
const followed = 25;
const mostLinks = 2000;

type Link = { source: number; target: string };

/**
 * One step over links from the best passages to what they point to, damped by how many others they
 * point to and how many point there. Gives what was reached, and from where.
 */
export async function linkedFrom(
  db: Database,
  scores: Scores,
  scope: Scope,
): Promise<{ scores: Scores; from: Map<number, string> } | undefined> {
  const start = best(scores, followed);
  if (start.length === 0) return undefined;
  const nums = start.map((hit) => hit.num);
  const links = await linksOf(db, nums);
  if (links.length === 0) return undefined;

  const targets = [...new Set(links.map((link) => link.target))];
  const [places, names, incoming] = await Promise.all([
    placesOf(db, targets, scope),
    namesOf(db, nums),
    incomingOf(db, targets),
  ]);
  const out = new Map<number, number>();
  for (const { source } of links) out.set(source, (out.get(source) ?? 0) + 1);

  const reached: Scores = new Map();
  const from = new Map<number, string>();
  for (const { source, target } of links) {
    const parts = places.get(target) ?? [];
    // The part that fits the question best, or the first.
    const place = parts.reduce<number | undefined>(
      (chosen, num) => (chosen === undefined || (scores.get(num) ?? 0) > (scores.get(chosen) ?? 0) ? num : chosen),
      undefined,
    );
    if (place === undefined || place === source) continue;
    const damped =
      (scores.get(source) ?? 0) /
      Math.sqrt((out.get(source) ?? 1) * Math.max(1, Math.log2(1 + (incoming.get(target) ?? 1))));
    if (damped <= (reached.get(place) ?? 0)) continue;
    reached.set(place, damped);
    from.set(place, names.get(source) ?? "");
  }
  return { scores: reached, from };
}

const numbers = (db: Database, nums: number[]) =>
  db.engine === "sqlite"
    ? sql`IN (SELECT value FROM json_each(${JSON.stringify(nums)}))`
    : sql`= ANY(${nums}::bigint[])`;
const texts = (db: Database, values: string[]) =>
  db.engine === "sqlite"
    ? sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`
    : sql`= ANY(${values}::text[])`;

/** Links written in the passages, and edges of the graph from the nodes among them. */
async function linksOf(db: Database, nums: number[]): Promise<Link[]> {
  const written = sql<Link>`SELECT passage AS source, target FROM passage_links WHERE passage ${numbers(db, nums)} LIMIT ${sql.lit(mostLinks)}`;
  const edges = sql<Link>`
    SELECT p.num AS source, n.kind || ':' || n.id AS target
    FROM passages p JOIN things t ON t.num = p.thing AND t.kind = 'node'
    JOIN edges e ON e.from_id = t.id OR e.to_id = t.id
    JOIN things n ON n.kind = 'node' AND n.id = CASE WHEN e.from_id = t.id THEN e.to_id ELSE e.from_id END
    WHERE p.num ${numbers(db, nums)} AND p.part = 0 LIMIT ${sql.lit(mostLinks)}`;
  return [...(await written.execute(db.read)).rows, ...(await edges.execute(db.read)).rows];
}

/** The passages that each target means: all of a thing, or the one that a line is in. */
async function placesOf(db: Database, targets: string[], scope: Scope): Promise<Map<string, number[]>> {
  const things = [...new Set(targets.map(thingOf))];
  const { rows } = await sql<{ name: string; num: number; line: number }>`
    SELECT w.kind || ':' || w.id AS name, p.num, p.line
    FROM ${named[db.engine](things)} JOIN things t ON t.kind = w.kind AND t.id = w.id JOIN passages p ON p.thing = t.num
    WHERE ${within(db.engine, scope)} ORDER BY t.num, p.part`.execute(db.read);
  const parts = new Map<string, { num: number; line: number }[]>();
  for (const { name, num, line } of rows) {
    const list = parts.get(name);
    if (list) list.push({ num, line });
    else parts.set(name, [{ num, line }]);
  }
  return new Map(
    targets.map((target) => {
      const all = parts.get(thingOf(target)) ?? [];
      const line = lineOf(target);
      const at = line === undefined ? undefined : all.findLast((part) => part.line <= line);
      return [target, at ? [at.num] : all.map((part) => part.num)];
    }),
  );
}

/** Names such as entry:vision as rows of kind and id. */
const named = {
  sqlite: (names: string[]) => sql`(
    SELECT substr(value, 1, instr(value, ':') - 1) AS kind, substr(value, instr(value, ':') + 1) AS id
    FROM json_each(${JSON.stringify(names)})) AS w`,
  postgres: (names: string[]) => sql`(
    SELECT split_part(name, ':', 1) AS kind, substr(name, strpos(name, ':') + 1) AS id
    FROM unnest(${names}::text[]) AS u (name)) AS w`,
};

const thingOf = (target: string) => target.replace(/#L\d+$/, "");
const lineOf = (target: string) => {
  const found = /#L(\d+)$/.exec(target)?.[1];
  return found === undefined ? undefined : Number(found);
};

async function incomingOf(db: Database, targets: string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ target: string; count: number }>`
    SELECT target, count(*) AS count FROM passage_links WHERE target ${texts(db, targets)} GROUP BY target`.execute(
    db.read,
  );
  return new Map(rows.map((row) => [row.target, Number(row.count)]));
}

async function namesOf(db: Database, nums: number[]): Promise<Map<number, string>> {
  const { rows } = await sql<{ num: number; name: string }>`
    SELECT p.num, t.kind || ':' || t.id AS name FROM passages p JOIN things t ON t.num = p.thing WHERE p.num ${numbers(db, nums)}`.execute(
    db.read,
  );
  return new Map(rows.map((row) => [row.num, row.name]));
}
