import type { Database } from "../store/database.ts";
import { passagesByNum, type StoredPassage } from "../store/queries/search/passages.ts";
import type { ScoredPassage } from "../store/queries/search/ranking.ts";
import { firstFoundWith } from "../store/queries/search/ranking.ts";
import type { Scope } from "../store/queries/search/scope.ts";
import type { Hit } from "./hit.ts";
import type { indexer } from "./index/indexer.ts";
import { isStopWordSlip, type Speller } from "./index/spelling.ts";
import { narrower } from "./narrow.ts";
import { readOperators } from "./operators.ts";
import { dateVariants } from "./rank/dates.ts";
import { aboveFloor, best, byBest, byPage, fuse, type Scores } from "./rank/fuse.ts";
import { linkedFrom } from "./rank/hops.ts";
import type { Term } from "./rank/lexical/choose.ts";
import type { WordIndex } from "./rank/lexical.ts";
import { marker, type Snippet } from "./rank/marks.ts";
import type { Meaning, Near, Nearest } from "./rank/meaning.ts";
import type { PassagePlaces } from "./rank/places.ts";
import { isCutShort, requirementsOf, searchTerms } from "./rank/terms.ts";
import { linkWeight } from "./rank/weights.ts";
import { hasFilters, withoutFilters } from "./scope.ts";

export type SearchResult = {
  hits: Hit[];
  /** The query with its spelling corrected. */
  suggestion?: string;
  /** Limits of this result, e.g. changes that are not indexed yet. */
  notes: string[];
};

type Deps = {
  db: Database;
  places: PassagePlaces;
  words: WordIndex;
  indexer: ReturnType<typeof indexer>;
  meaning: Meaning;
  speller: Speller;
  /** By kind. */
  weights: Map<string, number>;
};

export type SearchOptions = {
  scope: Scope;
  limit: number;
  /** Kinds that are not returned, but whose links are followed: graph nodes lead to their sources. */
  through?: string[];
  /** Parts to leave out, for speed or to measure the others. */
  without?: ("meaning" | "links")[];
  /** How long to wait for changes that are not indexed yet; 3 s if not given. */
  catchUpMs?: number;
};

/** Maximum number of passages from words, and from vectors, that are combined. */
const maxCandidates = 300;
/** The same for the kinds of `through`. */
const maxBridges = 50;
const usualCatchUpMs = 3000;
const maxCorrected = 5;
/** A long question is ranked by its rarest words; the others add little and cost as much. */
const maxRanked = 100;
/** Minimum number of passages that are grouped into pages. */
const minForPages = 100;
/** Maximum number of further passages shown for a page. */
const maxFurther = 3;

