import type { Database } from "../../store/database.ts";
import { linksOf } from "../../store/queries/edges.ts";
import type { Scope } from "../../store/queries/search/scope.ts";
import { countLinksTo, passagesOfThings } from "../../store/queries/search/things.ts";
import { refOf } from "../hit.ts";
import { best, type Scores } from "./fuse.ts";
import type { PassagePlaces } from "./places.ts";

/** The number of best passages whose links are followed. */
const followed = 25;
const maxEdges = 2000;

type Link = { source: number; target: string };

/**
 * Scores the passages that the best ones link to, one step away. A score is damped by the number of links of the
 * source and by the number of links to the target. `from` names the source of each.
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
  const refs = new Map([...known].map(([num, place]) => [num, refOf(place)]));
  const inText = [...known].flatMap(([source, place]) => place.links.map((target) => ({ source, target })));
  const links = [...inText, ...(await graphLinks(db, refs))];
  if (links.length === 0) return undefined;

  const targets = [...new Set(links.map((link) => link.target))];
  const [passages, incoming] = await Promise.all([passagesAt(db, targets, scope), countLinksTo(db, targets)]);
  const outgoing = new Map<number, number>();
  for (const { source } of links) outgoing.set(source, (outgoing.get(source) ?? 0) + 1);

  const reached: Scores = new Map();
  const from = new Map<number, string>();
  for (const { source, target } of links) {
    const passage = bestOf(passages.get(target) ?? [], scores);
    if (passage === undefined || passage === source) continue;
    const damped =
      (scores.get(source) ?? 0) /
      Math.sqrt((outgoing.get(source) ?? 1) * Math.max(1, Math.log2(1 + (incoming.get(target) ?? 1))));
    if (damped <= (reached.get(passage) ?? 0)) continue;
    reached.set(passage, damped);
    from.set(passage, refs.get(source) ?? "");
  }
  return { scores: reached, from };
}

/** The passage with the highest score; the first if none has one. */
const bestOf = (passages: number[], scores: Scores): number | undefined =>
  passages.reduce<number | undefined>(
    (chosen, num) => (chosen === undefined || (scores.get(num) ?? 0) > (scores.get(chosen) ?? 0) ? num : chosen),
    undefined,
  );

/** Edges of the graph at the things that the passages belong to. */
async function graphLinks(db: Database, refs: Map<number, string>): Promise<Link[]> {
  const passageOf = new Map<string, number>();
  for (const [num, ref] of refs) if (!passageOf.has(ref)) passageOf.set(ref, num);
  const edges = await linksOf(db, [...passageOf.keys()], undefined, maxEdges);
  return edges.map(({ near, far }) => ({ source: passageOf.get(near) ?? 0, target: nameOfRef(far) }));
}

/** For each target all passages of the thing, or with `#L12` the one that contains the line. */
async function passagesAt(db: Database, targets: string[], scope: Scope): Promise<Map<string, number[]>> {
  const things = [...new Set(targets.map(thingOf))];
  const rows = await passagesOfThings(db, scope, things);
  const passages = new Map<string, { num: number; line: number }[]>();
  for (const { name, num, line } of rows) {
    const list = passages.get(name);
    if (list) list.push({ num, line });
    else passages.set(name, [{ num, line }]);
  }
  return new Map(
    targets.map((target) => {
      const all = passages.get(thingOf(target)) ?? [];
      const line = lineOf(target);
      const at = line === undefined ? undefined : all.findLast((passage) => passage.line <= line);
      return [target, at ? [at.num] : all.map((passage) => passage.num)];
    }),
  );
}

/** `kind:id` of a ref. Refs of graph nodes have no kind in front. */
export const nameOfRef = (ref: string) => (/^(entry|source|page|task|topic|run):/.test(ref) ? ref : `node:${ref}`);

const thingOf = (target: string) => target.replace(/#L\d+$/, "");
const lineOf = (target: string) => {
  const found = /#L(\d+)$/.exec(target)?.[1];
  return found === undefined ? undefined : Number(found);
};
