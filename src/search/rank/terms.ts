import { stem } from "./stem.ts";

/** Words that are in every text and tell nothing apart. */
const stopWords = new Set(
  (
    "a about after all also am an and any are as at be because been but by can could did do does for from had has have he her " +
    "him his how i if in into is it its just me more most my no not of on or our out over she should so some such than that " +
    "the their them then there these they this to up us was we were what when where which while who why will with would you your " +
    "s t ll ve re d m"
  ).split(" "),
);

const mostTerms = 32;
const longestWord = 64;

/** Scripts that put no spaces between words: each sign is looked for by itself. */
const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;
const token = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}\p{M}_]+/gu;

/** Most words: nothing in them to take apart or to make plain. */
const simple = /^[A-Za-z]?(?:[a-z]+|[0-9]+)$/;

/**
 * What to look for in any string a person or model may type: words, with identifiers also taken
 * apart (`camelCase`, `snake_case`, `a/b.ts:12`). Operators and quotes of the engines' own query
 * languages do not survive, so there is nothing to inject.
 */
export function searchTerms(query: string): string[] {
  const distinct = new Map(wordsOf(query.slice(0, 2000)).map((word) => [stem(word), word]));
  const telling = [...distinct].filter(([, word]) => !stopWords.has(word));
  return (telling.length > 0 ? telling : [...distinct]).slice(0, mostTerms).map(([, word]) => word);
}

export const isStopWord = (word: string) => stopWords.has(word);

/** The words of a text as both engines shall know them, in order: small letters, no accents, identifiers whole and in parts. */
export function wordsOf(text: string): string[] {
  const found: string[] = [];
  for (const [raw] of text.matchAll(token)) {
    if (simple.test(raw)) {
      found.push(raw.toLowerCase().slice(0, longestWord));
      continue;
    }
    for (const part of partsOf(raw)) {
      const word = plain(part);
      if (word !== "") found.push(word);
    }
  }
  return found;
}

/** The whole of an identifier without its joints, and its parts. */
export function partsOf(word: string): string[] {
  if (word.length > 1 && unspaced.test(word)) return [...word];
  const parts = word.split(/_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u).filter(Boolean);
  return parts.length > 1 ? [...parts, parts.join("")] : parts;
}

const plain = (word: string) =>
  (isAscii(word) ? word : word.normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "")).toLowerCase().slice(0, longestWord);

const isAscii = (word: string) => /^[\x00-\x7f]*$/.test(word);
