import type { ScoredPassage } from "../../store/queries/search/ranking.ts";

/** Scores from 0 to 1, by passage number. */
export type Scores = Map<number, number>;

/** For BM25: divides by the best score. */
export function byBest(hits: ScoredPassage[], best = hits[0]?.score ?? 0): Scores {
  return new Map(hits.map(({ num, score }) => [num, best > 0 ? score / best : 0]));
}

/** The least distance of the best similarity to the floor that counts as a full match. */
const minRange = 0.2;

/**
 * For vectors: scales from the floor, the similarity of texts that have nothing in common, to the best. If even the
 * best is near the floor, none gets a full score.
 */
export function aboveFloor(similarities: Scores, floor: number): Scores {
  let best = floor + minRange;
  for (const similarity of similarities.values()) best = Math.max(best, similarity);
  const scores: Scores = new Map();
  for (const [num, similarity] of similarities)
    if (similarity > floor) scores.set(num, (similarity - floor) / (best - floor));
  return scores;
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
