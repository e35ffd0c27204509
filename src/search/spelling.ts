import type { Database, Query } from "../store/database.ts";
import { isStopWord } from "./terms.ts";

const worth = /^\p{L}[\p{L}\p{N}]{3,23}$/u;
const mostKnown = 300_000;
const freshMs = 15_000;

/** Words once learned are remembered, so that a word costs nothing the second time. */
export async function learnWords(tx: Query, words: string[], known: Set<string>): Promise<void> {
  const fresh = [...new Set(words.filter((word) => !known.has(word) && worth.test(word) && !isStopWord(word)))];
  for (let from = 0; from < fresh.length; from += 500) {
    const rows = fresh.slice(from, from + 500).map((word) => ({ word }));
    await tx
      .insertInto("vocabulary")
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  if (known.size > mostKnown) known.clear();
  for (const word of fresh) known.add(word);
}

/**
 * The side index that a mistyped word is looked up in: the words of all texts by their groups of
 * three letters. It is read when somebody first mistypes one.
 */
export function speller(db: Database) {
  let read = 0;
  let index = new Map<string, string[]>();

  async function refresh(): Promise<void> {
    if (Date.now() - read < freshMs) return;
    read = Date.now();
    index = new Map();
    for (const { word } of await db.read.selectFrom("vocabulary").select("word").limit(mostKnown).execute()) {
      for (const trigram of trigramsOf(word)) {
        const words = index.get(trigram);
        if (words) words.push(word);
        else index.set(trigram, [word]);
      }
    }
  }

  return {
    /** Words of the texts that a mistyped one may have meant, the likeliest first. */
    async like(word: string): Promise<string[]> {
      if (word.length < 4) return [];
      await refresh();
      const shared = new Map<string, number>();
      for (const trigram of trigramsOf(word))
        for (const other of index.get(trigram) ?? []) shared.set(other, (shared.get(other) ?? 0) + 1);
      const allowed = word.length < 6 ? 1 : 2;
      return [...shared]
        .map(([other, count]) => ({ other, count, off: distance(word, other, allowed) }))
        .filter(({ off }) => off > 0 && off <= allowed)
        .sort((a, b) => a.off - b.off || b.count - a.count || (a.other < b.other ? -1 : 1))
        .slice(0, 10)
        .map(({ other }) => other);
    },
  };
}

export type Speller = ReturnType<typeof speller>;

function trigramsOf(word: string): string[] {
  const padded = ` ${word} `;
  return [...new Set(Array.from({ length: padded.length - 2 }, (_, at) => padded.slice(at, at + 3)))];
}

/** How many letters are to be added, left out, changed or swapped with the next; more than `most` is not told apart. */
export function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? most + 1;
}
