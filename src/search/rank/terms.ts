import { stem } from "../../store/queries/search/stem.ts";
import { dateVariants } from "./dates.ts";

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
export const unspaced =
  "[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}]";
const unspacedRun = `(?:(?=[\\p{L}\\p{N}\\p{M}])${unspaced})+`;
/** `1,048,576`, `1.048.576` and `1’048’576`; of `1,234.56` the part before the decimals. */
const groupedNumber =
  "(?<![\\p{L}\\p{N}_.,])\\d{1,3}(?:[,.'’\\u00a0\\u202f]\\d{3})+(?![\\p{L}\\p{N}_]|[.,]\\d+[.,]\\d)";

const anyWord = new RegExp(
  `${groupedNumber}|${unspacedRun}|(?:(?!${unspaced})[\\p{L}\\p{N}\\p{M}_])+|[\\p{L}\\p{N}\\p{M}_]`,
  "gu",
);
/** The same for ASCII texts, several times as fast. */
const asciiWord = /(?<![A-Za-z0-9_.,])\d{1,3}(?:[,.']\d{3})+(?![A-Za-z0-9_]|[.,]\d+[.,]\d)|[A-Za-z0-9_]+/g;

/** Reads the raw word that begins at a place of a text. */
export function wordReader(): (text: string, at: number) => string | undefined {
  const here = new RegExp(anyWord.source, "uy");
  return (text, at) => {
    here.lastIndex = at;
    return here.exec(text)?.[0];
  };
}

/** Finds the raw words of a text: a grouped number, a run of an unspaced script, or letters and digits. */
export const rawWordIn = (text: string) => (isAscii(text) ? asciiWord : anyWord);

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
  // The variants come first: the last word may be the beginning of one.
  const words = [...dateVariants(text), ...split(text, "query")];
  const distinct = new Map(words.map((word) => [stem(word), word]));
  const distinctive = [...distinct].filter(([, word]) => !stopWords.has(word));
  return (distinctive.length > 0 ? distinctive : [...distinct]).slice(0, maxDistinct).map(([, word]) => word);
}

/**
 * What a passage with this text has for certain: of each of these lists one word. An identifier is asked for as a
 * whole, and a word with an umlaut in either spelling.
 */
export function requirementsOf(text: string): string[][] {
  const all = [...text.matchAll(rawWordIn(text))].flatMap(([raw]) => {
    const forms = formsOf(raw, "query");
    if (isUnspaced.test(raw)) return forms.map((form) => [form]);
    const last = partsOf(raw).at(-1);
    return forms.length === 0 || last === undefined ? [] : [isGrouped.test(raw) ? forms : formsOfPart(last)];
  });
  const distinct = [...new Map(all.map((forms) => [forms.join(" "), forms])).values()];
  const distinctive = distinct.filter(([word = ""]) => !stopWords.has(word));
  return distinctive.length > 0 ? distinctive : distinct;
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
  for (const [raw] of text.matchAll(rawWordIn(text))) {
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
  return partsOf(raw).flatMap(formsOfPart);
}

function formsOfPart(part: string): string[] {
  const word = plain(part);
  const spelledOut = withUmlautsSpelledOut(part);
  return [...(word === "" ? [] : [word]), ...(spelledOut === undefined ? [] : [spelledOut])];
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
  const spelledOut = spellOutUmlauts(part);
  return spelledOut === part.normalize("NFC").toLowerCase() ? undefined : plain(spelledOut);
}

export const spellOutUmlauts = (text: string) =>
  isAscii(text)
    ? text
    : text
        .normalize("NFC")
        .toLowerCase()
        .replaceAll(/[äöü]/g, (letter) => umlauts[letter] ?? letter);

const umlauts: Record<string, string> = { ä: "ae", ö: "oe", ü: "ue" };

/** The parts of an identifier or of a number with its unit, such as `250ms` but not `19th` or `1930s`; and the parts joined. */
function partsOf(word: string): string[] {
  const parts = word
    .split(
      /_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=^\d+)(?=\p{Ll}{1,4}$)(?!(?:st|nd|rd|th)$|(?<=^[12]\d\d0)s$)/u,
    )
    .filter(Boolean);
  return parts.length > 1 ? [...parts, parts.join("")] : parts;
}

const plain = (word: string) =>
  (isAscii(word)
    ? word
    : withoutStrokes(word)
        .normalize("NFKD")
        .replace(/[^\p{L}\p{N}]+/gu, "")
  )
    .toLowerCase()
    .slice(0, maxWordLength);

/** Letters that Unicode does not decompose into a plain one and a mark. */
const stroked: Record<string, string> = {
  ...{ ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ð: "d", ħ: "h", ı: "i", ł: "l", ŧ: "t", þ: "th" },
};

export const withoutStrokes = (text: string) =>
  text.replaceAll(/[ßẞæœøđðħıłŧþ]/giu, (letter) => stroked[letter.toLowerCase()] ?? letter);

const isAscii = (word: string) => /^[\x00-\x7f]*$/.test(word);