export function finder({ db, places, words, indexer, meaning, speller, weights }: Deps) {
  const narrow = narrower(db);

  /** The best passages. Only they are loaded, marked and explained, which costs more than ranking. */
  async function passages(query: string, options: SearchOptions): Promise<SearchResult> {
    const { chosen, explain, ...result } = await rank(query, options, options.limit);
    const rows = await load(chosen, options.scope);
    return { ...result, hits: chosen.flatMap((hit) => explain(hit, rows.get(hit.num))) };
  }

  /** One hit for each thing: its best passage, and a few further ones. */
  async function pages(
    query: string,
    options: SearchOptions,
  ): Promise<Omit<SearchResult, "hits"> & { hits: (Hit & { more: Hit[] })[] }> {
    const { chosen, explain, ...result } = await rank(query, options, Math.max(minForPages, options.limit * 5));
    const known = await places.of(chosen.map((hit) => hit.num));
    const withPage = chosen.flatMap((hit) => {
      const place = known.get(hit.num);
      return place ? [{ ...hit, page: `${place.kind}:${place.id}` }] : [];
    });
    const { shown, rows } = await loadPages(withPage, options);
    const explained = (hit: ScoredPassage) => explain(hit, rows.get(hit.num));
    const hits = shown.flatMap(({ first, more }) =>
      explained(first).map((hit) => ({ ...hit, more: more.flatMap(explained) })),
    );
    return { ...result, hits };
  }

  /** The caches may still have deleted passages. Without them other pages move up, so grouping is repeated. */
  async function loadPages(hits: (ScoredPassage & { page: string })[], { scope, limit }: SearchOptions) {
    for (let left = hits; ; ) {
      const shown = byPage(left)
        .slice(0, limit)
        .map(({ more, ...first }) => ({ first, more: more.slice(0, maxFurther) }));
      const needed = shown.flatMap(({ first, more }) => [first, ...more]);
      const rows = await load(needed, scope);
      if (rows.size === needed.length) return { shown, rows };
      const deleted = new Set(needed.map(({ num }) => num).filter((num) => !rows.has(num)));
      for (const num of deleted) places.forget(num);
      left = left.filter(({ num }) => !deleted.has(num));
    }
  }

  async function rank(query: string, options: SearchOptions, limit: number) {
    const { scope, without, catchUpMs = usualCatchUpMs } = options;
    const { text, operators } = readOperators(query);
    const notes = await indexer.refresh(scope.kinds);
    const [counted, nearest] = await Promise.all([
      count(text, catchUpMs),
      without?.includes("meaning") ? undefined : meaning.ask(text),
    ]);
    if (counted.left > 0) notes.push(`${counted.left} changes are not indexed yet`);
    if (isCutShort(query)) notes.push("only the first 20,000 characters of the query were used");
    const { terms, suggestion } = await corrected(query, rarest(counted.terms), scope);
    const through = (options.through ?? []).filter((kind) => !scope.kinds.includes(kind));
    const bridgeScope: Scope = { ...withoutFilters(scope), kinds: through };

    const excluded = operators?.excluded.map(requirementsOf) ?? [];
    const [[byAllWords = [], bridges = []], [others = []], near, bridgesNear] = await Promise.all([
      words.best(terms, [
        { scope, limit: maxCandidates },
        { scope: bridgeScope, limit: maxBridges, amongBest: true },
      ]),
      // The index cannot tell a passage's words from those around it: both lists are needed.
      excluded.length > 0 ? words.best(terms, [{ scope, limit: maxCandidates }], excluded) : [],
      nearby(nearest, scope, notes),
      through.length > 0 ? nearby(nearest, bridgeScope, []) : undefined,
    ]);
    const byWords = others.length > 0 ? byScore([...byAllWords, ...others]) : byAllWords;
    const top = Math.max(byWords[0]?.score ?? 0, bridges[0]?.score ?? 0);
    const [own, bridging] = await Promise.all([combine(byWords, near, top), combine(bridges, bridgesNear, top)]);
    const linked = without?.includes("links")
      ? undefined
      : await linkedFrom(db, places, bridging.size === 0 ? own : new Map([...own, ...bridging]), scope);
    const scores = linked
      ? fuse([
          { scores: own, weight: 1 },
          { scores: linked.scores, weight: linkWeight },
        ])
      : own;

    const common = terms.filter(({ count }) => count > 0).map(({ word }) => word);
    if (scores.size === 0 && common.length > 0 && !hasFilters(scope))
      notes.push(`only words that are in many passages occur: ${common.slice(0, maxNamedWords).join(", ")}`);
    const narrowed = operators ? await narrow(scores, operators, { scope, notes }) : scores;
    const chosen = best(await weighed(narrowed, scope), limit);
    const nearNums = new Set(
      near?.hits.slice(0, options.limit).flatMap((hit) => (hit.score > near.floor.beside ? [hit.num] : [])),
    );
    const marks = marker(terms);
    const explain = ({ num, score }: ScoredPassage, row: StoredPassage | undefined): Hit[] => {
      if (!row) return [];
      const { text, found } = snippetOf(row, marks);
      const why = [
        ...(found.length > 0 ? [`words: ${found.join(", ")}`] : []),
        ...(nearNums.has(num) ? ["similar meaning"] : []),
        ...(linked?.from.has(num) ? [`linked from ${linked.from.get(num)}`] : []),
      ];
      return [{ ...row, score, snippet: text, why: why.length > 0 ? why : ["next to a match"] }];
    };
    return { chosen, explain, notes, ...(suggestion ? { suggestion } : {}) };
  }

  /** The scores times the weights of their kinds. */
  async function weighed(scores: Scores, { kinds }: Scope): Promise<Scores> {
    if (new Set(kinds.map((kind) => weights.get(kind))).size < 2) return scores;
    const known = await places.of([...scores.keys()]);
    return new Map([...scores].map(([num, score]) => [num, score * (weights.get(known.get(num)?.kind ?? "") ?? 1)]));
  }

  /** The words of the query with their counts, after indexing what changed; `left` changes were not indexed in time. */
  async function count(query: string, catchUpMs: number): Promise<{ terms: Term[]; left: number }> {
    const queryWords = searchTerms(query);
    const variants = new Set(dateVariants(query));
    const typed = (terms: Term[]) => terms.filter(({ word, count }) => count > 0 || !variants.has(word));
    const { terms, isBehind } = await words.count(queryWords);
    if (!isBehind) return { terms: typed(terms), left: 0 };
    const left = await catchUp(catchUpMs);
    return { terms: typed((await words.count(queryWords)).terms), left };
  }

  /** Indexes what changed, for a limited time; after a large import some of it stays queued. */
  async function catchUp(ms: number): Promise<number> {
    const until = performance.now() + ms;
    while ((await indexer.catchUp("newest")) > 0) if (performance.now() > until) return indexer.pending();
    return 0;
  }

  /** Replaces each word that no passage has by its likeliest correction. */
  async function corrected(
    query: string,
    terms: Term[],
    scope: Scope,
  ): Promise<{ terms: Term[]; suggestion?: string }> {
    const corrections = new Map<string, Term>();
    const others = terms.filter(({ count }) => count > 0);
    const unknown = terms.filter(({ word, count }) => count === 0 && !isStopWordSlip(word));
    for (const { word } of unknown.slice(0, maxCorrected)) {
      const { terms: candidates } = await words.count(await speller.corrections(word));
      const correction = await firstFitting(candidates, others, scope);
      if (correction) corrections.set(word, correction);
    }
    if (corrections.size === 0) return { terms };
    const suggestion = query.replace(
      /[\p{L}\p{N}\p{M}_]+/gu,
      (word) => corrections.get(word.toLowerCase())?.word ?? word,
    );
    const known = new Set(terms.map(({ word }) => word));
    const all = [
      ...terms.filter(({ word }) => !corrections.has(word)),
      ...[...corrections.values()].filter(({ word }) => !known.has(word)),
    ];
    return suggestion === query ? { terms: all } : { terms: all, suggestion };
  }

  /**
   * The first that is in some passage with another word of the query: a correct word that the texts do not have is
   * seldom like a word of its context. A passage that the caller may not read must not reveal its words.
   */
  async function firstFitting(terms: Term[], others: Term[], scope: Scope): Promise<Term | undefined> {
    const known = terms.filter(({ count, isPrefix }) => count > 0 && !isPrefix);
    const candidates = known.map(({ word }) => word);
    const first = await firstFoundWith(db, withoutFilters(scope), candidates, others);
    return known.find(({ word }) => word === first);
  }

  async function load(hits: ScoredPassage[], scope: Scope): Promise<Map<number, StoredPassage>> {
    const rows = await passagesByNum(
      db,
      scope,
      hits.map((hit) => hit.num),
    );
    return new Map(rows.map((row) => [row.num, row]));
  }

  return { passages, pages };
}

