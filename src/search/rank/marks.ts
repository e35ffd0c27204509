import type { QueryWord } from "../../store/queries/search/ranking.ts";
import { stem } from "../../store/queries/search/stem.ts";
import { markEnd, markStart, passage } from "./passage.ts";
import { formsOf, wordReader } from "./terms.ts";

/** Only the beginning of a longer text is scanned. */
const maxCharacters = 20_000;

/** The part of a text with the most query words, marked; and which of the query words are in the text. */
export type Snippet = { text: string; found: string[] };

/** Marks the words of one query in texts. */
export function marker(terms: QueryWord[]): (body: string) => Snippet {
  const wanted = new Map(terms.map(({ word }) => [stem(word), word]));
  const prefix = terms.find((term) => term.isPrefix)?.word;
  const mayMatch = byBeginning([...wanted.keys(), ...(prefix ? [prefix] : [])]);
  const rawWordAt = wordReader();

  /** Adds the query words in one raw word to `found`. Whether there are any. */
  function look(raw: string, found: Set<string>): boolean {
    let isAny = false;
    for (const part of partsOf(raw)) if (lookAt(part, found)) isAny = true;
    return isAny;
  }

  function lookAt(part: string, found: Set<string>): boolean {
    const word = wanted.get(stem(part)) ?? (prefix && part.startsWith(prefix) ? prefix : undefined);
    if (word !== undefined) found.add(word);
    return word !== undefined;
  }

  /** Character by character: most words are plain and begin like no query word, so they need not be cut out. */
  function mark(text: string, found: Set<string>): string {
    let marked = "";
    let copied = 0;
    for (let at = 0, end = 0; at < text.length; at = end) {
      const first = kindOf(text.charCodeAt(at));
      let rest = 0;
      for (end = at + 1; first !== between && end < text.length; end++) {
        const kind = kindOf(text.charCodeAt(end));
        if (kind === between) break;
        rest |= kind;
      }
      const isPlain = first <= upper && rest <= lower;
      if (first === between || (isPlain && !mayMatch(text, at))) continue;
      if (first === digit || first === foreign || rest >= foreign) {
        const raw = rawWordAt(text, at);
        end = at + (raw?.length ?? (isSurrogatePair(text, at) ? 2 : 1));
        if (raw === undefined) continue;
      }
      const raw = text.slice(at, end);
      if (!(isPlain ? lookAt(raw.toLowerCase(), found) : look(raw, found))) continue;
      marked += `${text.slice(copied, at)}${markStart}${raw}${markEnd}`;
      copied = end;
    }
    return marked + text.slice(copied);
  }

  return (body) => {
    const found = new Set<string>();
    const isUsual = body.length <= maxCharacters && !hasMarks.test(body);
    const text = isUsual ? body : body.slice(0, maxCharacters).replaceAll(marks, " ");
    return {
      text: passage(mark(text, found)),
      found: terms.flatMap(({ word }) => (found.has(word) ? [word] : [])),
    };
  };
}

const marks = new RegExp(`[${markStart}${markEnd}]`, "g");
const hasMarks = new RegExp(marks.source);

/** What a character may be part of. A word's kinds are added up as bits. */
const between = 0;
const lower = 1;
const upper = 2;
/** Or `_`. */
const digit = 4;
/** Beyond ASCII: the pattern of words decides. */
const foreign = 8;

const asciiKinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) return lower;
  if (/[A-Z]/.test(character)) return upper;
  return /[0-9_]/.test(character) ? digit : between;
});

/** Dashes, quotes and spaces of the block General Punctuation, which has no letters. */
const isPunctuation = (code: number) => code >= 0x2010 && code <= 0x205e;
const kindOf = (code: number) => (code < 128 ? (asciiKinds[code] as number) : isPunctuation(code) ? between : foreign);

const isSurrogatePair = (text: string, at: number) => (text.codePointAt(at) ?? 0) > 0xffff;

/**
 * Whether a plain word may have one of these stems. Stemming keeps the first two letters, and the first three if four
 * are left; only `y` may become `i`.
 */
function byBeginning(stems: string[]): (text: string, at: number) => boolean {
  const known = new Uint8Array((letterBits + 1) ** 3);
  const any = Array.from({ length: letterBits + 1 }, (_, code) => code);
  for (const word of stems) {
    const seconds = word.length > 1 ? [letterAt(word, 1)] : any;
    const thirds = word.length > 3 ? [letterAt(word, 2)] : any;
    for (const second of seconds)
      for (const third of thirds) known[(letterAt(word, 0) << 10) | (second << 5) | third] = 1;
  }
  return (text, at) => known[(letterAt(text, at) << 10) | (letterAt(text, at + 1) << 5) | letterAt(text, at + 2)] === 1;
}

function letterAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === yLower || code === yUpper) return iLower & letterBits;
  return code < 128 ? code & letterBits : 0;
}

/** The bits in which letters differ, in either case. */
const letterBits = 0x1f;
const yLower = 0x79;
const yUpper = 0x59;
const iLower = 0x69;

const maxKnown = 50_000;
const maxKnownLength = 40;
const known = new Map<string, string[]>();

/** Cached: texts repeat the same words, and splitting a word costs more than the lookup. */
function partsOf(raw: string): string[] {
  let parts = known.get(raw);
  if (!parts) {
    parts = formsOf(raw);
    if (known.size >= maxKnown) known.clear();
    if (raw.length <= maxKnownLength) known.set(raw, parts);
  }
  return parts;
}
