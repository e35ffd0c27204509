import { stem } from "../store/queries/search/stem.ts";
import { wordsOf } from "./rank/terms.ts";

/** Phrases in quotes and words to leave out, as far as they are operators. */
export type Operators = { phrases: string[]; excluded: string[] };

/** A longer query is a question or a pasted text, in which quotes and dashes are part of the language. */
const maxWordsBeside = 8;

const quoted = /(?<![\p{L}\p{N}])["“]([^"“”]{1,200})["”](?![\p{L}\p{N}])/gu;
const negated = /(?<=^|\s)-(\p{L}[\p{L}\p{N}_]+)(?=$|\s)/gu;

/** The query without its operators, and these. The words of a phrase stay, because they are ranked as well. */
export function readOperators(query: string): { text: string; operators: Operators | undefined } {
  const rest = query.replace(quoted, " ");
  const isQuestion = /\?\s*$/.test(query) || rest.trim().split(/\s+/).length > maxWordsBeside;
  if (isQuestion) return { text: query, operators: undefined };
  const phrases = [...query.matchAll(quoted)].map(([, phrase = ""]) => plainText(phrase)).filter((one) => one !== "");
  const excluded = [...rest.matchAll(negated)].map(([, word = ""]) => word);
  const text = query.replace(quoted, " $1 ").replace(negated, " ");
  const isOnlyNegation = wordsOf(text).length === 0;
  if (isOnlyNegation || (phrases.length === 0 && excluded.length === 0)) return { text: query, operators: undefined };
  return { text, operators: { phrases, excluded } };
}

type Text = { title: string; heading: string; body: string };

/** Whether a passage has all of the phrases and none of the excluded words. */
export function satisfies({ phrases, excluded }: Operators): (passage: Text) => boolean {
  const unwanted = new Set(excluded.flatMap(wordsOf).map(stem));
  return ({ title, heading, body }) => {
    const texts = [title, heading, body];
    if (unwanted.size > 0 && texts.some((text) => wordsOf(text).some((word) => unwanted.has(stem(word))))) return false;
    const plain = texts.map((text) => ` ${plainText(text)} `);
    return phrases.every((phrase) => plain.some((text) => text.includes(hasSpaces(phrase) ? ` ${phrase} ` : phrase)));
  };
}

const plainText = (text: string) =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, " ")
    .trim();

/** Words of some scripts have no boundaries to compare. */
const hasSpaces = (phrase: string) => !/[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{sc=Thai}]/u.test(phrase);
