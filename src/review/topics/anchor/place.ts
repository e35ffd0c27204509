import { type CodeFence, fenceAfter } from "../../../kernel/markdown/fences.ts";
import type { Span } from "./views.ts";

/** The place of a passage for readers: its lines and the heading above it. */
export function describePlace(text: string, { start, end }: Span): { line: number; endLine: number; heading: string } {
  const line = lineAt(text, start);
  return { line, endLine: lineAt(text, Math.max(start, end - 1)), heading: headingAbove(text, line) };
}

function headingAbove(text: string, line: number): string {
  let heading = "";
  let fence: CodeFence | undefined;
  for (const one of text.split("\n", line)) {
    fence = fenceAfter(fence, one);
    if (fence === undefined) heading = /^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*\r?$/.exec(one)?.[1] ?? heading;
  }
  return heading;
}

/** Lines count from 1. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}
