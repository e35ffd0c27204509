import { sql } from "kysely";
import type { Database } from "../store/database.ts";
import { type List, listOf, withNumbers } from "../store/lists.ts";
import type { Hit } from "./hit.ts";
import type { indexKeeper } from "./index/keeper.ts";
import type { Speller } from "./index/spelling.ts";
import { best, byBest, byPage, byRange, fuse, type Scores } from "./rank/fuse.ts";
import { linkedFrom } from "./rank/hops.ts";
import type { Term } from "./rank/lexical/choose.ts";
import type { Scored } from "./rank/lexical/engines.ts";
import type { WordIndex } from "./rank/lexical.ts";
import { snippet } from "./rank/marks.ts";
import type { Meaning, Nearest } from "./rank/meaning.ts";
import type { PassagePlaces } from "./rank/places.ts";
import { searchTerms } from "./rank/terms.ts";
import { onlyRights, type Scope, scoped } from "./scope.ts";

export type Found = {
  hits: Hit[];
  /** The query as it was probably meant. */
  suggestion?: string;
  /** What the caller should know about how this was searched. */
  notes: string[];
};

type Deps = {
  db: Database;
  places: PassagePlaces;
  words: WordIndex;
  keeper: ReturnType<typeof indexKeeper>;
  meaning: Meaning;
  speller: Speller;
};

export type Wanted = {
  scope: Scope;
  limit: number;
  /** Kinds that are not wanted themselves, but lead to what is: facts to their sources. */
  through?: string[];
  /** Leave out what costs or explains: for measuring one part by itself. */
  without?: ("meaning" | "links")[];
};

/** How many passages of each list are weighed together. */
const considered = 300;
/** How many that only lead to others. */
const bridging = 50;
const catchUpMs = 3000;
const mostMistyped = 5;
/** What a link leads to counts a quarter of what it was reached from: with more, pages that only facts name pass those that answer. */
const linkWeight = 0.25;
/** So many passages are grouped into pages, at the least. */
const leastForPages = 100;
/** Further places told of a page. */
const furtherPlaces = 3;

/** A passage as it is kept, before it is told why it was found. */
type Row = Omit<Hit, "score" | "snippet" | "why">;

