/**
 * Which words of the new text came from which words of the old one. Two texts are compared once, by lines and then by
 * words within the changed lines; every anchor of the page reads the result. White space and quote markers at line
 * starts do not count, so a re-wrapped paragraph has all its words.
 */
import { boundedDiff, newBudget } from "../../../kernel/bounded-diff.ts";
import { type LineRun, linesOf } from "./unchanged.ts";
import type { Span } from "./views.ts";

/** The words and marks of a text: where each starts and ends. */
export type Tokens = { starts: number[]; ends: number[]; texts: string[] };

export type Provenance = {
  before: Tokens;
  after: Tokens;
  /** For each token of the old text, its token in the new one, or -1. */
  to: Int32Array;
  /** For each token of the new text, its token in the old one, or -1. */
  from: Int32Array;
  /**
   * Tokens of the old text that could as well be the ones that were deleted: when one of two equal neighbours is
   * deleted, no comparison can tell which.
   */
  ambiguous: Uint8Array;
  /** For each token of the old text, an equal one between the same neighbours that may be equal by chance, or -1. */
  chance: Int32Array;
  /** Tokens of the old text in lines that were moved. */
  moved: Uint8Array;
  /** The tokens of a text as one string, to search in. */
  joined(tokens: Tokens): string;
};

export const joinTokens = (texts: string[]) => `\u0000${texts.join("\u0000")}\u0000`;

export function provenanceOf(before: string, after: string, runs: LineRun[]): Provenance {
  const [old, now] = [tokensOf(before), tokensOf(after)];
  const joined = new Map<Tokens, string>();
  const made: Provenance = {
    joined(tokens) {
      const text = joined.get(tokens) ?? joinTokens(tokens.texts);
      joined.set(tokens, text);
      return text;
    },
    before: old,
    after: now,
    to: new Int32Array(old.starts.length).fill(-1),
    from: new Int32Array(now.starts.length).fill(-1),
    chance: new Int32Array(old.starts.length).fill(-1),
    ambiguous: new Uint8Array(old.starts.length),
    moved: new Uint8Array(old.starts.length),
  };
  const budget = newBudget();
  let [o, n] = [0, 0];
  const changed: Region[] = [];
  for (const run of [...runs, { before: before.length, after: after.length, length: 0 }]) {
    const [oldEnd, nowEnd] = [firstFrom(old, run.before), firstFrom(now, run.after)];
    if (oldEnd > o || nowEnd > n) changed.push({ oldFrom: o, oldTo: oldEnd, nowFrom: n, nowTo: nowEnd });
    [o, n] = [firstFrom(old, run.before + run.length), firstFrom(now, run.after + run.length)];
    for (let k = 0; oldEnd + k < o; k++) pair(made, oldEnd + k, nowEnd + k);
  }
  for (const region of changed) pairWords(made, region, budget);
  markAmbiguous(made);
  pairMovedLines(made, before, after);
  return made;
}

/** The first token that starts at or after the offset. */
export function firstFrom({ starts }: Tokens, offset: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The tokens that a span covers, also in part. */
export function tokensIn(tokens: Tokens, { start, end }: Span): { first: number; end: number } {
  const at = firstFrom(tokens, start);
  const isInside = at > 0 && (tokens.ends[at - 1] ?? 0) > start;
  return { first: isInside ? at - 1 : at, end: firstFrom(tokens, end) };
}

function tokensOf(text: string): Tokens {
  const tokens: Tokens = { starts: [], ends: [], texts: [] };
  const pattern = /(?<=^|\n)[ \t]*(?:>[ \t]*)+|[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]/gu;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    if (isQuoteMarker.test(match[0]) && (match.index === 0 || text[match.index - 1] === "\n")) continue;
    tokens.starts.push(match.index);
    tokens.ends.push(pattern.lastIndex);
    tokens.texts.push(match[0]);
  }
  return tokens;
}

const isQuoteMarker = /^[ \t]*>/;

type Region = { oldFrom: number; oldTo: number; nowFrom: number; nowTo: number };

function pair({ to, from }: Provenance, o: number, n: number): void {
  to[o] = n;
  from[n] = o;
}

