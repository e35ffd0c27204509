import { stem } from "../../store/queries/search/stem.ts";

/** Words too frequent to distinguish texts. */
const stopWords = new Set(
  (
    "a about after all also am an and any are as at be because been but by can could did do does for from had has have he her " +
    "him his how i if in into is it its just me more most my no not of on or our out over she should so some such than that " +
    "the their them then there these they this to up us was we were what when where which while who why will with would you your " +
    "s t ll ve re d m"
  ).split(" "),
);

const maxTerms = 32;
/** SQLite does not stem longer words. */
const maxWordLength = 64;

/** Scripts without spaces between words: each character is a word. */
const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;
const token = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}\p{M}_]+/gu;

/** Words that need no splitting and no normalization: the fast path for most of a text. */
const simple = /^[A-Za-z]?(?:[a-z]+|[0-9]+)$/;

/**
 * The distinct words of a query without stop words; identifiers are also split (`camelCase`, `snake_case`,
 * `a/b.ts:12`). Only letters and digits remain, so nothing can be injected into the engines' query languages.
 */
export function searchTerms(query: string): string[] {
  const distinct = new Map(wordsOf(query.slice(0, 2000)).map((word) => [stem(word), word]));
  const distinctive = [...distinct].filter(([, word]) => !stopWords.has(word));
  return (distinctive.length > 0 ? distinctive : [...distinct]).slice(0, maxTerms).map(([, word]) => word);
}

export const isStopWord = (word: string) => stopWords.has(word);

/** The words of a text in order, as both engines index them: lower case, without accents, identifiers whole and split. */
export function wordsOf(text: string): string[] {
  const found: string[] = [];
  for (const [raw] of text.matchAll(token)) {
    if (simple.test(raw)) {
      found.push(raw.toLowerCase().slice(0, maxWordLength));
      continue;
    }
    for (const part of partsOf(raw)) {
      const word = plain(part);
      if (word !== "") found.push(word);
    }
  }
  return found;
}

/** The parts of an identifier, and the parts joined. */
export function partsOf(word: string): string[] {
  if (word.length > 1 && unspaced.test(word)) return [...word];
  const parts = word.split(/_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u).filter(Boolean);
  return parts.length > 1 ? [...parts, parts.join("")] : parts;
}

const plain = (word: string) =>
  (isAscii(word) ? word : word.normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "")).toLowerCase().slice(0, maxWordLength);

const isAscii = (word: string) => /^[\x00-\x7f]*$/.test(word);
