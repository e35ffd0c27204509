import type { QueryWord, RankLimits } from "../../../store/queries/search/ranking.ts";

/** A query word, and the number of passages that contain it. */
export type Term = QueryWord & { count: number };

export type Choice = {
  /** A passage with any of these is ranked. */
  selecting: Term[];
  /** These only add to the scores of passages that are ranked anyway. */
  scoring: Term[];
  /** Even the rarest word is in too many passages: rank those with all the words, and the newest with any. */
  isCommon: boolean;
};

/** When all words are common, the number of them that are used. */
const maxCommon = 3;

/**
 * Ranking costs by the passage, and a passage without any rare word is seldom among the best. Words in more
 * than half of the passages have no weight in BM25; they are used only if there is no other.
 */
export function choose(terms: Term[], passages: number, { candidates, share, ranked }: RankLimits): Choice | undefined {
  const [rarest, ...others] = terms.filter((term) => term.count > 0).sort((a, b) => a.count - b.count);
  if (!rarest) return undefined;
  const weighted = [rarest, ...others.filter((term) => term.count * 2 <= passages)];
  if (rarest.count > ranked) return { selecting: weighted.slice(0, maxCommon), scoring: [], isCommon: true };
  const most = Math.max(candidates, share * passages);
  let sum = 0;
  const isSelecting = weighted.map(({ count }, at) => {
    sum += count;
    return at === 0 || sum <= most;
  });
  return {
    selecting: weighted.filter((_, at) => isSelecting[at]),
    scoring: weighted.filter((_, at) => !isSelecting[at]),
    isCommon: false,
  };
}
