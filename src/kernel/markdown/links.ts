/**
 * Finds the links of a markdown text: `[[id]]`, `[[id|words]]`, `[[id#heading]]`, and links to files of the workspace.
 * It runs inside every commit, so it is a scanner in one pass, not a parser. It knows fenced code, code spans and
 * escapes; an indented code block or raw HTML counts as text. test/graph-wiki.test.ts compares it with the parser
 * that renders pages.
 */

import { posix } from "node:path";
import { type CodeFence, fenceAfter } from "./fences.ts";

/** Folders of the workspace, relative to its root. */
export type Folders = { wiki: string; sources: string };

const maxTargetLength = 400;

/** A link as written: the inside of `[[ ]]` before any `|`, or the address of a markdown link. */
export type LinkTarget = { wiki: string } | { address: string };

/** False for most lines of a log, which then cost one pass. */
export const mayLink = (text: string) => text.includes("[[") || text.includes("](") || text.includes("]:");

export function linkTargets(text: string): LinkTarget[] {
  if (!mayLink(text)) return [];
  const found: LinkTarget[] = [];
  for (const block of proseBlocks(text)) scan(block, found);
  return found;
}

/** Runs of lines outside fenced code. A code span never spans a blank line. */
function* proseBlocks(text: string): Generator<string> {
  let fence: CodeFence | undefined;
  let block: string[] = [];
  let depth = 1;
  const flush = function* () {
    if (block.length > 0) yield block.join("\n");
    block = [];
  };
  for (const line of text.split("\n")) {
    const [prefix = ""] = containers.exec(line) ?? [];
    const inner = line.slice(prefix.length);
    const wasOpen = fence !== undefined;
    fence = fenceAfter(fence, inner);
    if (!wasOpen && fence) yield* flush();
    if (!wasOpen && !fence) {
      const quotes = prefix.split(">").length;
      if (inner === "" || quotes > depth || /[-+*.)]/.test(prefix) || alone.test(inner)) yield* flush();
      depth = quotes;
      if (inner !== "") block.push(inner);
      if (alone.test(inner)) yield* flush();
    }
  }
  yield* flush();
}

/** Quote marks and list markers before a line's own text. */
export const containers = /^(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*/;

/** A heading, an underline of one, or a thematic break. */
const alone = /^(?:#{1,6}(?:[ \t]|$)|=+[ \t]*$|-+[ \t]*$|([*_-])(?:[ \t]*\1){2,}[ \t]*$)/;

const definition = /^ {0,3}\[(?!\^)[^\]\n[]+\]:[ \t]*(?:<([^>\n]*)>|(\S+))/;

function scan(text: string, found: LinkTarget[]): void {
  for (const line of text.split("\n")) {
    const [, bracketed, plain] = definition.exec(line) ?? [];
    const address = bracketed ?? plain;
    if (address !== undefined) found.push({ address });
  }
  const lastRun = new Map([...text.matchAll(/`+/g)].map(({ 0: run, index }) => [run.length, index]));
  for (let at = 0; at < text.length; ) {
    const char = text[at];
    if (char === "\\") at += 2;
    else if (char === "`") at = afterCode(text, at, lastRun);
    else if (char === "[" && text[at + 1] === "[") at = wikiLink(text, at, found);
    else if (char === "]" && text[at + 1] === "(") at = address(text, at + 2, found);
    else at++;
  }
}

/** Skips a code span, or only its backticks if no run of the same length closes it; `lastRun` keeps that linear. */
function afterCode(text: string, at: number, lastRun: Map<number, number>): number {
  let end = at;
  while (text[end] === "`") end++;
  const length = end - at;
  if ((lastRun.get(length) ?? 0) < end) return end;
  for (let open = text.indexOf("`", end); open >= 0; open = text.indexOf("`", end)) {
    end = open;
    while (text[end] === "`") end++;
    if (end - open === length) return end;
  }
  return at + length;
}

function wikiLink(text: string, at: number, found: LinkTarget[]): number {
  const length = text.slice(at + 2, at + 4 + maxTargetLength).indexOf("]]");
  const close = at + 2 + length;
  const inner = text.slice(at + 2, close);
  if (length < 0 || /[\n`[\]]/.test(inner)) return at + 1;
  // `[[a]](b)` is a markdown link whose words are in brackets.
  if (text[close + 2] === "(") return close + 1;
  const [name = ""] = inner.split("|");
  found.push({ wiki: name.trim() });
  return close + 2;
}

/** The address of `[words](address "title")`. */
function address(text: string, at: number, found: LinkTarget[]): number {
  const pattern =
    /[ \t\n]{0,9}(?:<([^<>\n]{0,400})>|((?:\\.|[^\s\\()]|\((?:\\.|[^\s\\()]){0,99}\)){0,400}))(?=[ \t\n]{0,9}\)|[ \t\n]{1,9}["'(])/y;
  pattern.lastIndex = at;
  const [whole, bracketed, plain] = pattern.exec(text) ?? [];
  if (whole === undefined) return at;
  found.push({ address: (bracketed ?? plain ?? "").replaceAll(/\\([!-/:-@[-`{-~])/g, "$1") });
  return at + whole.length;
}

/** The node that a link in a file of `folder` names; undefined when it leads out of the workspace. */
export function nodeOfLink(target: LinkTarget, folder: string, folders: Folders): string | undefined {
  if ("wiki" in target) {
    const [name = ""] = target.wiki.split("#");
    const id = name.trim();
    if (id === "" || id.length > 200 || /[\s>\p{Cc}]/u.test(id.replaceAll(" ", ""))) return undefined;
    return id.includes(":") ? id : `entry:${id}`;
  }
  const path = fileAt(target.address, folder);
  return path === undefined ? undefined : nodeOfFile(path, folders);
}

/** A relative address as a path of the workspace; undefined for one with a scheme or a host. */
export function fileAt(address: string, folder: string): string | undefined {
  const [plain = ""] = address.split(/[?#]/);
  if (plain === "" || plain.length > maxTargetLength || /^[a-z][a-z0-9+.-]*:|^[/\\]/i.test(plain)) return undefined;
  let decoded: string;
  try {
    decoded = decodeURIComponent(plain);
  } catch {
    return undefined;
  }
  const path = posix.normalize(posix.join(folder, decoded));
  return path.startsWith("..") || /[>\p{Cc}]/u.test(path) ? undefined : path;
}

/** The node of a file of the workspace: an entry, a source, or a page. */
export function nodeOfFile(path: string, { wiki, sources }: Folders): string | undefined {
  if (path.startsWith(`${sources}/`)) return `source:${path.slice(sources.length + 1)}`;
  const inWiki = path.startsWith(`${wiki}/`) ? path.slice(wiki.length + 1) : undefined;
  if (inWiki?.endsWith(".md")) return `entry:${inWiki.slice(0, -3)}`;
  if (inWiki !== undefined && !posix.basename(inWiki).includes(".")) return `entry:${inWiki}`;
  return /\.(md|markdown)$/.test(path) ? `page:${path}` : undefined;
}
