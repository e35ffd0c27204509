import search from "approx-string-match";
import type { Gap } from "./unchanged.ts";
import { type Span, spacedView } from "./views.ts";

/** A place with its similarity to the passage, from 0 to 1. */
export type Resembling = Span & {
  score: number;
  /** False when another passage of the old text is about as similar. */
  clear: boolean;
};

const shortest = 8;
const longest = 2000;
const largestGap = 40_000;
const least = 0.6;
/** The margin by which a passage must be the best. */
const lead = 0.1;

/** Finds a reworded passage at its old position. */
export function resembling(before: string, after: string, passage: Span, gap: Gap): Resembling | undefined {
  const quote = before.slice(passage.start, passage.end);
  if (quote.trim().length < shortest) return undefined;
  if (gap.after.end - gap.after.start > largestGap || gap.before.end - gap.before.start > largestGap) return undefined;
  const found = byCharacters(after, quote, gap.after);
  if (!found || found.score < least) return undefined;

  const candidate = spaced(after.slice(found.start, found.end));
  // Exact matches were tried before: this one belongs to another passage.
  if (candidate.includes(spaced(quote).trim())) return undefined;
  const beside = [before.slice(gap.before.start, passage.start), before.slice(passage.end, gap.before.end)].map(spaced);
  const rival = Math.max(0, ...beside.map((text) => likeness(text, candidate)));
  const elsewhere = occursApart(spaced(before), candidate, spaced(quote));
  const clear = found.clear && !elsewhere && rival < found.score - lead && !hasForeignLine(before, quote, after, found);
  return { ...found, clear };
}

/** The place in `span` with the fewest changed characters. */
export function byCharacters(after: string, quote: string, span: Span): Resembling | undefined {
  const pattern = spaced(quote).trim();
  if (pattern.length < shortest || pattern.length > longest) return undefined;
  const view = spacedView(after.slice(span.start, span.end));
  const matches = search(view.text, pattern, Math.floor(pattern.length * (1 - least)));
  const [best] = matches;
  if (!best) return undefined;
  const apart = matches.some((match) => match.start >= best.end || match.end <= best.start);
  const [start, end] = toWordEdges(view.text, best.start, best.end);
  const source = view.source(start, end);
  return {
    start: span.start + source.start,
    end: span.start + source.end,
    score: 1 - best.errors / pattern.length,
    clear: !apart,
  };
}

/** The share of words that two texts have in common, in any order, from 0 to 1. */
export function sharedWords(one: string, other: string): number {
  const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const [mine, theirs] = [words(one), words(other)];
  const left = [...theirs];
  const shared = mine.filter((word) => {
    const at = left.indexOf(word);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
  return mine.length + theirs.length === 0 ? 0 : (2 * shared.length) / (mine.length + theirs.length);
}

/** The share of `candidate` that occurs in `text`. */
function likeness(text: string, candidate: string): number {
  if (text.trim() === "" || candidate.length > longest) return 0;
  const [best] = search(text, candidate, Math.floor(candidate.length * 0.5));
  return best ? 1 - best.errors / candidate.length : 0;
}

/** Text that the old version had elsewhere belongs to that place. */
function occursApart(before: string, candidate: string, quote: string): boolean {
  const elsewhere = before.split(quote).join("\u0000");
  return elsewhere.includes(candidate);
}

/** Whether a full line of the place was elsewhere in the old version. */
export const hasForeignLine = (before: string, quote: string, after: string, { start, end }: Span) =>
  after
    .slice(start, end)
    .split("\n")
    .map((line) => line.trim())
    .some((line) => line.length >= shortest && !quote.includes(line) && before.includes(line));

function toWordEdges(text: string, start: number, end: number): [number, number] {
  const wordly = /[\p{L}\p{M}\p{N}]/u;
  const inside = (at: number) => wordly.test(text[at - 1] ?? "") && wordly.test(text[at] ?? "");
  let [from, to] = [start, end];
  while (from > 0 && inside(from)) from--;
  while (to < text.length && inside(to)) to++;
  while (from < to && text[from] === " ") from++;
  while (to > from && text[to - 1] === " ") to--;
  return [from, to];
}

const spaced = (text: string) => spacedView(text).text;
