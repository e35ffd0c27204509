import { stem } from "../../store/queries/search/stem.ts";
import { monthVariants } from "./dates.ts";

/** Words too frequent to distinguish texts. */
const stopWords = new Set(
  (
    "a about after all also am an and any are as at be because been but by can could did do does for from had has have he her " +
    "him his how i if in into is it its just me more most my no not of on or our out over she should so some such than that " +
    "the their them then there these they this to up us was we were what when where which while who why will with would you your " +
    "s t ll ve re d m"
  ).split(" "),
);

/** Distinct words of a query that are counted; a longer query takes no more work. */
const maxDistinct = 400;
const maxQueryCharacters = 20_000;
/** SQLite does not stem longer words. */
const maxWordLength = 64;

/** Scripts whose words are not separated by spaces, and Korean, whose words carry their particles. */
const unspaced =
  "[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}]";
const unspacedRun = `(?:(?=[\\p{L}\\p{N}\\p{M}])${unspaced})+`;
/** `1,048,576`, `1.048.576` and `1’048’576`. */
const groupedNumber = "(?<![\\p{L}\\p{N}_.,])\\d{1,3}(?:[,.'’\\u00a0\\u202f]\\d{3})+(?![\\p{L}\\p{N}_]|[.,]\\d)";

/** The raw words of a text: a grouped number, a run of an unspaced script, or letters and digits. */
export const rawWord = new RegExp(
  `${groupedNumber}|${unspacedRun}|(?:(?!${unspaced})[\\p{L}\\p{N}\\p{M}_])+|[\\p{L}\\p{N}\\p{M}_]`,
  "gu",
);
const isUnspaced = new RegExp(`^${unspaced}`, "u");
const isGrouped = /^\d{1,3}[^\p{L}\p{N}_]/u;

/** Words that need no splitting and no normalization: the fast path for most of a text. */
const simple = /^[A-Za-z]?(?:[a-z]+|[0-9]+)$/;

/**
 * The distinct words of a query without stop words; identifiers are also split (`camelCase`, `snake_case`,
 * `a/b.ts:12`). Only letters and digits remain, so nothing can be injected into the engines' query languages.
 */
export function searchTerms(query: string): string[] {
  const text = query.slice(0, maxQueryCharacters);
  const words = [...split(text, "query"), ...monthVariants(text)];
  const distinct = new Map(words.map((word) => [stem(word), word]));
  const distinctive = [...distinct].filter(([, word]) => !stopWords.has(word));
  return (distinctive.length > 0 ? distinctive : [...distinct]).slice(0, maxDistinct).map(([, word]) => word);
}

/** Whether the text has more characters or distinct words than a search looks at. */
export const isCutShort = (query: string) => query.length > maxQueryCharacters;

export const isStopWord = (word: string) => stopWords.has(word);
export const stopWordList: readonly string[] = [...stopWords];

/** The words of a text in order, as both engines index them: lower case, without accents, identifiers whole and split. */
export const wordsOf = (text: string): string[] => split(text, "text");

/** A text has more forms of a word than a query, which then matches each form once. */
function split(text: string, role: "text" | "query"): string[] {
  const found: string[] = [];
  for (const [raw] of text.matchAll(rawWord)) {
    if (simple.test(raw)) found.push(raw.toLowerCase().slice(0, maxWordLength));
    else found.push(...formsOf(raw, role));
  }
  return found;
}

/** The indexed forms of one raw word. */
export function formsOf(raw: string, role: "text" | "query" = "text"): string[] {
  if (isUnspaced.test(raw)) return grams(raw, role);
  if (isGrouped.test(raw)) {
    const digits = raw.split(/\D/);
    return role === "text" ? [...digits, digits.join("")] : [digits.join("")];
  }
  return partsOf(raw).flatMap((part) => {
    const word = plain(part);
    const spelledOut = withUmlautsSpelledOut(part);
    return [...(word === "" ? [] : [word]), ...(spelledOut === undefined ? [] : [spelledOut])];
  });
}

/**
 * Overlapping pairs of characters, so that a word is found where its characters stand together. A text has the single
 * characters too; a query only if it is one.
 */
function grams(run: string, role: "text" | "query"): string[] {
  const characters = [
    ...run
      .normalize("NFKC")
      .replaceAll(/\p{M}+/gu, "")
      .toLowerCase(),
  ];
  const pairs = characters.slice(1).map((character, at) => `${characters[at]}${character}`);
  return role === "query" && pairs.length > 0 ? pairs : [...characters, ...pairs];
}

/** `Kündigung` is also found as `kuendigung`. */
function withUmlautsSpelledOut(part: string): string | undefined {
  if (isAscii(part)) return undefined;
  const composed = part.normalize("NFC").toLowerCase();
  const spelledOut = composed.replaceAll(/[äöü]/g, (letter) => umlauts[letter] ?? letter);
  return spelledOut === composed ? undefined : plain(spelledOut);
}

const umlauts: Record<string, string> = { ä: "ae", ö: "oe", ü: "ue" };

/** The parts of an identifier, and the parts joined. */
function partsOf(word: string): string[] {
  const parts = word.split(/_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u).filter(Boolean);
  return parts.length > 1 ? [...parts, parts.join("")] : parts;
}

const plain = (word: string) =>
  (isAscii(word)
    ? word
    : word
        .replaceAll(/[ßẞ]/g, "ss")
        .normalize("NFKD")
        .replace(/[^\p{L}\p{N}]+/gu, "")
  )
    .toLowerCase()
    .slice(0, maxWordLength);

const isAscii = (word: string) => /^[\x00-\x7f]*$/.test(word);
