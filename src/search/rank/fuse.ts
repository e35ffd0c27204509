import type { Scored } from "./lexical/engines.ts";

/** Scores by passage, from 0 to 1. */
export type Scores = Map<number, number>;

/** Words: what is half as good as the best is half as much. */
export function byBest(hits: Scored[], best = hits[0]?.score ?? 0): Scores {
  return new Map(hits.map(({ num, score }) => [num, best > 0 ? score / best : 0]));
}

/** Vectors: all are somewhat alike, so that only what lies between the last and the first tells. */
export function byRange(hits: Scored[]): Scores {
  const best = hits[0]?.score ?? 0;
  const least = hits.at(-1)?.score ?? 0;
  const range = best - least;
  return new Map(hits.map(({ num, score }) => [num, range > 0 ? (score - least) / range : 1]));
}

/** A weighted sum. Ranks alone lose what the scores know: how much better the first is than the second. */
export function fuse(lists: { scores: Scores; weight: number }[]): Scores {
  const sum: Scores = new Map();
  for (const { scores, weight } of lists)
    for (const [num, score] of scores) sum.set(num, (sum.get(num) ?? 0) + weight * score);
  return sum;
}

export const best = (scores: Scores, limit: number): Scored[] =>
  [...scores]
    .map(([num, score]) => ({ num, score }))
    .sort((a, b) => b.score - a.score || a.num - b.num)
    .slice(0, limit);

/** How much a further hit of the same page adds to its best one. */
const further = 0.1;

/** Pages by their passages: the best counts, others add a little. */
export function byPage<T extends { page: string; score: number }>(hits: T[]): (T & { more: T[] })[] {
  const pages = new Map<string, T & { more: T[] }>();
  for (const hit of hits) {
    const page = pages.get(hit.page);
    if (!page) pages.set(hit.page, { ...hit, more: [] });
    else page.more.push(hit);
  }
  return [...pages.values()]
    .map((page) => ({
      ...page,
      score: page.score + page.more.reduce((sum, hit, at) => sum + hit.score * further ** (at + 1), 0),
    }))
    .sort((a, b) => b.score - a.score);
}
