import type { Database } from "../store/database.ts";
import { type Link, linksOf } from "../store/queries/edges.ts";

/** The maximum number of edges followed in one step, so that a hub does not stall the walk. */
const mostLinks = 20_000;

type Bounds = { depth: number; maxNodes: number; edgeTypes?: string[] };

/** Breadth-first search: the nodes within `depth` edges of `start`, in either direction, nearest first. */
export async function nodesAround(db: Database, start: string, { depth, maxNodes, edgeTypes }: Bounds) {
  const seen = new Set([start]);
  let frontier = [start];
  let truncated = false;
  for (let step = 0; step < depth && frontier.length > 0; step++) {
    const found = await stepFrom(db, frontier, edgeTypes);
    truncated ||= found.truncated;
    frontier = [];
    for (const { far } of found.links) {
      if (seen.has(far)) continue;
      if (seen.size >= maxNodes) return { ids: [...seen], truncated: true, more: true };
      seen.add(far);
      frontier.push(far);
    }
  }
  return { ids: [...seen], truncated, more: false };
}

type Side = { frontier: string[]; reached: Map<string, { by: Link | undefined; distance: number }> };

/** The shortest path between two nodes, in either direction, by bidirectional search. */
export async function shortestPath(db: Database, from: string, to: string, maxDepth: number) {
  const begin = sideAt(from);
  const end = sideAt(to);
  if (from === to) return { links: [], truncated: false };
  let truncated = false;
  for (let depth = 0; depth < maxDepth && begin.frontier.length > 0 && end.frontier.length > 0; depth++) {
    const [side, other] = begin.frontier.length <= end.frontier.length ? [begin, end] : [end, begin];
    const found = await stepFrom(db, side.frontier, undefined);
    truncated ||= found.truncated;
    const met = advance(side, other, found.links);
    if (met !== undefined) return { links: [...wayTo(begin, met), ...wayBack(end, met)], truncated };
  }
  return { links: undefined, truncated };
}

async function stepFrom(db: Database, frontier: string[], edgeTypes: string[] | undefined) {
  const links = await linksOf(db, frontier, edgeTypes, mostLinks + 1);
  return { links: links.slice(0, mostLinks), truncated: links.length > mostLinks };
}

const sideAt = (id: string): Side => ({
  frontier: [id],
  reached: new Map([[id, { by: undefined, distance: 0 }]]),
});

/** Expands one side by a full step; returns the meeting node that is nearest to the other side. */
function advance(side: Side, other: Side, links: Link[]): string | undefined {
  side.frontier = [];
  let met: { id: string; distance: number } | undefined;
  for (const link of links) {
    if (side.reached.has(link.far)) continue;
    side.reached.set(link.far, { by: link, distance: (side.reached.get(link.near)?.distance ?? 0) + 1 });
    side.frontier.push(link.far);
    const there = other.reached.get(link.far);
    if (there && (!met || there.distance < met.distance)) met = { id: link.far, distance: there.distance };
  }
  return met?.id;
}

function wayTo(side: Side, id: string): Link[] {
  const links: Link[] = [];
  for (let by = side.reached.get(id)?.by; by; by = side.reached.get(by.near)?.by) links.unshift(by);
  return links;
}

/** The path of the other side, reversed. */
const wayBack = (side: Side, id: string): Link[] =>
  wayTo(side, id)
    .reverse()
    .map((link) => ({ ...link, near: link.far, far: link.near, direction: link.direction === "out" ? "in" : "out" }));
