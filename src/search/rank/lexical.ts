import type { Database } from "../../store/database.ts";
import { numsInScope } from "../../store/queries/search/passages.ts";
import {
  countMatches,
  type IndexTotals,
  indexTotals,
  passagesWith,
  type QueryWord,
  type RankLimits,
  type Requirements,
  rankLimits,
  type ScoredPassage,
  spelledFor,
  type WordCounts,
} from "../../store/queries/search/ranking.ts";
import type { Scope } from "../../store/queries/search/scope.ts";
import { isScopeEmpty } from "../../store/queries/search/things.ts";
import { isStopWordSlip } from "../index/spelling.ts";
import { hasFilters, mayRead } from "../scope.ts";
import { choose, commonCount, type Term, tellingIn } from "./lexical/choose.ts";
import { rank } from "./lexical/engines.ts";
import { type CachedPostings, cachedPostings } from "./lexical/postings.ts";
import type { PassagePlaces } from "./places.ts";

export type ScopedLimit = {
  scope: Scope;
  limit: number;
  /** Only those among the best of all scopes; fewer than `limit` may be returned. */
  amongBest?: boolean;
};

type Ranking = { hits: ScoredPassage[]; isAll: boolean };

/** With this many passages found by the rarer words, those with only common words are not ranked. */
const enough = 50;
const minPrefixLength = 3;

/** Finds passages by their words, on either engine. `kinds` are all that the index has. */
export function wordIndex(db: Database, places: PassagePlaces, kinds: readonly string[]) {
  const postings = db.engine === "sqlite" ? cachedPostings(db) : undefined;
  const totals = cachedTotals(db, postings);
  const countsOf = cachedCounts(db, totals, postings);

  /** Ranks passages with the rarest words; if they are too few, those with only the other words follow. */
  async function ranking(
    terms: Term[],
    totals: IndexTotals,
    { limit, excluded, isTelling }: { limit: number; excluded: Requirements[]; isTelling: (term: Term) => boolean },
    scope?: Scope,
  ): Promise<Ranking> {
    let hits: ScoredPassage[] = [];
    let left = terms.filter((term) => term.count > 0);
    const isCached =
      scope === undefined &&
      excluded.length === 0 &&
      left.every(({ word, isPrefix }) => !isPrefix && postings?.isListed(word));
    while (hits.length < enough && left.some(isTelling)) {
      const choice = choose(left, totals.passages, isCached ? unlimited : rankLimits[db.engine], isTelling);
      if (!choice) break;
      const known = new Set(hits.map(({ num }) => num));
      const cached = isCached
        ? await postings?.best(wordsIn(choice.selecting), wordsIn(choice.scoring), limit)
        : undefined;
      const found = cached ?? (await rank[db.engine](db, { ...choice, excluded }, totals, limit, scope));
      hits = known.size === 0 ? found : [...hits, ...found.filter(({ num }) => !known.has(num))];
      left = left.filter((term) => !choice.selecting.includes(term));
    }
    return { hits: hits.slice(0, limit), isAll: !left.some(isTelling) && hits.length < limit };
  }

  const isEverything = (scope: Scope) =>
    !hasFilters(scope) && scope.run === undefined && kinds.every((kind) => scope.kinds.includes(kind));

  async function inScope(hits: ScoredPassage[], scope: Scope): Promise<ScoredPassage[]> {
    if (hits.length === 0 || isEverything(scope)) return hits;
    if (!hasFilters(scope)) return places.matching(hits, (place) => mayRead(scope, place));
    const inside = await numsInScope(
      db,
      scope,
      hits.map((hit) => hit.num),
    );
    return hits.filter((hit) => inside.has(hit.num));
  }

  return {
    /**
     * Counts the passages with each word, and reports whether changes wait to be indexed: one round trip for both.
     * If no passage has the last word, it is taken as a prefix.
     */
    async count(words: string[]): Promise<{ terms: Term[]; isBehind: boolean }> {
      const { counts, isBehind } = await countsOf(words.map((word) => ({ word })));
      const terms: Term[] = words.map((word, at) => ({ word, count: counts[at] ?? 0 }));
      const last = terms.at(-1);
      if (!last || last.count > 0 || last.word.length < minPrefixLength) return { terms, isBehind };
      const count = (await countsOf([{ word: last.word, isPrefix: true }])).counts[0] ?? 0;
      if (count === 0) return { terms, isBehind };
      return { terms: [...terms.slice(0, -1), { word: last.word, count, isPrefix: true }], isBehind };
    },

    /**
     * The best passages by BM25 that contain any of the words, for each scope. Checking the scope of every match
     * takes as long as ranking it, so all matches are ranked first and the best are checked. Only if too few of them
     * are in the scope is the ranking repeated inside it. Passages that meet any of `excluded`, also in the words around
     * them, are left out.
     */
    async best(terms: Term[], shares: ScopedLimit[], excluded: Requirements[] = []): Promise<ScoredPassage[][]> {
      const known = await totals.read();
      const isTelling = tellingIn(terms, known.passages, isStopWordSlip);
      const common = terms.filter((term) => term.count > 0 && !isTelling(term));
      const lists = await bestTelling(terms, shares, known, { excluded, isTelling });
      if (common.length === 0) return lists;
      return Promise.all(
        lists.map(async (list, at) => {
          const { scope, limit, amongBest } = shares[at] as ScopedLimit;
          if (list.length > 0 || amongBest || !(await isRareIn(scope, common))) return list;
          return (await ranking(common, known, { limit, excluded, isTelling: () => true }, scope)).hits;
        }),
      );
    },
  };

  /** A word may be common only in what the caller may not read, which must not hide the little that it may. */
  async function isRareIn(scope: Scope, words: Term[]): Promise<boolean> {
    if (scope.kinds.length === 0) return false;
    const any = [words.map(({ word }) => word)];
    const nums = await passagesWith(db, scope, any, { before: Number.MAX_SAFE_INTEGER, limit: commonCount + 1 });
    return nums.length <= commonCount;
  }

  async function bestTelling(
    terms: Term[],
    shares: ScopedLimit[],
    known: IndexTotals,
    options: { excluded: Requirements[]; isTelling: (term: Term) => boolean },
  ): Promise<ScoredPassage[][]> {
    const most = Math.max(...shares.map(({ limit }) => limit));
    const wide = shares.every(({ scope }) => scope.kinds.length === 0 || isEverything(scope)) ? most : 2 * most;
    const { hits, isAll } = await ranking(terms, known, { limit: wide, ...options });
    if (hits.length === 0) return shares.map(() => []);
    return Promise.all(
      shares.map(async ({ scope, limit, amongBest }) => {
        if (scope.kinds.length === 0) return [];
        const best = await inScope(hits.slice(0, limit), scope);
        if (best.length === limit || isEverything(scope)) return best;
        const inside = [...best, ...(await inScope(hits.slice(limit), scope))];
        const isEnough =
          inside.length >= limit || isAll || amongBest || (hits.length < wide && inside.length >= enough);
        if (isEnough || (await isScopeEmpty(db, scope))) return inside.slice(0, limit);
        return (await ranking(terms, known, { limit, ...options }, scope)).hits;
      }),
    );
  }
}

