import { type Caller, nameOf } from "../kernel/caller.ts";
import type { Database } from "../store/database.ts";
import { appendEvent, type NewEvent } from "../store/events.ts";
import { edgesBetween, linksOf } from "../store/queries/edges.ts";
import { nodeLines } from "../store/queries/nodes.ts";
import type { Scope } from "../store/queries/search/scope.ts";
import { textLinksAmong, thingsOutsideScope } from "../store/queries/search/things.ts";
import { type Hit, refOf } from "./hit.ts";
import { notesWithin } from "./notes.ts";
import { nameOfRef } from "./rank/hops.ts";
import type { SearchApp } from "./search-app.ts";
import { preferTrusted, type Trusted } from "./trusted.ts";

/** A passage as `recall` returns it. */
export type RecalledPassage = {
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
  /** The state of its least trustworthy part, and what to doubt in it. */
  trust?: string;
  doubts?: string[];
  /** Other places with the same text. */
  also?: string[];
};

export type Subgraph = {
  nodes: { id: string; type: string; title: string }[];
  edges: { from: string; type: string; to: string }[];
};

type RecallRequest = {
  query: string;
  scope: Scope;
  /** Maximum size of the whole answer as JSON. */
  bytes: number;
  /** Maximum number of passages. */
  limit?: number;
  /** Leaves out what is not verified. */
  onlyVerified?: boolean;
  /** A passage as the answer has it. */
  shown: (passage: RecalledPassage) => object;
};

/** At first, until it is known how much the graph needs. */
const passageShare = 0.85;
const nothingVerified = "nothing verified fits: passages match, but none of them is verified; ask without trust";
const nothingFits = "nothing fits: no passage has a telling word of the query or a similar meaning";

/** Passages that are ranked for an answer: at least as many as short ones, such as log lines, fit into it. */
const minCandidates = 40;
const maxCandidates = 200;
const leastSize = 120;

/** The notes take at most this share of an answer. */
const noteShare = 0.25;

/**
 * The best passages and the part of the graph that connects them, within `bytes`. For an agent with a task they are
 * recorded, because retrieval precision is computed from what was retrieved and what was cited (O15).
 */
export async function recallPassages(
  app: SearchApp,
  caller: Caller,
  { query, scope, bytes, limit = maxCandidates, onlyVerified = false, shown }: RecallRequest,
) {
  const candidates = Math.max(minCandidates, Math.min(maxCandidates, Math.ceil(bytes / leastSize)));
  const found = await app.search.find.passages(query, { scope, limit: candidates, through: ["node"] });
  const trusted = await preferTrusted(app, found.hits, { onlyVerified, bytes });
  const all = distinctPassages(trusted.hits);
  const suggestion = suggestionWithin(found.suggestion, bytes);
  const nothing = onlyVerified && found.hits.length > 0 ? nothingVerified : nothingFits;
  const notes = notesWithin(all.length > 0 ? found.notes : [nothing, ...found.notes], bytes * noteShare);
  const free = bytes - sizeOf({ passages: [], nodes: [], edges: [], omitted: 999, suggestion, notes });
  const first = withinBytes(all, free * passageShare, shown);
  const readable = app.search.scope(caller);
  const among = first.map(({ ref }) => ref);
  const { nodes, edges } = await joining(app.db, among, free * (1 - passageShare), readable);
  const left = free - sizeOf(nodes) - sizeOf(edges);
  const fitting = withinBytes(all, left, shown).slice(0, limit);
  const passages = fitting.length > 0 ? fitting : all.slice(0, 1).flatMap((best) => cutTo(best, left, shown) ?? []);
  const omitted = all.length + trusted.left - passages.length;
  const refs = [...new Set(passages.map((one) => one.ref))];
  if (caller.kind === "agent" && caller.task !== undefined) {
    const event: NewEvent = {
      at: app.now().toISOString(),
      actor: nameOf(caller),
      kind: "passages-recalled",
      subject: `task:${caller.task}`,
      data: { query: query.slice(0, 200), refs },
    };
    await app.db.write((tx) => appendEvent(tx, event));
  }
  return { passages, nodes, edges, omitted, suggestion, notes };
}

