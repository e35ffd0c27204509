import { sql } from "kysely";
import type { Database } from "../store/database.ts";
import { among, type List, listOf } from "../store/lists.ts";
import { onEach } from "../store/prepared.ts";
import { edgesBetween, linksOf } from "../store/queries/edges.ts";
import { nodeLines } from "../store/queries/nodes.ts";
import { type Hit, refOf } from "./hit.ts";
import { named, placeOf } from "./rank/hops.ts";
import { type Scope, scoped } from "./scope.ts";

/** A passage as an agent is given it. */
export type Recalled = {
  ref: string;
  type: string;
  id: string;
  title: string;
  heading?: string;
  line: number;
  text: string;
  by: string;
  at: string;
  score: number;
  why: string[];
  /** Where the same words stand too. */
  also?: string[];
};

export type Subgraph = {
  nodes: { id: string; type: string; title: string }[];
  edges: { from: string; type: string; to: string }[];
};

/** Each text once, with all the places it stands in; as many as weigh no more than `bytes`. */
export function bundle(hits: Hit[], bytes: number): { passages: Recalled[]; omitted: number } {
  const byText = new Map<string, Recalled>();
  for (const hit of hits) {
    const key = normalised(hit.body);
    const known = byText.get(key);
    if (known) {
      const place = `${refOf(hit)}#L${hit.line}`;
      if (!known.also?.includes(place)) known.also = [...(known.also ?? []), place];
      continue;
    }
    const { kind, id, title, heading, line, body, author, at, score, why } = hit;
    const about = heading === "" ? {} : { heading };
    byText.set(key, {
      ref: refOf(hit),
      type: kind,
      id,
      title,
      ...about,
      line,
      text: body,
      by: author,
      at,
      score: Math.round(score * 1000) / 1000,
      why,
    });
  }
  const passages: Recalled[] = [];
  let left = bytes;
  for (const one of byText.values()) {
    const weight = Buffer.byteLength(JSON.stringify(one)) + 1;
    if (weight > left) continue;
    left -= weight;
    passages.push(one);
  }
  return { passages, omitted: byText.size - passages.length };
}

/** What makes two contexts the same to a reader (O14): letters, not their case or the space between them. */
const normalised = (text: string) => text.toLowerCase().replaceAll(/\s+/g, " ").trim();

const mostLinks = 500;
const mostBetween = 20;

/** The edges between what was found, and the nodes that stand between two of them, as far as the caller may read them. */
export async function joining(db: Database, refs: string[], bytes: number, scope: Scope): Promise<Subgraph> {
  const found = new Set(refs);
  const links = await linksOf(db, [...found], undefined, mostLinks);
  const touched = new Map<string, Set<string>>();
  for (const { near, far } of links) touched.set(far, (touched.get(far) ?? new Set()).add(near));
  const joints = [...touched].filter(([id, ends]) => !found.has(id) && ends.size > 1).map(([id]) => id);
  const hidden = await outside(db, joints, scope);
  const between = joints.filter((id) => !hidden.has(id)).slice(0, mostBetween);
  const ids = [...found, ...between];
  const [edges, written, nodes] = await Promise.all([
    edgesBetween(db, ids, ids, undefined, 100),
    writtenAmong(db, ids),
    nodeLines(db, between),
  ]);
  const all = new Map([...edges, ...written].map((edge) => [`${edge.from}\0${edge.type}\0${edge.to}`, edge]));
  let left = bytes;
  const fits = (value: object) => {
    left -= Buffer.byteLength(JSON.stringify(value)) + 1;
    return left >= 0;
  };
  return { nodes: nodes.filter(fits), edges: [...all.values()].filter(fits) };
}

/** Which of these the caller may not read. */
async function outside(db: Database, refs: string[], scope: Scope): Promise<Set<string>> {
  if (refs.length === 0) return new Set();
  const rows = await thingsOutside(db, scope, { names: listOf[db.engine](refs.map(placeOf)) });
  const runs = refs.filter((one) => scope.run !== undefined && one.startsWith("run:") && one !== `run:${scope.run}`);
  return new Set([...rows.map(refOf), ...runs]);
}

const thingsOutside = scoped<{ names: List }, { kind: string; id: string }>(
  (engine, slot, isInside) => sql`
    SELECT t.kind, t.id FROM ${named[engine](slot("names"))} JOIN things t ON t.kind = w.kind AND t.id = w.id
    WHERE NOT (${isInside})`,
);

/** Links that the texts themselves have. */
const writtenAmong = (db: Database, ids: string[]): Promise<Subgraph["edges"]> =>
  linksAmong[db.engine](db.read, { ids: listOf[db.engine](ids) });

const linksAmong = onEach<{ ids: List }, { from: string; type: string; to: string }>((engine, slot) => {
  const isListed = among[engine](slot("ids"));
  return sql`
    SELECT DISTINCT CASE t.kind WHEN 'node' THEN t.id ELSE t.kind || ':' || t.id END AS "from", 'links_to' AS type, l.target AS "to"
    FROM passage_links l JOIN passages p ON p.num = l.passage JOIN things t ON t.num = p.thing
    WHERE l.target ${isListed} AND (t.kind || ':' || t.id ${isListed} OR (t.kind = 'node' AND t.id ${isListed})) LIMIT 100`;
});

/** How much of what was retrieved was then cited (O15); undefined when nothing was retrieved. */
export function retrievalPrecision(retrieved: string[], output: string): number | undefined {
  const distinct = [...new Set(retrieved)];
  if (distinct.length === 0) return undefined;
  const isCited = (ref: string) => {
    const id = ref.slice(ref.indexOf(":") + 1);
    return output.includes(ref) || output.includes(`[[${id}`);
  };
  return distinct.filter(isCited).length / distinct.length;
}