export function finder({ db, places, words, keeper, meaning, speller }: Deps) {
  /** The best passages. Words are marked and reasons given only of those that are shown: it costs more than finding them. */
  async function passages(query: string, wanted: Wanted): Promise<Found> {
    const { chosen, tell, ...found } = await rank(query, wanted, wanted.limit);
    const rows = await load(chosen, wanted.scope);
    return { ...found, hits: chosen.flatMap((hit) => tell(hit, rows.get(hit.num))) };
  }

  /** One hit for each thing: its best passage, and a few more of it that were found. Of all others no text is read. */
  async function pages(
    query: string,
    wanted: Wanted,
  ): Promise<Omit<Found, "hits"> & { hits: (Hit & { more: Hit[] })[] }> {
    const { chosen, tell, ...found } = await rank(query, wanted, Math.max(leastForPages, wanted.limit * 5));
    const known = await places.of(chosen.map((hit) => hit.num));
    const inPages = chosen.flatMap((hit) => {
      const place = known.get(hit.num);
      return place ? [{ ...hit, page: `${place.kind}:${place.id}` }] : [];
    });
    const { shown, rows } = await loadPages(inPages, wanted);
    const told = (hit: Scored) => tell(hit, rows.get(hit.num));
    const hits = shown.flatMap(({ first, more }) => told(first).map((hit) => ({ ...hit, more: more.flatMap(told) })));
    return { ...found, hits };
  }

  /** Vectors know passages that are gone; with them what they had pushed aside comes back. */
  async function loadPages(hits: (Scored & { page: string })[], { scope, limit }: Wanted) {
    for (let left = hits; ; ) {
      const shown = byPage(left)
        .slice(0, limit)
        .map(({ more, ...first }) => ({ first, more: more.slice(0, furtherPlaces) }));
      const wanted = shown.flatMap(({ first, more }) => [first, ...more]);
      const rows = await load(wanted, scope);
      if (rows.size === wanted.length) return { shown, rows };
      const gone = new Set(wanted.map(({ num }) => num).filter((num) => !rows.has(num)));
      for (const num of gone) places.forget(num);
      left = left.filter(({ num }) => !gone.has(num));
    }
  }

  async function rank(query: string, wanted: Wanted, limit: number) {
    const notes: string[] = [];
    const [counted, nearest] = await Promise.all([
      count(query),
      wanted.without?.includes("meaning") ? undefined : meaning.ask(query),
    ]);
    if (counted.left > 0) notes.push(`${counted.left} changes are not in the index yet`);
    const asked = await meantBy(query, counted.terms, wanted.scope);
    const through = (wanted.through ?? []).filter((kind) => !wanted.scope.kinds.includes(kind));
    const bridge: Scope = { ...onlyRights(wanted.scope), kinds: through };

    const [[spoken = [], bridges = []], near, bridgesNear] = await Promise.all([
      words.best(asked.terms, [
        { scope: wanted.scope, limit: considered },
        { scope: bridge, limit: bridging, amongBest: true },
      ]),
      nearby(nearest, wanted.scope, notes),
      through.length > 0 ? nearby(nearest, bridge, []) : undefined,
    ]);
    const top = Math.max(spoken[0]?.score ?? 0, bridges[0]?.score ?? 0);
    const own = weigh(spoken, near, top);
    const facts = weigh(bridges, bridgesNear, top);
    const linked = wanted.without?.includes("links")
      ? undefined
      : await linkedFrom(db, places, facts.size === 0 ? own : new Map([...own, ...facts]), wanted.scope);
    const scores = linked
      ? fuse([
          { scores: own, weight: 1 },
          { scores: linked.scores, weight: linkWeight },
        ])
      : own;

    const chosen = best(scores, limit);
    const meant = new Set(near?.hits.slice(0, wanted.limit).map((hit) => hit.num));
    const tell = ({ num, score }: Scored, row: Row | undefined): Hit[] => {
      if (!row) return [];
      const { text, found } = passageOf(row, asked.terms);
      const why = [
        ...(found.length > 0 ? [`words: ${found.join(", ")}`] : []),
        ...(meant.has(num) ? ["near in meaning"] : []),
        ...(linked?.from.has(num) ? [`linked from ${linked.from.get(num)}`] : []),
      ];
      return [{ ...row, score, snippet: text, why: why.length > 0 ? why : ["beside what matches"] }];
    };
    return { chosen, tell, notes, ...(asked.suggestion ? { suggestion: asked.suggestion } : {}) };
  }

  /** The words to look for, counted in an index that knows of all changes; or of how many it does not. */
  async function count(query: string): Promise<{ terms: Term[]; left: number }> {
    await keeper.noticeSections();
    const asked = searchTerms(query);
    const { terms, isBehind } = await words.count(asked);
    if (!isBehind) return { terms, left: 0 };
    const left = await catchUp();
    return { terms: (await words.count(asked)).terms, left };
  }

  /** Waits for the index, but not for ever: after a large import most of it is better than none. */
  async function catchUp(): Promise<number> {
    const until = Date.now() + catchUpMs;
    while ((await keeper.catchUp()) > 0) if (Date.now() > until) return keeper.pending();
    return 0;
  }

  /** A word that is in no text is joined by what it was probably meant to be. */
  async function meantBy(query: string, terms: Term[], scope: Scope): Promise<{ terms: Term[]; suggestion?: string }> {
    const meant = new Map<string, Term>();
    for (const { word } of terms.filter(({ count }) => count === 0).slice(0, mostMistyped)) {
      const like = await firstWithin((await words.count(await speller.like(word))).terms, scope);
      if (like) meant.set(word, like);
    }
    if (meant.size === 0) return { terms };
    const suggestion = query.replace(/[\p{L}\p{N}\p{M}_]+/gu, (word) => meant.get(word.toLowerCase())?.word ?? word);
    const known = new Set(terms.map(({ word }) => word));
    const all = [...terms, ...[...meant.values()].filter(({ word }) => !known.has(word))];
    return suggestion === query ? { terms: all } : { terms: all, suggestion };
  }

  /** Nobody is told a word that is only in what they may not read. */
  async function firstWithin(terms: Term[], scope: Scope): Promise<Term | undefined> {
    for (const term of terms.filter(({ count, begun }) => count > 0 && !begun)) {
      const [found = []] = await words.best([term], [{ scope: onlyRights(scope), limit: 1 }]);
      if (found.length > 0) return term;
    }
    return undefined;
  }

  async function load(hits: Scored[], scope: Scope): Promise<Map<number, Row>> {
    if (hits.length === 0) return new Map();
    const nums = listOf[db.engine](hits.map((hit) => hit.num));
    return new Map((await rowsOf(db, scope, { nums })).map((row) => [row.num, row]));
  }

  return { passages, pages };
}

async function nearby(nearest: Nearest | undefined, scope: Scope, notes: string[]) {
  try {
    return await nearest?.(scope, considered);
  } catch (error) {
    notes.push(`only words were compared: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

const rowsOf = scoped<{ nums: List }, Row>(
  (engine, slot, isInside) => sql`
    SELECT p.num, p.part, p.heading, p.line, p.body, t.kind, t.id, t.title, t.author, t.at
    ${withNumbers[engine]("passages p JOIN things t ON t.num = p.thing", "p.num", slot("nums"))} AND ${isInside}`,
);

/** Of a passage that was found by its heading alone, the heading is shown too. */
function passageOf({ heading, body }: Pick<Hit, "heading" | "body">, terms: Term[]) {
  const own = snippet(body, terms);
  const above = heading.split(" › ").at(-1);
  return own.found.length > 0 || !above ? own : snippet(`${above}: ${body}`, terms);
}

function weigh(words: Scored[], near: { hits: Scored[]; weight: number } | undefined, top: number): Scores {
  if (!near) return byBest(words, top);
  return fuse([
    { scores: byBest(words, top), weight: 1 - near.weight },
    { scores: byRange(near.hits), weight: near.weight },
  ]);
}
