import type { Tracked } from "../../test/support/tracked-text.ts";
import type { Span } from "./edits.ts";

/** What is wrong with an edge of a place; the rules are in bench/README.md. */
export type EdgeFault = "cuts a word" | "cuts a mark" | "takes in other words" | "leaves out its words";

/** Faults in all comparisons are certain. Faults in some of them depend on which of two equal words is meant. */
export function edgeFaults(before: string, comparisons: Tracked[], passage: Span, place: Span) {
  const faults = comparisons.map((now) => faultOf(before, now, passage, place));
  const fault = faults.find((one) => one !== undefined);
  return { fault, certain: faults.every((one) => one !== undefined) };
}

function faultOf(before: string, now: Tracked, passage: Span, place: Span): EdgeFault | undefined {
  const edges = [
    [passage.start, place.start],
    [passage.end, place.end],
  ] as const;
  if (edges.some(([was, is]) => isInWord(now.text, is) && !isInWord(before, was))) return "cuts a word";
  if (edges.some(([was, is]) => isInMark(now.text, is) && !isInMark(before, was))) return "cuts a mark";
  const tokens = tokensIn(now, { start: 0, end: now.text.length });
  const inside = tokens.filter(({ start }) => start >= place.start && start < place.end);
  const own = tokensIn({ text: before, origins: Array.from({ length: before.length }, (_, n) => n) }, passage);
  const left = { inside, outside: tokens.filter(({ start }) => start < place.start).reverse(), own };
  const right = {
    inside: inside.toReversed(),
    outside: tokens.filter(({ start }) => start >= place.end),
    own: own.toReversed(),
  };
  return sideFault(left, passage) ?? sideFault(right, passage);
}

/** Words and marks at an edge, from the edge inwards and outwards. */
type Side = { inside: Token[]; outside: Token[]; own: Token[] };

function sideFault({ inside, outside, own }: Side, passage: Span): EdgeFault | undefined {
  const isOwn = ({ origin }: Token) => origin >= passage.start && origin < passage.end;
  const first = inside.findIndex(isOwn);
  if (first < 0) return undefined;
  const next = outside.findIndex(({ origin, isWord }) => isWord && origin >= 0);
  const beside = outside[next];
  if (beside && isOwn(beside)) return "leaves out its words";
  const lost = own
    .slice(
      0,
      own.findIndex(({ start }) => start === inside[first]?.origin),
    )
    .filter(({ isWord }) => isWord);
  const taken = inside.slice(0, first).filter(({ isWord }) => isWord);
  if (taken.length === 0) return undefined;
  if (lost.length === 0 || taken.some(({ origin }) => origin >= 0)) return "takes in other words";
  // All that is new between the passage's own words and its unchanged neighbour replaced the lost words.
  const isBounded = !outside.slice(0, Math.max(0, next)).some(({ isWord }) => isWord);
  return isBounded || taken.length <= 2 * lost.length ? undefined : "takes in other words";
}

type Token = { start: number; origin: number; isWord: boolean };

const wordly = /[\p{L}\p{M}\p{N}_]/u;

function tokensIn({ text, origins }: Tracked, { start, end }: Span): Token[] {
  return [...text.slice(start, end).matchAll(/[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu)].map(
    ({ index, 0: found }) => ({
      start: start + index,
      origin: origins[start + index] ?? -1,
      isWord: wordly.test(found),
    }),
  );
}

const isInWord = (text: string, at: number) => wordly.test(text[at - 1] ?? "") && wordly.test(text[at] ?? "");

/** Marks of markdown of more than one character. */
const marks = [
  /\*{2,}|_{2,}|~~|`{2,}|\$\$/g,
  /!\[|\]\(|\]\[|\]:/g,
  /^ {0,3}#{2,6}(?=\s)/g,
  /^\s*(?:>\s*)*\d{1,9}[.)](?=\s)/g,
  /\[[ xX]\](?=\s)/g,
  /<!--|-->|<\/?[A-Za-z][^<>]*>/g,
  /&(?:#\d+|#x[\da-f]+|[a-z]\w*);/gi,
  /\\[!-/:-@[-`{-~]/g,
];

function isInMark(text: string, at: number): boolean {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const next = text.indexOf("\n", at);
  const line = text.slice(start, next < 0 ? text.length : next);
  return marks.some((mark) =>
    [...line.matchAll(mark)].some((found) => {
      const from = start + found.index + (found[0].length - found[0].trimStart().length);
      return at > from && at < start + found.index + found[0].length;
    }),
  );
}

/** A place with the words of the passage has its edges. */
export const hasSameWords = (one: string, other: string) =>
  one.match(/[\p{L}\p{M}\p{N}_]+/gu)?.join(" ") === other.match(/[\p{L}\p{M}\p{N}_]+/gu)?.join(" ");
