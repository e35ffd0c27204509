import type { QueryWord } from "../../store/queries/search/ranking.ts";
import { stem } from "../../store/queries/search/stem.ts";
import { markEnd, markStart, passage } from "./passage.ts";
import { formsOf, rawWordIn } from "./terms.ts";

/** A plain word, which `wordsOf` does not split. */
const oneWord = /^[A-Za-z]?[a-z]*$/;
/** Set in an ASCII letter, it makes the letter lower-case. */
const lowerCaseBit = 0x20;
/** Only the beginning of a longer text is scanned. */
const maxCharacters = 20_000;

/** The part of a text with the most query words, marked; and which of the query words are in the text. */
export function snippet(body: string, terms: QueryWord[]): { text: string; found: string[] } {
  const wanted = new Map(terms.map(({ word }) => [stem(word), word]));
  const prefix = terms.find((term) => term.isPrefix)?.word;
  const initials = new Set(terms.map(({ word }) => word.charCodeAt(0)));
  const found = new Set<string>();
  const text = body.slice(0, maxCharacters).replaceAll(/[\u0001\u0002]/g, " ");
  const marked = text.replace(rawWordIn(text), (raw) => {
    // Stemming keeps the first letter, so most words are skipped without stemming them.
    if (!initials.has(raw.charCodeAt(0) | lowerCaseBit) && oneWord.test(raw)) return raw;
    let matches = false;
    for (const { part, root } of partsOf(raw)) {
      const word = wanted.get(root) ?? (prefix && part.startsWith(prefix) ? prefix : undefined);
      if (word === undefined) continue;
      matches = true;
      found.add(word);
    }
    return matches ? `${markStart}${raw}${markEnd}` : raw;
  });
  return { text: passage(marked), found: terms.flatMap(({ word }) => (found.has(word) ? [word] : [])) };
}

type Part = { part: string; root: string };

const maxKnown = 50_000;
const maxKnownLength = 40;
const known = new Map<string, Part[]>();

/** Cached: texts repeat the same words, and splitting and stemming a word costs more than the lookup. */
function partsOf(raw: string): Part[] {
  let parts = known.get(raw);
  if (!parts) {
    parts = formsOf(raw).map((part) => ({ part, root: stem(part) }));
    if (known.size >= maxKnown) known.clear();
    if (raw.length <= maxKnownLength) known.set(raw, parts);
  }
  return parts;
}
