import { markEnd, markStart, passage } from "./passage.ts";
import { stem } from "./stem.ts";
import { wordsOf } from "./terms.ts";

const token = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}\p{M}_]+/gu;
/** A longer text is not read to its end for a few words of it. */
const mostCharacters = 20_000;

/** The few words of a text in which the most of what was asked for stands, marked; and which of the terms were in it. */
export function snippet(body: string, terms: string[]): { text: string; found: string[] } {
  const wanted = new Map(terms.map((term) => [stem(term), term]));
  const last = terms.at(-1) ?? "";
  const found = new Set<string>();
  const text = body.slice(0, mostCharacters).replaceAll(/[\u0001\u0002]/g, " ");
  const marked = text.replace(token, (word) => {
    const matches = wordsOf(word).filter(
      (part) => wanted.has(stem(part)) || (last.length >= 3 && part.startsWith(last)),
    );
    for (const part of matches) found.add(wanted.get(stem(part)) ?? last);
    return matches.length > 0 ? `${markStart}${word}${markEnd}` : word;
  });
  return { text: passage(marked), found: terms.filter((term) => found.has(term)) };
}
