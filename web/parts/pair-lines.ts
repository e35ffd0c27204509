/** Pairs of positions in two lists of lines, where one line replaces the other, in order. */
export function pairLines(removed: readonly string[], added: readonly string[]): [number, number][] {
  if (removed.length === added.length) return removed.map((_, at) => [at, at]);
  if (removed.length * added.length > mostCompared) return [];
  const left = removed.map(wordsOf);
  const right = added.map(wordsOf);
  // best[i][j]: the largest sum of likenesses of pairs from the i-th removed and the j-th added line on.
  const best = Array.from({ length: left.length + 1 }, () => new Array<number>(right.length + 1).fill(0));
  const at = (i: number, j: number) => best[i]?.[j] ?? 0;
  const like = left.map((one) => right.map((other) => likeness(one, other)));
  const paired = (i: number, j: number) => {
    const score = like[i]?.[j] ?? 0;
    return score < leastLike ? -1 : score + at(i + 1, j + 1);
  };
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const row = best[i];
      if (row) row[j] = Math.max(at(i + 1, j), at(i, j + 1), paired(i, j));
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    if (at(i, j) === paired(i, j)) pairs.push([i++, j++]);
    else if (at(i, j) === at(i + 1, j)) i++;
    else j++;
  }
  return pairs;
}

/** Comparisons of two lines; more would block the page. */
const mostCompared = 2500;
/** The part of the words that two lines must share. */
const leastLike = 0.3;

const wordsOf = (line: string) => new Set(line.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);

function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const larger = Math.max(one.size, other.size);
  if (larger === 0) return 0;
  return [...one].filter((word) => other.has(word)).length / larger;
}
