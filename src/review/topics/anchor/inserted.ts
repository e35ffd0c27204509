import { insertions, unchangedLines } from "./unchanged.ts";

/** With fewer of its words, no place can resemble a passage. */
const leastShare = 0.4;

/**
 * Whether a passage that was not in `since` may be in the lines that are new in `after`. A lost passage comes back with
 * its words, so where nothing like them was written there is nothing to search, however long the page is.
 */
export function mayBeInserted(since: string, after: string): (quote: string) => boolean {
  const inserted = insertions(unchangedLines(since, after), after).map(({ start, end }) => after.slice(start, end));
  const words = new Set(inserted.flatMap(wordsOf));
  const text = inserted.join("\n");
  return (quote) => {
    const wanted = wordsOf(quote);
    if (wanted.length === 0) return text.includes(quote.trim());
    const size = (list: string[]) => list.reduce((sum, word) => sum + word.length, 0);
    return size(wanted.filter((word) => words.has(word))) >= leastShare * size(wanted);
  };
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
