/** A word to look for, and in how many passages it is. */
export type Term = { word: string; count: number; begun?: boolean };

/** Which passages are ranked: those with any of `by`. `beside` only add to their scores. */
export type Choice = {
  by: Term[];
  beside: Term[];
  /** Even the rarest word is in too many: only those with all the words are ranked, and the newest with any. */
  isCommon: boolean;
};

export type Limits = {
  /** The rarest words choose: as many of them as are in so many passages together. */
  chosen: number;
  /** No more passages are ranked at once. */
  ranked: number;
};

/** Of words that are all common, so many are looked at. */
const mostCommon = 3;

/**
 * Ranking costs by the passage, and what has none of the rare words is seldom among the best. Words in more
 * than half of the passages have no weight in BM25 and are left out beside others.
 */
export function choose(terms: Term[], passages: number, { chosen, ranked }: Limits): Choice | undefined {
  const [rarest, ...others] = terms.filter((term) => term.count > 0).sort((a, b) => a.count - b.count);
  if (!rarest) return undefined;
  const telling = [rarest, ...others.filter((term) => term.count * 2 <= passages)];
  if (rarest.count > ranked) return { by: telling.slice(0, mostCommon), beside: [], isCommon: true };
  let sum = 0;
  const isChosen = telling.map(({ count }, at) => {
    sum += count;
    return at === 0 || sum <= chosen;
  });
  return {
    by: telling.filter((_, at) => isChosen[at]),
    beside: telling.filter((_, at) => !isChosen[at]),
    isCommon: false,
  };
}
