import { type CodeFence, fenceAfter } from "../../../kernel/markdown/fences.ts";
import type { Span } from "./views.ts";

/** The place of a passage for readers: its lines and the heading above it. */
export type PlaceInText = { line: number; endLine: number; heading: string };

/** Describes passages of one text, which is scanned once for all of them. */
export function placesIn(text: string): (span: Span) => PlaceInText {
  const starts: number[] = [];
  const headings: { line: number; heading: string }[] = [];
  let fence: CodeFence | undefined;
  for (let start = 0; start <= text.length; ) {
    const next = text.indexOf("\n", start);
    const end = next < 0 ? text.length : next;
    starts.push(start);
    if (mayMark(text, start)) {
      const line = text.slice(start, end);
      fence = fenceAfter(fence, line);
      const heading = fence ? undefined : /^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*\r?$/.exec(line)?.[1];
      if (heading !== undefined) headings.push({ line: starts.length, heading });
    }
    start = end + 1;
  }
  const lineOf = (offset: number) => countUpTo(starts, offset, (start) => start);
  return ({ start, end }) => {
    const line = lineOf(start);
    const above = headings[countUpTo(headings, line, (one) => one.line) - 1];
    return { line, endLine: lineOf(Math.max(start, end - 1)), heading: above?.heading ?? "" };
  };
}

/** Whether a line may be a heading or a fence, by the first of its characters that is not a space. */
function mayMark(text: string, start: number): boolean {
  let at = start;
  while (at < start + 3 && text[at] === " ") at++;
  const first = text[at];
  return first === "#" || first === "`" || first === "~";
}

/** How many items of an ascending list are at most `limit`. */
function countUpTo<T>(items: readonly T[], limit: number, numberOf: (item: T) => number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numberOf(items[middle] as T) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Lines count from 1. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}