function pairWords(made: Provenance, region: Region, budget: { left: number }): void {
  const { oldFrom, oldTo, nowFrom, nowTo } = region;
  if (oldFrom === oldTo || nowFrom === nowTo) return;
  const parts = boundedDiff(
    made.before.texts.slice(oldFrom, oldTo),
    made.after.texts.slice(nowFrom, nowTo),
    budget,
  ).map(({ kind, items }) => ({ kind, count: items.length, size: sizeOf(items) }));
  let [o, n] = [oldFrom, nowFrom];
  for (const [at, { kind, count }] of parts.entries()) {
    const byChance = kind === "same" && isByChance(parts, at);
    for (let k = 0; kind === "same" && k < count; k++) {
      if (byChance) made.chance[o + k] = n + k;
      else pair(made, o + k, n + k);
    }
    if (kind !== "added") o += count;
    if (kind !== "removed") n += count;
  }
}

type Sized = { kind: "same" | "added" | "removed"; size: number };

/** Words between two larger changes are equal by chance: every text has its "the". */
function isByChance(parts: Sized[], at: number): boolean {
  const size = parts[at]?.size ?? 0;
  const changed = (step: -1 | 1) => {
    let most = 0;
    for (let k = at + step; parts[k] && parts[k]?.kind !== "same"; k += step)
      most = Math.max(most, parts[k]?.size ?? 0);
    return most;
  };
  return size <= changed(-1) && size <= changed(1);
}

const sizeOf = (texts: string[]) => texts.reduce((sum, text) => sum + text.length, 0);

/** A deleted or inserted stretch may slide over equal neighbours: these could be the ones that it consists of. */
function markAmbiguous({ before, after, to, from, ambiguous }: Provenance): void {
  const slide = (texts: string[], start: number, end: number, mark: (index: number) => void) => {
    for (let k = 1; start - k >= 0 && texts[start - k] === texts[end - k]; k++) {
      mark(start - k);
      if (end - k >= start) mark(end - k);
    }
    for (let k = 0; end + k < texts.length && texts[start + k] === texts[end + k]; k++) {
      mark(end + k);
      if (start + k < end) mark(start + k);
    }
  };
  for (const { start, end } of gapsIn(to)) {
    const isDeletion = start === 0 || end === to.length || (to[end] ?? 0) === (to[start - 1] ?? 0) + 1;
    if (!isDeletion) continue;
    slide(before.texts, start, end, (index) => {
      ambiguous[index] = 1;
    });
  }
  for (const { start, end } of gapsIn(from)) {
    const isInsertion = start === 0 || end === from.length || (from[end] ?? 0) === (from[start - 1] ?? 0) + 1;
    if (!isInsertion) continue;
    slide(after.texts, start, end, (index) => {
      const origin = from[index] ?? -1;
      if (origin >= 0) ambiguous[origin] = 1;
    });
  }
}

function* gapsIn(map: Int32Array): Generator<Span> {
  for (let at = 0; at < map.length; at++) {
    if ((map[at] ?? -1) >= 0) continue;
    const start = at;
    while (at < map.length && (map[at] ?? -1) < 0) at++;
    yield { start, end: at };
  }
}

/** A line of fewer characters may have been written twice. */
const telling = 24;

/** Lines that are in each text once, gone from their place and new in another one, with the equal words around them. */
function pairMovedLines(made: Provenance, before: string, after: string): void {
  const { to, from, moved } = made;
  const isFree = (map: Int32Array, { first, end }: { first: number; end: number }) => {
    for (let at = first; at < end; at++) if ((map[at] ?? -1) >= 0) return false;
    return end > first;
  };
  const newLines = uniqueLines(after);
  for (const [text, old] of uniqueLines(before)) {
    const now = newLines.get(text);
    if (!old || !now || text.length < telling) continue;
    const [mine, theirs] = [tokensIn(made.before, old), tokensIn(made.after, now)];
    if (!isFree(to, mine) || !isFree(from, theirs) || mine.end - mine.first !== theirs.end - theirs.first) continue;
    for (let k = 0; mine.first + k < mine.end; k++) {
      pair(made, mine.first + k, theirs.first + k);
      moved[mine.first + k] = 1;
    }
  }
}

/** The trimmed lines of a text; undefined for one that occurs more than once. */
function uniqueLines(text: string): Map<string, Span | undefined> {
  const found = new Map<string, Span | undefined>();
  let at = 0;
  for (const line of linesOf(text)) {
    const trimmed = line.trim();
    found.set(trimmed, found.has(trimmed) ? undefined : { start: at, end: at + line.length });
    at += line.length;
  }
  return found;
}
