import type { Term } from "./lexical/choose.ts";
import { markEnd, markStart, passage } from "./passage.ts";
import { stem } from "./stem.ts";
import { wordsOf } from "./terms.ts";

const token = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}\p{M}_]+/gu;
/** Nothing in it to take apart. */
const oneWord = /^[A-Za-z]?[a-z]*$/;
const smallLetter = 0x20;
/** A longer text is not read to its end for a few words of it. */
const mostCharacters = 20_000;

/** The few words of a text in which the most of what was asked for stands, marked; and which of the words were in it. */
export function snippet(body: string, terms: Pick<Term, "word" | "begun">[]): { text: string; found: string[] } {
  const wanted = new Map(terms.map(({ word }) => [stem(word), word]));
  const begun = terms.find((term) => term.begun)?.word;
  const initials = new Set(terms.map(({ word }) => word.charCodeAt(0)));
  const found = new Set<string>();
  const text = body.slice(0, mostCharacters).replaceAll(/[\u0001\u0002]/g, " ");
  const marked = text.replace(token, (raw) => {
    // A stem begins as its word does.
    if (!initials.has(raw.charCodeAt(0) | smallLetter) && oneWord.test(raw)) return raw;
    let matches = false;
    for (const { part, root } of partsOf(raw)) {
      const word = wanted.get(root) ?? (begun && part.startsWith(begun) ? begun : undefined);
      if (word === undefined) continue;
      matches = true;
      found.add(word);
    }
    return matches ? `${markStart}${raw}${markEnd}` : raw;
  });
  return { text: passage(marked), found: terms.flatMap(({ word }) => (found.has(word) ? [word] : [])) };
}

type Part = { part: string; root: string };

const mostKnown = 50_000;
const longestKnown = 40;
const known = new Map<string, Part[]>();

/** Texts are made of the same words again and again: to take one apart costs more than to remember its parts. */
function partsOf(raw: string): Part[] {
  let parts = known.get(raw);
  if (!parts) {
    parts = wordsOf(raw).map((part) => ({ part, root: stem(part) }));
    if (known.size >= mostKnown) known.clear();
    if (raw.length <= longestKnown) known.set(raw, parts);
  }
  return parts;
}
