import { type CodeFence, fenceAfter } from "../../kernel/markdown/fences.ts";
import { findFrontmatter } from "../../kernel/markdown/frontmatter.ts";

/** `line` is the index of the first line of the heading; a setext heading has more than one. */
export type Heading = { line: number; depth: number; title: string };

/**
 * The top-level headings of a markdown text, given as lines. Undefined where a line may or may not be a heading,
 * depending on a list, table, raw HTML or formula around it: a merge needs the structure that every reader sees.
 * It reads each line once; a parser would block the process on a long text. test/merge.test.ts compares it with the
 * parser that renders pages.
 */
export function findHeadings(lines: string[]): Heading[] | undefined {
  const found: Heading[] = [];
  let block: Block = { kind: "none" };
  for (let at = linesOfFrontmatter(lines); at < lines.length; at++) {
    const line = lines[at]?.replace(/\r?\n$/, "") ?? "";
    if (line.includes("\r")) return undefined;
    const read = readLine(block, line, at);
    if (read === "uncertain") return undefined;
    if (read.heading) found.push(read.heading);
    block = read.block;
  }
  return found;
}

type Block =
  | { kind: "none" }
  /** `certain` is false if the underline below may belong to something else than this paragraph. */
  | { kind: "paragraph"; start: number; title: string; certain: boolean }
  /** A list item or quote and its lazy continuation, until a blank line. */
  | { kind: "container" }
  /** Raw text until a line that closes it; `nested` if it is indented and may be part of a list item. */
  | { kind: "raw"; fence?: CodeFence; close?: RegExp; nested: boolean }
  /** Perhaps raw HTML, until a blank line. */
  | { kind: "html" };

type Read = { block: Block; heading?: Heading } | "uncertain";

const none: Block = { kind: "none" };

function readLine(block: Block, line: string, at: number): Read {
  const isBlank = line.trim() === "";
  if (block.kind === "raw") return readRaw(block, line, isBlank);
  if (isBlank) return { block: none };
  const opened = openRaw(line);
  if (opened) return block.kind === "html" && opened.kind === "raw" ? "uncertain" : { block: opened };
  const atx = /^( {0,3})(#{1,6})(?:[ \t]+(.*))?$/.exec(line);
  const underline = /^( {0,3})(=+|-+)[ \t]*$/.exec(line);
  if (block.kind === "html") return atx || underline ? "uncertain" : { block };
  // With an indentation it may be part of a list item.
  if (atx && atx[1] !== "") return "uncertain";
  if (atx) return { block: none, heading: { line: at, depth: atx[2]?.length ?? 1, title: (atx[3] ?? "").trim() } };
  if (underline && block.kind === "paragraph") {
    if (!block.certain || underline[1] !== "") return "uncertain";
    const depth = underline[2]?.startsWith("=") ? 1 : 2;
    return { block: none, heading: { line: block.start, depth, title: block.title } };
  }
  return readText(block, line, at);
}

function readRaw(block: Block & { kind: "raw" }, line: string, isBlank: boolean): Read {
  // A line without indentation would end the list item, and with it the raw text.
  if (block.nested && !isBlank && /^\S/.test(line)) return "uncertain";
  if (block.close) return { block: block.close.test(line) ? none : block };
  return { block: fenceAfter(block.fence, line) ? block : none };
}

const rawHtml: [RegExp, RegExp][] = [
  [/^ {0,3}<!--/, /-->/],
  [/^ {0,3}<(?:script|pre|style|textarea)(?:[\s>]|$)/i, /<\/(?:script|pre|style|textarea)>/i],
  [/^ {0,3}<\?/, /\?>/],
  [/^ {0,3}<!\[CDATA\[/, /\]\]>/],
  [/^ {0,3}<![A-Za-z]/, />/],
];

function openRaw(line: string): Block | undefined {
  const nested = line.startsWith(" ");
  const fence = fenceAfter(undefined, line);
  if (fence) return { kind: "raw", fence, nested };
  if (/^ {0,3}\$\$/.test(line)) return { kind: "raw", close: /^ {0,3}\$\$+[ \t]*$/, nested };
  for (const [open, close] of rawHtml) {
    const opening = open.exec(line)?.[0];
    if (opening !== undefined) return close.test(line.slice(opening.length)) ? none : { kind: "raw", close, nested };
  }
  return /^ {0,3}<[A-Za-z/]/.test(line) ? { kind: "html" } : undefined;
}

const listItem = /^\s*(?:[-+*]|(\d{1,9})[.)])(?:[ \t]+(.*))?$/;

function readText(block: Block, line: string, at: number): Read {
  if (/^ {0,3}([*_-])(?:[ \t]*\1){2,}[ \t]*$/.test(line)) return { block: none };
  const item = listItem.exec(line);
  if (/^ {0,3}>/.test(line)) return { block: { kind: "container" } };
  if (item) {
    // Raw text that begins behind the marker ends where the item ends.
    if (/^(?:[-+*>]|\d+[.)]|\s)*(?:`{3}|~{3}|<|\$\$)/.test(item[2] ?? "")) return "uncertain";
    const interrupts = (item[1] === undefined || item[1] === "1") && (item[2] ?? "") !== "";
    if (block.kind !== "paragraph" || interrupts) return { block: { kind: "container" } };
    return { block: { ...block, certain: false } };
  }
  if (block.kind === "container") return { block };
  // A table, a definition or an indented line: the underline below it may not make it a heading.
  const certain = !/^\s|\||^\[.*\]:/.test(line);
  if (block.kind !== "paragraph") return { block: { kind: "paragraph", start: at, title: line.trim(), certain } };
  return { block: { ...block, title: `${block.title} ${line.trim()}`, certain: block.certain && certain } };
}

function linesOfFrontmatter(lines: string[]): number {
  const text = lines.join("");
  const front = findFrontmatter(text);
  return front ? text.slice(0, front.bodyStart).split("\n").length - 1 : 0;
}
