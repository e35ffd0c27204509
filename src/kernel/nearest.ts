const mostNamed = 20;

/** The candidate that was probably meant by `word`, if one is close enough. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = fold(word);
  if (wanted === "") return undefined;
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = distanceTo(wanted, fold(candidate), best?.distance ?? Math.floor((wanted.length + 1) / 3));
    if (distance !== undefined && (!best || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** The end of a message about an unknown name: the nearest one, or else the names there are. */
export function suggest(word: string, candidates: readonly string[]): string {
  const near = nearest(word, candidates);
  if (near !== undefined) return `did you mean ${near}?`;
  return candidates.length === 0 ? "none exist" : `expected ${list(candidates)}`;
}

/** Names for a message, which must stay short however many there are. */
export function list(names: readonly string[]): string {
  if (names.length > mostNamed) return `${names.slice(0, mostNamed).join(", ")} or ${names.length - mostNamed} more`;
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

const fold = (name: string) => name.normalize("NFKC").toLowerCase().replace(/[\s_]/g, "-");

/** The edit distance if it is at most `most`. A part of a path, or the beginning of a longer name, counts as one edit. */
function distanceTo(word: string, candidate: string, most: number): number | undefined {
  if (word === candidate) return 0;
  const isPart = candidate.endsWith(`/${word}`) || candidate.startsWith(`${word}/`) || word.endsWith(`/${candidate}`);
  if (isPart || (word.length >= 4 && candidate.startsWith(word))) return Math.min(1, most);
  if (Math.abs(word.length - candidate.length) > most) return undefined;
  const distance = editDistance(word, candidate);
  return distance <= most ? distance : undefined;
}

/** Damerau-Levenshtein (optimal string alignment): insert, delete, replace, or swap two neighbours. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) row[j] = Math.min(row[j] ?? 0, (beforeLast[j - 2] ?? 0) + 1);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
