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
export function choose(
  terms: Term[],
  passages: number,
  { candidates, share, ranked }: RankLimits,
  isTelling: (term: Term) => boolean = () => true,
): Choice | undefined {
  const [rarest, ...others] = terms.filter((term) => term.count > 0).sort((a, b) => a.count - b.count);
  if (!rarest) return undefined;
  const weighted = [rarest, ...others.filter((term) => term.count * 2 <= passages)];
  if (rarest.count > ranked) return { selecting: weighted.slice(0, maxCommon), scoring: [], isCommon: true };
  const most = Math.max(candidates, share * passages);
  let sum = 0;
  const isSelecting = weighted.map((term, at) => {
    sum += term.count;
    return at === 0 || (sum <= most && isTelling(term));
  });
  return {
    selecting: weighted.filter((_, at) => isSelecting[at]),
    scoring: weighted.filter((_, at) => !isSelecting[at]),
    isCommon: false,
  };
}

/** A word in more passages than both of these is common. */
export const commonCount = 100;
const commonShare = 0.2;
/** A shorter word that does not occur may be half typed. */
const minTelling = 3;

/**
 * Whether a passage with this word, and no other, fits the query. If the query has a rarer word, or one that the texts
 * lack, a common word by itself does not make a passage fit. Ignored words say nothing, such as mistyped stop words.
 */
export function tellingIn(
  terms: Term[],
  passages: number,
  isIgnored: (word: string) => boolean,
): (term: Term) => boolean {
  const isCommon = ({ count }: Term) => count > Math.max(commonCount, commonShare * passages);
  const isRare = (term: Term) =>
    term.count > 0 ? !isCommon(term) : term.word.length >= minTelling && !isIgnored(term.word);
  return terms.some(isRare) ? (term) => !isCommon(term) : () => true;
}
