/**
 * Where the text of an entry points: `[[id]]`, `[[id|words]]`, `[[id#heading]]`, and markdown links to
 * files of the workspace. It runs inside every commit, so it is a scanner and no parser: one pass, no
 * tree. It knows fenced code, code spans and escapes; an indented code block or raw HTML counts as
 * text. A test holds it against the parser that renders pages.
 */

import { posix } from "node:path";
import { parseJsonOr } from "../../store/json.ts";

/** Where files lie in the workspace. */
export type Folders = { wiki: string; sources: string };

/** Different targets of one entry that are kept. */
const mostLinks = 2000;
const longestTarget = 400;

/** The ids of the nodes that a text links to, each once, in order of letters. */
export function linksIn(text: string, entry: string, folders: Folders): string[] {
  return sorted(targetsIn(text).map((target) => nodeAt(target, entry, folders)));
}

/** For a log, whose lines stand alone: the links it has when `line` is added to what it had. */
export function linksWith(known: string[], line: string, entry: string, folders: Folders): string[] {
  const added = targetsIn(line).map((target) => nodeAt(target, entry, folders));
  return sorted([...known, ...added]);
}

const sorted = (ids: (string | undefined)[]) =>
  [...new Set(ids.filter((id) => id !== undefined))].slice(0, mostLinks).sort();

/** What is known of an entry's links; null when its text is still to be read for them. */
export const knownLinks = (row: { links: string | null } | undefined): string[] | null =>
  row ? (row.links === null ? null : parseJsonOr(row.links, null)) : [];

/** For a log as a whole, as if its lines had come one by one. */
export const linksInLog = (text: string, entry: string, folders: Folders): string[] =>
  mayLink(text)
    ? sorted(
        text
          .split("\n")
          .flatMap(targetsIn)
          .map((target) => nodeAt(target, entry, folders)),
      )
    : [];

/** A link as it is written: the inside of `[[ ]]`, or the address of a markdown link. */
type Target = { wiki: string } | { address: string };

const mayLink = (text: string) => text.includes("[[") || text.includes("](") || text.includes("]:");

function targetsIn(text: string): Target[] {
  if (!mayLink(text)) return [];
  const found: Target[] = [];
  for (const block of proseBlocks(text)) scan(block, found);
  return found;
}

/** Runs of lines outside fenced code. A code span never reaches over a blank line. */
function* proseBlocks(text: string): Generator<string> {
  let fence: { mark: string; length: number } | undefined;
  let block: string[] = [];
  let depth = 1;
  const flush = function* () {
    if (block.length > 0) yield block.join("\n");
    block = [];
  };
  for (const line of text.split("\n")) {
    const [prefix = ""] = containers.exec(line) ?? [];
    const inner = line.slice(prefix.length);
    const [, marks = "", info = ""] = /^(`{3,}|~{3,})(.*)$/.exec(inner) ?? [];
    const mark = marks[0] ?? "";
    if (fence) {
      if (mark === fence.mark && marks.length >= fence.length && info.trim() === "") fence = undefined;
    } else if (mark !== "" && !(mark === "`" && info.includes("`"))) {
      yield* flush();
      fence = { mark, length: marks.length };
    } else {
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
const containers = /^(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*/;

/** A heading, or a line that ends what stands above it. */
const alone = /^(?:#{1,6}(?:[ \t]|$)|=+[ \t]*$|-+[ \t]*$|([*_-])(?:[ \t]*\1){2,}[ \t]*$)/;

const definition = /^ {0,3}\[[^\]\n[]+\]:[ \t]*(?:<([^>\n]*)>|(\S+))/;

function scan(text: string, found: Target[]): void {
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

/** Past a code span, or past its backticks when no run as long closes them: to look for one each time would never end. */
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

function wikiLink(text: string, at: number, found: Target[]): number {
  const length = text.slice(at + 2, at + 4 + longestTarget).indexOf("]]");
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
function address(text: string, at: number, found: Target[]): number {
  const pattern =
    /[ \t\n]{0,9}(?:<([^<>\n]{0,400})>|((?:\\.|[^\s\\()]|\((?:\\.|[^\s\\()]){0,99}\)){0,400}))(?=[ \t\n]{0,9}\)|[ \t\n]{1,9}["'(])/y;
  pattern.lastIndex = at;
  const [whole, bracketed, plain] = pattern.exec(text) ?? [];
  if (whole === undefined) return at;
  found.push({ address: (bracketed ?? plain ?? "").replaceAll(/\\([!-/:-@[-`{-~])/g, "$1") });
  return at + whole.length;
}

/** The node that a link means; undefined when it leads out of the workspace, or nowhere. */
function nodeAt(target: Target, entry: string, folders: Folders): string | undefined {
  if ("wiki" in target) {
    const [name = ""] = target.wiki.split("#");
    const id = name.trim();
    if (id === "" || id.length > 200 || /[\s>\p{Cc}]/u.test(id.replaceAll(" ", ""))) return undefined;
    return id.includes(":") ? id : `entry:${id}`;
  }
  const path = fileAt(target.address, posix.dirname(`${folders.wiki}/${entry}`));
  return path === undefined ? undefined : nodeOfFile(path, folders);
}

/** A relative address as a path of the workspace. Anything with a scheme or a host is elsewhere. */
function fileAt(address: string, folder: string): string | undefined {
  const [plain = ""] = address.split(/[?#]/);
  if (plain === "" || plain.length > longestTarget || /^[a-z][a-z0-9+.-]*:|^[/\\]/i.test(plain)) return undefined;
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