async function nearby(nearest: Nearest | undefined, scope: Scope, notes: string[]) {
  try {
    return await nearest?.(scope, maxCandidates);
  } catch (error) {
    notes.push(`searched by words only: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** Words that a note names. */
const maxNamedWords = 3;

/** The best first, each once. */
const byScore = (hits: ScoredPassage[]): ScoredPassage[] =>
  [...new Map(hits.map((hit) => [hit.num, hit])).values()].sort((a, b) => b.score - a.score || a.num - b.num);

/** The rarest words that occur, in the order of the query, and those that do not. */
function rarest(terms: Term[]): Term[] {
  if (terms.length <= maxRanked) return terms;
  const known = terms.filter(({ count }) => count > 0).sort((a, b) => a.count - b.count);
  const left = new Set(known.slice(maxRanked));
  return terms.filter((term) => !left.has(term));
}

/** If only the heading matched, the snippet begins with it. */
function snippetOf({ heading, body }: Pick<Hit, "heading" | "body">, snippet: (body: string) => Snippet) {
  const own = snippet(body);
  const above = heading.split(" › ").at(-1);
  return own.found.length > 0 || !above ? own : snippet(`${above}: ${body}`);
}

/** `top` is the best word score of all lists that are compared. */
async function combine(words: ScoredPassage[], near: Near | undefined, top: number): Promise<Scores> {
  const byWords = byBest(words, top);
  if (!near) return byWords;
  const similarities = await near.similarities([...byWords.keys()]);
  const byMeaning = aboveFloor(similarities, near.floor.beside);
  const sum: Scores = new Map();
  for (const num of new Set([...byWords.keys(), ...byMeaning.keys()])) {
    const word = byWords.get(num);
    // Nothing speaks for such a passage but its meaning, and some passage is always the nearest.
    if (word === undefined && (similarities.get(num) ?? 0) <= near.floor.alone) continue;
    const weight = near.weightOf(num);
    sum.set(num, (1 - weight) * (word ?? 0) + weight * (byMeaning.get(num) ?? 0));
  }
  return sum;
}