export type WordIndex = ReturnType<typeof wordIndex>;

/** Adding up what is in memory takes less than deciding what to leave out. */
const unlimited: RankLimits = { candidates: Number.POSITIVE_INFINITY, share: 1, ranked: Number.POSITIVE_INFINITY };

const wordsIn = (terms: Term[]) => terms.map(({ word }) => word);

const minTotalsMs = 10_000;
/** Totals are cached for 100 times as long as counting them took: at most 1 % of the time is spent on it. */
const totalsFactor = 100;

/** In an index that has grown by more than this share, the weights of words would be wrong. */
const maxGrowth = 0.02;

/** What is cached for SQLite is exact: it needs no totals. */
function cachedTotals(db: Database, postings: CachedPostings | undefined) {
  let known: IndexTotals | undefined;
  let until = 0;
  return {
    async read(): Promise<IndexTotals> {
      if (postings) return { passages: postings.passages(), length: 1, last: 0, common: new Map() };
      const began = Date.now();
      if (known && began < until) return known;
      known = await indexTotals[db.engine](db.read);
      until = Date.now() + Math.max(minTotalsMs, (Date.now() - began) * totalsFactor);
      return known;
    },
    /** With the highest passage number now. */
    compare(last: number): void {
      if (known && last - known.last > known.passages * maxGrowth) until = 0;
    },
  };
}

type Totals = ReturnType<typeof cachedTotals>;

const countsMs = 60_000;
const minCachedCount = 100;

/** Caches the counts of common words, which take longest to count and change least. */
function cachedCounts(db: Database, totals: Totals, postings: CachedPostings | undefined) {
  const cached = new Map<string, number>();
  let since = Date.now();
  return async (queryWords: QueryWord[]): Promise<WordCounts> => {
    if (Date.now() - since > countsMs) {
      cached.clear();
      since = Date.now();
    }
    const isBehind = await postings?.refresh();
    const { common } = await totals.read();
    const listed = await postings?.counts(queryWords.flatMap(({ word, isPrefix }) => (isPrefix ? [] : [word])));
    const known = new Map<string, number>();
    const unknown: string[] = [];
    for (const one of queryWords) {
      const spelled = spelledFor[db.engine](one);
      const n = (one.isPrefix ? undefined : listed?.get(one.word)) ?? common.get(spelled) ?? cached.get(spelled);
      if (n === undefined) unknown.push(spelled);
      else known.set(spelled, n);
    }
    const answer = (isBehind: boolean): WordCounts => ({
      counts: queryWords.map((one) => known.get(spelledFor[db.engine](one)) ?? 0),
      isBehind,
    });
    if (unknown.length === 0 && isBehind !== undefined) return answer(isBehind);
    const found = await countMatches[db.engine](db.read, unknown);
    for (const [at, word] of unknown.entries()) {
      const n = found.counts[at] ?? 0;
      known.set(word, n);
      if (n >= minCachedCount) cached.set(word, n);
    }
    totals.compare(found.last ?? 0);
    return answer(found.isBehind);
  };
}
