import { createHash } from "node:crypto";
import { type CodeFence, fenceAfter } from "../kernel/markdown/fences.ts";

/** One block of a markdown text: a paragraph, a list item, a row of a table, a code block, a line of a log. */
export type Passage = {
  /** The nearest heading above it. */
  heading: string;
  /** Its first line, from 1. */
  line: number;
  text: string;
  /** Identifies it within its page: what it says and under which heading. */
  hash: string;
};

/**
 * The passages of a text. A heading belongs to what stands under it, because the same words under another heading say
 * something else; so does the first row of a table.
 */
export function passagesOf(text: string, under = ""): Passage[] {
  const found: Passage[] = [];
  let heading = under;
  let columns = "";
  let open: { line: number; lines: string[]; kind: "text" | "item" | "code" } | undefined;
  let fence: CodeFence | undefined;

  const add = (line: number, body: string, context = heading) => {
    const trimmed = body.trim();
    if (trimmed !== "") found.push({ heading, line, text: trimmed, hash: hashOf(context, trimmed) });
  };
  const close = () => {
    if (open) add(open.line, open.lines.join("\n"));
    open = undefined;
  };
  for (const [at, line] of text.replaceAll("\r\n", "\n").split("\n").entries()) {
    const wasFenced = fence !== undefined;
    fence = fenceAfter(fence, line.trimStart());
    if (wasFenced || fence) {
      if (!wasFenced) close();
      open ??= { line: at + 1, lines: [], kind: "code" };
      open.lines.push(line);
      if (!fence) close();
      continue;
    }
    const above = headingIn(line);
    if (above !== undefined) {
      close();
      heading = above;
    } else if (line.trim() === "") {
      close();
      columns = "";
    } else if (isRow(line)) {
      close();
      if (columns === "") columns = line;
      else if (!isRuler(line)) add(at + 1, line, `${heading}\n${oneSpaced(columns)}`);
    } else if (isItem.test(line)) {
      close();
      open = { line: at + 1, lines: [line], kind: "item" };
    } else {
      open ??= { line: at + 1, lines: [], kind: "text" };
      open.lines.push(line);
    }
  }
  close();
  return found;
}

const isItem = /^\s{0,12}(?:[-*+]|\d{1,9}[.)])\s/;
const isRow = (line: string) => /^\s{0,3}\|/.test(line);
const isRuler = (line: string) => /^[\s|:-]+$/.test(line);

/** A longer line is not a heading. */
const longestHeading = 300;

function headingIn(line: string): string | undefined {
  if (line.length > longestHeading) return undefined;
  const [, text] = /^#{1,6}\s+(.*)$/.exec(line) ?? [];
  return text?.replace(/\s#+$/, "").trim() || undefined;
}

/** Without the marker of a list item, and whatever the white space. */
export const plainText = (text: string) => oneSpaced(text.replace(/^\s*(?:[-*+]|\d{1,9}[.)])\s+/, ""));

/** What a line says without the time and the author that `append_log` puts before it. */
export const withoutLogPrefix = (text: string) =>
  text.replace(/^\s*(?:-\s)?\d{4}-\d\d-\d\dT[\d:.]{5,15}Z\s[^:\n]{0,200}:\s/, "");

const oneSpaced = (text: string) => text.replaceAll(/\s+/g, " ").trim();

/** Long enough that nobody can make a text with the hash of another that a person approved. */
const hashOf = (context: string, text: string) =>
  createHash("sha256")
    .update(`${oneSpaced(context)}\0${plainText(text)}`)
    .digest("base64url")
    .slice(0, 22);
