import { stem } from "../store/queries/search/stem.ts";
import { requirementsOf, spellOutUmlauts, unspaced, withoutStrokes, wordsOf } from "./rank/terms.ts";

/** Phrases in quotes and words to leave out, as far as they are operators. */
export type Operators = { phrases: string[]; excluded: string[] };

/** A query with more words or phrases is a question or a pasted text, in which quotes and dashes are part of the language. */
const maxWordsBeside = 8;
const maxPhrases = 8;

/** A phrase in quotes. A dash in front would mean the opposite, which is not supported: those words are searched. */
export const quoted = /(?<![\p{L}\p{N}-])["“]([^"“”]{1,200})["”](?![\p{L}\p{N}])/gu;
const negated = /(?<=^|\s)-(\p{L}[\p{L}\p{N}\p{M}_]+)(?=$|\s)/gu;

/** The query without its operators, and these. The words of a phrase stay, because they are ranked as well. */
export function readOperators(query: string): { text: string; operators: Operators | undefined } {
  const rest = query.replace(quoted, " ");
  const inQuotes = [...query.matchAll(quoted)].map(([, phrase = ""]) => phrase);
  const isLong = rest.trim().split(/\s+/).length > maxWordsBeside || inQuotes.length > maxPhrases;
  if (isLong || /\?\s*$/.test(query)) return { text: query, operators: undefined };
  const phrases = inQuotes.filter((phrase) => plainText(phrase) !== "");
  const excluded = [...rest.matchAll(negated)].map(([, word = ""]) => word);
  const text = query.replace(quoted, " $1 ").replace(negated, " ");
  const isOnlyNegation = wordsOf(text).length === 0;
  if (isOnlyNegation || (phrases.length === 0 && excluded.length === 0)) return { text: query, operators: undefined };
  return { text, operators: { phrases, excluded } };
}

type Text = { title: string; heading: string; body: string };

/** Whether a passage has all of the phrases, each in its title, its headings or its text. */
export function hasPhrases(phrases: string[]): (passage: Text) => boolean {
  const wanted = phrases.map((phrase) => spellings(phrase).map(bounded));
  return ({ title, heading, body }) => {
    const texts = [title, heading, body].flatMap((text) => spellings(text).map((plain) => ` ${plain} `));
    return wanted.every((forms) => forms.some((form) => texts.some((text) => text.includes(form))));
  };
}

/** Whether a passage has any of the words. Part of an identifier does not count. */
export function hasAnyWord(words: string[]): (passage: Text) => boolean {
  const wanted = words.map((word) => requirementsOf(word).map((forms) => forms.map(stem)));
  return ({ title, heading, body }) => {
    const known = new Set(wordsOf(`${title}\n${heading}\n${body}`).map(stem));
    return wanted.some((all) => all.every((forms) => forms.some((form) => known.has(form))));
  };
}

/** Without accents, and with umlauts spelled out if there are any. */
function spellings(text: string): string[] {
  const plain = plainText(text);
  const spelledOut = plainText(spellOutUmlauts(text));
  return plain === spelledOut ? [plain] : [plain, spelledOut];
}

/** Decomposed to remove accents, and composed again, because other scripts need their marks. */
const plainText = (text: string) =>
  withoutStrokes(text)
    .normalize("NFKD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
    .toLowerCase()
    .replaceAll(/(?<=\d)[,.'’](?=\d{3}(?!\d))/g, "")
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, " ")
    .trim();

const beginsUnspaced = new RegExp(`^${unspaced}`, "u");
const endsUnspaced = new RegExp(`${unspaced}$`, "u");

/** Spaces where a word begins or ends, except in scripts whose words have no such boundaries. */
const bounded = (phrase: string) =>
  `${beginsUnspaced.test(phrase) ? "" : " "}${phrase}${endsUnspaced.test(phrase) ? "" : " "}`;
