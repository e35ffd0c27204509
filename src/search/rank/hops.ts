import { sql } from "kysely";
import type { Database } from "../../store/database.ts";
import { type List, listOf, withTexts } from "../../store/lists.ts";
import { onEach } from "../../store/prepared.ts";
import { linksOf } from "../../store/queries/edges.ts";
import { refOf } from "../hit.ts";
import { type Scope, scoped } from "../scope.ts";
import { best, type Scores } from "./fuse.ts";
import type { PassagePlaces } from "./places.ts";

/** How many of the best passages are followed. */
const followed = 25;
const mostEdges = 2000;

type Link = { source: number; target: string };

/**
 * One step over links from the best passages to what they point to, damped by how many others they
 * point to and how many point there. Gives what was reached, and from where.
 */
export async function linkedFrom(
  db: Database,
  places: PassagePlaces,
  scores: Scores,
  scope: Scope,
): Promise<{ scores: Scores; from: Map<number, string> } | undefined> {
  const start = best(scores, followed);
  if (start.length === 0) return undefined;
  const known = await places.of(start.map((hit) => hit.num));
  const names = new Map([...known].map(([num, place]) => [num, refOf(place)]));
  const written = [...known].flatMap(([source, place]) => place.links.map((target) => ({ source, target })));
  const links = [...written, ...(await edgesOf(db, names))];
  if (links.length === 0) return undefined;

  const targets = [...new Set(links.map((link) => link.target))];
  const [meant, incoming] = await Promise.all([meantBy(db, targets, scope), incomingOf(db, targets)]);
  const out = new Map<number, number>();
  for (const { source } of links) out.set(source, (out.get(source) ?? 0) + 1);

  const reached: Scores = new Map();
  const from = new Map<number, string>();
  for (const { source, target } of links) {
    const parts = meant.get(target) ?? [];
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

/** Edges of the graph between what the passages are parts of and anything else. */
async function edgesOf(db: Database, names: Map<number, string>): Promise<Link[]> {
  const first = new Map<string, number>();
  for (const [num, name] of names) if (!first.has(name)) first.set(name, num);
  const edges = await linksOf(db, [...first.keys()], undefined, mostEdges);
  return edges.map(({ near, far }) => ({ source: first.get(near) ?? 0, target: placeOf(far) }));
}

/** The passages that each target means: all of a thing, or the one that a line is in. */
async function meantBy(db: Database, targets: string[], scope: Scope): Promise<Map<string, number[]>> {
  const things = [...new Set(targets.map(thingOf))];
  const rows = await partsOf(db, scope, { names: listOf[db.engine](things) });
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

const partsOf = scoped<{ names: List }, { name: string; num: number; line: number }>(
  (engine, slot, isInside) => sql`
    SELECT w.kind || ':' || w.id AS name, p.num, p.line
    FROM ${named[engine](slot("names"))} JOIN things t ON t.kind = w.kind AND t.id = w.id JOIN passages p ON p.thing = t.num
    WHERE ${isInside} ORDER BY t.num, p.part`,
);

/** The name of a node of the graph with its kind, which the graph's own leave out. */
export const placeOf = (ref: string) => (/^(entry|source|task|topic|run):/.test(ref) ? ref : `node:${ref}`);

/** Names such as entry:vision as rows of kind and id. */
export const named = {
  sqlite: (names: List) => sql`(
    SELECT substr(value, 1, instr(value, ':') - 1) AS kind, substr(value, instr(value, ':') + 1) AS id
    FROM json_each(${names})) AS w`,
  postgres: (names: List) => sql`(
    SELECT split_part(name, ':', 1) AS kind, substr(name, strpos(name, ':') + 1) AS id
    FROM unnest(${names}::text[]) AS u (name)) AS w`,
};

const thingOf = (target: string) => target.replace(/#L\d+$/, "");
const lineOf = (target: string) => {
  const found = /#L(\d+)$/.exec(target)?.[1];
  return found === undefined ? undefined : Number(found);
};

async function incomingOf(db: Database, targets: string[]): Promise<Map<string, number>> {
  const rows = await countIncoming[db.engine](db.read, { targets: listOf[db.engine](targets) });
  return new Map(rows.map((row) => [row.target, Number(row.count)]));
}

const countIncoming = onEach<{ targets: List }, { target: string; count: number }>(
  (engine, slot) => sql`
    SELECT target, count(*) AS count ${withTexts[engine]("passage_links", "target", slot("targets"))} GROUP BY target`,
);
