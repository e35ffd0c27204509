/** The known name that a misspelt one most likely means: at most a third of its letters differ. */
export function nearest(given: string, known: readonly string[]): string | undefined {
  const word = given.toLowerCase();
  const most = Math.max(1, Math.floor(word.length / 3));
  const ranked = known
    .map((name) => ({ name, distance: distance(word, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.name;
}

/** Edit distance in which swapping two neighbours counts once. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const cost = a[row - 1] === b[column - 1] ? 0 : 1;
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + cost,
        swapped ? (before[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
