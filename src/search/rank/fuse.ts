import type { ScoredPassage } from "../../store/queries/search/ranking.ts";

/** Scores from 0 to 1, by passage number. */
export type Scores = Map<number, number>;

/** For BM25: divides by the best score. */
export function byBest(hits: ScoredPassage[], best = hits[0]?.score ?? 0): Scores {
  return new Map(hits.map(({ num, score }) => [num, best > 0 ? score / best : 0]));
}

/** For vectors: scales from the lowest to the highest score, because cosine similarities of any two texts are high. */
export function byRange(hits: ScoredPassage[]): Scores {
  const best = hits[0]?.score ?? 0;
  const least = hits.at(-1)?.score ?? 0;
  const range = best - least;
  return new Map(hits.map(({ num, score }) => [num, range > 0 ? (score - least) / range : 1]));
}

/** A weighted sum of scores; rank fusion would lose how much better the first is than the second. */
export function fuse(lists: { scores: Scores; weight: number }[]): Scores {
  const sum: Scores = new Map();
  for (const { scores, weight } of lists)
    for (const [num, score] of scores) sum.set(num, (sum.get(num) ?? 0) + weight * score);
  return sum;
}

export const best = (scores: Scores, limit: number): ScoredPassage[] =>
  [...scores]
    .map(([num, score]) => ({ num, score }))
    .sort((a, b) => b.score - a.score || a.num - b.num)
    .slice(0, limit);

/** The n-th further hit of a page adds its score times this to the n-th power. */
const furtherWeight = 0.1;

/** Groups hits by page. A page's score is that of its best hit plus a little for each further one. */
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
      score: page.score + page.more.reduce((sum, hit, at) => sum + hit.score * furtherWeight ** (at + 1), 0),
    }))
    .sort((a, b) => b.score - a.score);
}
