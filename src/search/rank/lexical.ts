import { sql } from "kysely";
import type { Database } from "../../store/database.ts";
import { type List, listOf, withNumbers } from "../../store/lists.ts";
import { isNarrowed, mayRead, type Scope, scoped } from "../scope.ts";
import { choose, type Term } from "./lexical/choose.ts";
import { type Counted, count, limits, rank, type Scored, spelled, type Total, total } from "./lexical/engines.ts";
import type { PassagePlaces } from "./places.ts";

/** Some of the best, within a scope. */
export type Share = {
  scope: Scope;
  limit: number;
  /** Only as far as they are among the best of all: what is not is worth nothing to the caller. */
  amongBest?: boolean;
};

type Ranking = { hits: Scored[]; isAll: boolean };

/** With so many found by the rarer words, nobody misses what has only common ones. */
const enough = 50;
const prefixLength = 3;

/** Passages by their words, on either engine. */
export function wordIndex(db: Database, places: PassagePlaces) {
  const totalNow = totals(db);
  const countOf = counts(db, totalNow);

  /** The rarest words first; with too few that have them, those that have only the others follow. */
  async function ranking(terms: Term[], total: Total, limit: number, scope?: Scope): Promise<Ranking> {
    let hits: Scored[] = [];
    let left = terms.filter((term) => term.count > 0);
    while (hits.length < enough) {
      const choice = choose(left, total.passages, limits[db.engine]);
      if (!choice) break;
      const known = new Set(hits.map(({ num }) => num));
      const found = await rank[db.engine](db, choice, total, limit, scope);
      hits = known.size === 0 ? found : [...hits, ...found.filter(({ num }) => !known.has(num))];
      left = left.filter((term) => !choice.by.includes(term));
    }
    return { hits: hits.slice(0, limit), isAll: left.length === 0 && hits.length < limit };
  }

  async function inScope(hits: Scored[], scope: Scope): Promise<Scored[]> {
    if (hits.length === 0) return [];
    const nums = hits.map((hit) => hit.num);
    if (isNarrowed(scope)) {
      const kept = new Set((await numsInside(db, scope, { nums: listOf[db.engine](nums) })).map((row) => row.num));
      return hits.filter((hit) => kept.has(hit.num));
    }
    const known = await places.of(nums);
    return hits.filter(({ num }) => {
      const place = known.get(num);
      return place !== undefined && mayRead(scope, place);
    });
  }

  return {
    /**
     * In how many passages each word is, and whether changes wait to be indexed: asked together, it is one journey.
     * The last word, if no text has it, is taken as the beginning of one.
     */
    async count(words: string[]): Promise<{ terms: Term[]; isBehind: boolean }> {
      const { counts, isBehind } = await countOf(words.map((word) => ({ word })));
      const terms: Term[] = words.map((word, at) => ({ word, count: counts[at] ?? 0 }));
      const last = terms.at(-1);
      if (!last || last.count > 0 || last.word.length < prefixLength) return { terms, isBehind };
      const begun = (await countOf([{ word: last.word, begun: true }])).counts[0] ?? 0;
      if (begun === 0) return { terms, isBehind };
      return { terms: [...terms.slice(0, -1), { word: last.word, count: begun, begun: true }], isBehind };
    },

    /**
     * The best passages for these words by BM25, any of which may match: some for each scope. Looking
     * up what each match belongs to takes as long as ranking it, and mostly the best are in the scope;
     * only when too few of them are, everything outside it is left out first.
     */
    async best(terms: Term[], shares: Share[]): Promise<Scored[][]> {
      const total = await totalNow();
      const wide = 2 * Math.max(...shares.map(({ limit }) => limit));
      const { hits, isAll } = await ranking(terms, total, wide);
      if (hits.length === 0) return shares.map(() => []);
      return Promise.all(
        shares.map(async ({ scope, limit, amongBest }) => {
          if (scope.kinds.length === 0) return [];
          const best = await inScope(hits.slice(0, limit), scope);
          if (best.length === limit) return best;
          const kept = [...best, ...(await inScope(hits.slice(limit), scope))];
          const isEnough = kept.length >= limit || isAll || amongBest || (hits.length < wide && kept.length >= enough);
          if (isEnough || (await anyInside(db, scope, {})).length === 0) return kept.slice(0, limit);
          return (await ranking(terms, total, limit, scope)).hits;
        }),
      );
    },
  };
}

export type WordIndex = ReturnType<typeof wordIndex>;

const numsInside = scoped<{ nums: List }, { num: number }>(
  (engine, slot, isInside) => sql`
    SELECT p.num ${withNumbers[engine]("passages p JOIN things t ON t.num = p.thing", "p.num", slot("nums"))} AND ${isInside}`,
);

const anyInside = scoped<object, unknown>(
  (_engine, _slot, isInside) => sql`SELECT 1 FROM things t WHERE ${isInside} LIMIT 1`,
);

const leastMs = 10_000;
/** No more than about a hundredth of all time is spent on it. */
const shareOfTime = 100;

/** How many passages there are and how long they are: counting them takes a while, and what it was a moment ago will do. */
function totals(db: Database): () => Promise<Total> {
  let known: Total | undefined;
  let until = 0;
  return async () => {
    const began = Date.now();
    if (known && began < until) return known;
    known = await total[db.engine](db.read);
    until = Date.now() + Math.max(leastMs, (Date.now() - began) * shareOfTime);
    return known;
  };
}

const rememberedMs = 60_000;
const leastRemembered = 500;

/** A common word takes long to count, and is as common a moment later. */
function counts(db: Database, totalNow: () => Promise<Total>) {
  const remembered = new Map<string, number>();
  let since = Date.now();
  return async (terms: Pick<Term, "word" | "begun">[]): Promise<Counted> => {
    if (Date.now() - since > rememberedMs) {
      remembered.clear();
      since = Date.now();
    }
    const { common } = await totalNow();
    const words = terms.map((term) => spelled(db.engine, term));
    const known = new Map(
      words.flatMap((word) => {
        const n = common.get(word) ?? remembered.get(word);
        return n === undefined ? [] : [[word, n] as const];
      }),
    );
    const fresh = words.filter((word) => !known.has(word));
    const { counts, isBehind } = await count[db.engine](db.read, fresh);
    for (const [at, word] of fresh.entries()) {
      const n = counts[at] ?? 0;
      known.set(word, n);
      if (n >= leastRemembered) remembered.set(word, n);
    }
    return { counts: words.map((word) => known.get(word) ?? 0), isBehind };
  };
}
