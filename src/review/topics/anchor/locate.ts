import type { Span } from "./views.ts";

/** An exact match in the new text with its evidence. */
export type Located = Span & {
  /** The number of equal characters around it. */
  context: number;
  /** False when another place, or another passage with the same text, matches as well. */
  clear: boolean;
};

const mostOccurrences = 60;
const furthest = 2000;
/** A match is better only by more characters than two passages share by chance. */
const margin = 16;
const chance = 8;

/**
 * Tells equal passages apart by their context. A place matches if it is the best for the passage and the
 * passage is the best for it: otherwise a deleted passage would be found in its twin. Best in one direction is
 * not enough: where a section was cut out, the twin before the cut is followed by the text that followed ours.
 */
export function locate(before: string, after: string, passage: Span): Located | "too many" | undefined {
  const quote = before.slice(passage.start, passage.end);
  const places = occurrences(after, quote, edges(before, passage));
  if (places.length === 0) return undefined;
  const twins = occurrences(before, quote, edges(before, passage)).filter((at) => at !== passage.start);
  if (places.length >= mostOccurrences || twins.length >= mostOccurrences) return "too many";

  const common = (old: number, now: number) => sharedAround(before, after, old, now, quote.length);
  const claims = places
    .map((start) => ({ start, mine: common(passage.start, start), others: twins.map((twin) => common(twin, start)) }))
    .filter(({ mine, others }) => !others.some((other) => isBetter(other, mine)))
    .sort((a, b) => sum(b.mine) - sum(a.mine));
  const [best, ...rest] = claims;
  if (!best) return undefined;

  const rivals = [...best.others, ...rest.map(({ mine }) => mine)];
  return {
    start: best.start,
    end: best.start + quote.length,
    context: sum(best.mine),
    clear: rivals.every((rival) => isBetter(best.mine, rival)),
  };
}

/** The number of equal characters on either side. */
type Shared = { left: number; right: number };

const sum = ({ left, right }: Shared) => left + right;

const isBetter = (one: Shared, other: Shared) =>
  sum(one) >= sum(other) + margin && one.left >= other.left - chance && one.right >= other.right - chance;

type Edges = { left: boolean; right: boolean };

/** Whether the passage starts and ends at word boundaries. */
function edges(text: string, { start, end }: Span): Edges {
  return { left: !joins(text, start), right: !joins(text, end) };
}

const wordly = /[\p{L}\p{M}\p{N}]/u;
const joins = (text: string, at: number) => wordly.test(text[at - 1] ?? "") && wordly.test(text[at] ?? "");

function occurrences(text: string, quote: string, wanted: Edges): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(quote); at >= 0 && found.length < mostOccurrences; at = text.indexOf(quote, at + 1)) {
    const has = edges(text, { start: at, end: at + quote.length });
    if ((has.left || !wanted.left) && (has.right || !wanted.right)) found.push(at);
  }
  return found;
}

function sharedAround(before: string, after: string, old: number, now: number, length: number): Shared {
  let left = 0;
  while (left < furthest && old - left > 0 && before[old - left - 1] === after[now - left - 1]) left++;
  let right = 0;
  const [oldEnd, nowEnd] = [old + length, now + length];
  while (right < furthest && oldEnd + right < before.length && before[oldEnd + right] === after[nowEnd + right])
    right++;
  return { left, right };
}
