import { randomUUID } from "node:crypto";
import { turns } from "../../kernel/turns.ts";
import type { Database, Query } from "../../store/database.ts";
import { countRows } from "../../store/queries/counts.ts";
import { findMeta, setMeta } from "../../store/queries/meta.ts";
import { deleteVocabulary, insertWords, vocabularyWords } from "../../store/queries/search/vocabulary.ts";
import { isStopWord, stopWordList } from "../rank/terms.ts";

const isCandidate = (word: string) => /^\p{L}[\p{L}\p{N}]{3,23}$/u.test(word) && !isStopWord(word);
const maxWords = 300_000;
const refreshMs = 15_000;

const generationKey = "search-vocabulary";

/** Adds the words of indexed texts to the vocabulary. Caches those already added, so that each is inserted once. */
export function vocabulary() {
  const known = new Set<string>();
  let generation: string | undefined;
  return {
    /** Call the returned function after the commit: words of a transaction that rolled back must not be cached. */
    async learn(tx: Query, texts: string[][]): Promise<() => void> {
      const current = await findMeta(tx, generationKey);
      if (current !== generation) known.clear();
      const unknown = new Set<string>();
      for (const words of texts) {
        for (const word of words) if (!known.has(word)) unknown.add(word);
        await turns.next();
      }
      const fresh = [...unknown].filter(isCandidate);
      await insertWords(tx, fresh);
      return () => {
        generation = current;
        if (known.size > maxWords) known.clear();
        for (const word of fresh) known.add(word);
      };
    },
    /** The new generation makes other processes clear their caches. */
    async forget(tx: Query): Promise<void> {
      await deleteVocabulary(tx);
      await setMeta(tx, generationKey, randomUUID());
    },
  };
}

/** Suggests corrections from the vocabulary, by trigrams. The trigram index is built at the first misspelt word. */
export function speller(db: Database) {
  let readAt = 0;
  let counted = -1;
  let index = new Map<string, string[]>();
  let refreshing: Promise<void> | undefined;

  function refresh(): Promise<void> {
    refreshing ??= readIfStale().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  /** Rebuilds the trigrams only when the number of words changed, because that takes long. */
  async function readIfStale(): Promise<void> {
    if (Date.now() - readAt < refreshMs) return;
    const count = await countRows(db.read, "vocabulary");
    if (count !== counted) {
      index = byTrigram(await vocabularyWords(db.read, maxWords));
      counted = count;
    }
    readAt = Date.now();
  }

  return {
    /** Indexed words at a small edit distance from `word`, the nearest first. */
    async corrections(word: string): Promise<string[]> {
      if (!isCandidate(word)) return [];
      await refresh();
      const shared = new Map<string, number>();
      const allowed = word.length < 9 ? 1 : 2;
      for (const trigram of trigramsOf(word))
        for (const other of index.get(trigram) ?? [])
          if (Math.abs(other.length - word.length) <= allowed) shared.set(other, (shared.get(other) ?? 0) + 1);
      // Two letters in the wrong order can leave no trigram in common.
      for (const other of withSwappedLetters(word))
        if (index.get(trigramsOf(other)[0] ?? "")?.includes(other)) shared.set(other, word.length);
      // An edit changes at most four trigrams: most words that share one need not be compared.
      const least = trigramsOf(word).length - 4 * allowed;
      return [...shared]
        .filter(([, count]) => count >= least)
        .map(([other, count]) => ({ other, count, off: distance(word, other, allowed) }))
        .filter(({ other, off }) => off > 0 && off <= allowed && (word.length > maxShort || isSlip(word, other)))
        .sort((a, b) => a.off - b.off || b.count - a.count || (a.other < b.other ? -1 : 1))
        .slice(0, 10)
        .map(({ other }) => other);
    },
  };
}

export type Speller = ReturnType<typeof speller>;

/** Short words have many neighbours that are other words: only these are taken for slips. */
const maxShort = 5;

/** Two adjacent letters swapped, or a letter doubled or not. */
const isSlip = (word: string, other: string) =>
  withSwappedLetters(word).includes(other) || withoutDoubles(word) === withoutDoubles(other);

const withSwappedLetters = (word: string) =>
  Array.from(
    { length: word.length - 1 },
    (_, at) => word.slice(0, at) + (word[at + 1] ?? "") + (word[at] ?? "") + word.slice(at + 2),
  );

const withoutDoubles = (word: string) => word.replaceAll(/(.)\1/gu, "$1");

/** A mistyped `what` or `which` says as little as the word that was meant. */
export function isStopWordSlip(word: string): boolean {
  if (withSwappedLetters(word).some((other) => longStopWords.has(other))) return true;
  if (singledStopWords.has(withoutDoubles(word))) return true;
  for (const stop of longStopWords) if (distance(word, stop, 1) <= 1) return true;
  return false;
}

const longStopWords = new Set(stopWordList.filter((word) => word.length > 2));
const singledStopWords = new Set([...longStopWords].map(withoutDoubles));

function byTrigram(all: string[]): Map<string, string[]> {
  const index = new Map<string, string[]>();
  for (const word of all) {
    for (const trigram of trigramsOf(word)) {
      const words = index.get(trigram);
      if (words) words.push(word);
      else index.set(trigram, [word]);
    }
  }
  return index;
}

function trigramsOf(word: string): string[] {
  const padded = ` ${word} `;
  return [...new Set(Array.from({ length: padded.length - 2 }, (_, at) => padded.slice(at, at + 3)))];
}

/** Edit distance with transpositions of adjacent letters; any value above `max` means "more than max". */
export function distance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return max + 1;
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
  return last[b.length] ?? max + 1;
}