/** The passages, the best first; those with equal texts are merged. */
export function distinctPassages(hits: (Hit & Trusted)[]): RecalledPassage[] {
  const byText = new Map<string, RecalledPassage>();
  for (const hit of hits) {
    const key = normalised(hit.body);
    const known = byText.get(key);
    if (known) {
      const place = `${refOf(hit)}#L${hit.line}`;
      if (!known.also?.includes(place)) known.also = [...(known.also ?? []), place];
      continue;
    }
    const { kind, id, title, heading, line, body, author, at, score, why, trust, doubts } = hit;
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
      ...(trust === undefined ? {} : { trust }),
      ...(doubts === undefined ? {} : { doubts }),
    });
  }
  return [...byText.values()];
}

/** The items that fit into `bytes` as JSON, in their order. One that is too large does not stop smaller ones. */
export function withinBytes<T>(items: T[], bytes: number, shown: (item: T) => unknown = (item) => item): T[] {
  let left = bytes;
  return items.filter((item) => {
    const weight = sizeOf(shown(item)) + 1;
    if (weight > left) return false;
    left -= weight;
    return true;
  });
}

export const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value) ?? "");

/** The beginning of a passage that is too large by itself, so that a small budget still returns something. */
function cutTo(
  passage: RecalledPassage,
  bytes: number,
  shown: (passage: RecalledPassage) => object,
): RecalledPassage | undefined {
  const { also: _also, ...cut } = passage;
  for (let length = passage.text.length; length > 40; length = Math.floor(length * 0.8)) {
    const text = `${passage.text.slice(0, length).replace(/[\ud800-\udbff]$/, "")}…`;
    if (sizeOf(shown({ ...cut, text })) + 1 <= bytes) return { ...cut, text };
  }
  return undefined;
}

/** A suggestion repeats the query: of a long question it would take the place of passages. */
export const suggestionWithin = (suggestion: string | undefined, bytes: number) =>
  suggestion !== undefined && sizeOf(suggestion) <= bytes / 10 ? suggestion : undefined;

/** Texts that differ only in case or white space count as equal (O14). */
const normalised = (text: string) => text.toLowerCase().replaceAll(/\s+/g, " ").trim();

const maxLinks = 500;
const maxBetween = 20;

/** The edges between the results, and the nodes that join two of them, as far as the caller may read those. */
export async function joining(db: Database, refs: string[], bytes: number, scope: Scope): Promise<Subgraph> {
  const found = new Set(refs);
  const links = await linksOf(db, [...found], undefined, maxLinks);
  const touched = new Map<string, Set<string>>();
  for (const { near, far } of links) touched.set(far, (touched.get(far) ?? new Set()).add(near));
  const joints = [...touched].filter(([id, ends]) => !found.has(id) && ends.size > 1).map(([id]) => id);
  const hidden = await unreadable(db, joints, scope);
  const between = joints.filter((id) => !hidden.has(id)).slice(0, maxBetween);
  const ids = [...found, ...between];
  const [edges, textLinks, nodes] = await Promise.all([
    edgesBetween(db, ids, ids, undefined, 100),
    textLinksAmong(db, ids),
    nodeLines(db, between),
  ]);
  const all = new Map([...edges, ...textLinks].map((edge) => [`${edge.from}\0${edge.type}\0${edge.to}`, edge]));
  let left = bytes;
  const fits = (value: object) => {
    left -= Buffer.byteLength(JSON.stringify(value)) + 1;
    return left >= 0;
  };
  return { nodes: nodes.filter(fits), edges: [...all.values()].filter(fits) };
}

/** The refs among these that the caller may not read. */
async function unreadable(db: Database, refs: string[], scope: Scope): Promise<Set<string>> {
  if (refs.length === 0) return new Set();
  const rows = await thingsOutsideScope(db, scope, refs.map(nameOfRef));
  const runs = refs.filter((one) => scope.run !== undefined && one.startsWith("run:") && one !== `run:${scope.run}`);
  return new Set([...rows.map(refOf), ...runs]);
}
