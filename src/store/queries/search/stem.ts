import { stemmer } from "stemmer";

/**
 * The Porter stem that SQLite's `porter` tokenizer gives. PostgreSQL's index is built from it, so that both
 * engines match the same words, and search marks the words of a snippet by it.
 */
export function stem(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const found = stemmer(word);
  if (stems.size >= maxStems) stems.clear();
  stems.set(word, found);
  return found;
}

/** Texts repeat few words; without the cache, building PostgreSQL's index spends most of its time here. */
const stems = new Map<string, string>();
const maxStems = 50_000;
