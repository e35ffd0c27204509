import { isDeepStrictEqual } from "node:util";
import { parse, stringify, TomlError, type TomlTable } from "smol-toml";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { JsonObject } from "./json-entry.ts";

/** A file's text, its name in messages, and the name of a table such as mcp_servers.scriptorium. */
export type TomlPlace = { text: string; shown: string; path: readonly [string, string] };

/*
 * Parsers of TOML lose comments and layout, so the text is edited. Every edit is checked: the new text must
 * parse to the old values with exactly our table changed. Otherwise the file is left to the person.
 */

export function readTomlEntry({ text, shown, path: [group, name] }: TomlPlace): Result<JsonObject | undefined> {
  const read = parseToml(text, shown);
  if (!read.ok) return read;
  const around = read.value[group];
  const entry = isTable(around) ? around[name] : undefined;
  if (around !== undefined && !isTable(around)) return refuse("invalid", `${shown}: ${group} is not a table`);
  return entry === undefined || isTable(entry)
    ? ok(entry)
    : refuse("invalid", `${shown}: ${group}.${name} is not a table`);
}

/** Sets the keys of the table; its other keys, and everything outside it, stay. */
export function setTomlEntry(place: TomlPlace, entry: { [key: string]: string | string[] }): Result<string> {
  const found = readTomlEntry(place);
  if (!found.ok) return found;
  const { text, path } = place;
  const changed = Object.entries(entry).filter(([key, value]) => !isDeepStrictEqual(found.value?.[key], value));
  if (changed.length === 0) return ok(text);
  const after = found.value ? withKeys(text, path, changed) : withTable(text, path, entry);
  return checked(place, after, { ...found.value, ...entry });
}

/** Removes the table and its sub-tables; undefined when nothing is left of the file. */
export function removeTomlEntry(place: TomlPlace): Result<string | undefined> {
  let text = place.text;
  for (;;) {
    const table = findTable(text, place.path, true);
    if (!table) break;
    // The blank line that separates it from the table before goes too.
    const start = text.slice(0, table.start).endsWith("\n\n") ? table.start - 1 : table.start;
    text = text.slice(0, start) + text.slice(table.end);
  }
  const after = checked(place, text, undefined);
  return after.ok && after.value.trim() === "" ? ok(undefined) : after;
}

/** The new text, if it says the same as the old one but for our table. */
function checked(
  { text, shown, path: [group, name] }: TomlPlace,
  after: string,
  entry: JsonObject | undefined,
): Result<string> {
  const byHand = `${shown}: [${group}.${name}] cannot be edited without touching other lines; edit it by hand (--print shows the entry)`;
  const [was, is] = [parseToml(text, shown), parseToml(after, shown)];
  if (!was.ok) return was;
  if (!is.ok) return refuse("invalid", byHand);
  const without = (value: TomlTable) => {
    const { [name]: _ours, ...others } = (value[group] ?? {}) as TomlTable;
    return plain({ ...value, [group]: others });
  };
  const same = isDeepStrictEqual(without(is.value), without(was.value));
  const now = (is.value[group] as TomlTable | undefined)?.[name];
  const set = isDeepStrictEqual(now && plain(now), entry && plain(entry));
  return same && set ? ok(after) : refuse("invalid", byHand);
}

function withTable(text: string, [group, name]: TomlPlace["path"], entry: TomlTable): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = [`[${group}.${name}]`, ...Object.entries(entry).map(([key, value]) => assignment(key, value)), ""];
  const gap = text === "" ? "" : text.endsWith("\n") ? eol : eol + eol;
  return text + gap + lines.join(eol);
}

function withKeys(text: string, path: TomlPlace["path"], entries: [string, string | string[]][]): string {
  let after = text;
  for (const [key, value] of entries) {
    const table = findTable(after, path, false);
    if (!table) return text;
    const body = after.slice(table.bodyStart, table.end);
    const old = findKey(body, key);
    const fresh = assignment(key, value);
    const edited = old ? body.slice(0, old.start) + fresh + body.slice(old.end) : `${fresh}\n${body}`;
    after = after.slice(0, table.bodyStart) + edited + after.slice(table.end);
  }
  return after;
}

const assignment = (key: string, value: TomlTable[string]) => stringify({ [key]: value }).trimEnd();

/** The first table of this name, or with `below` also one of its sub-tables. */
function findTable(text: string, [group, name]: TomlPlace["path"], below: boolean) {
  const part = (word: string) => `["']?${word}["']?`;
  const rest = below ? "[ \\t]*(?:\\.[^\\]\\n]*)?" : "[ \\t]*";
  const header = new RegExp(
    `^[ \\t]*\\[[ \\t]*${part(group)}[ \\t]*\\.[ \\t]*${part(name)}${rest}\\][^\\n]*(?:\\n|$)`,
    "m",
  );
  const found = header.exec(text);
  if (!found) return undefined;
  const bodyStart = found.index + found[0].length;
  return { start: found.index, bodyStart, end: endOfTable(text, bodyStart) };
}

/** The next header at which the text so far is valid: a line of an array or a string may look like one. */
function endOfTable(text: string, bodyStart: number): number {
  for (const { index } of text.slice(bodyStart).matchAll(/^[ \t]*\[/gm)) {
    const end = bodyStart + index;
    if (isToml(text.slice(0, end))) return beforeComments(text, bodyStart, end);
  }
  return text.length;
}

/** Comments directly above a header belong to it. */
function beforeComments(text: string, bodyStart: number, end: number): number {
  const above = /(?:^[ \t]*(?:#[^\n]*)?\r?\n)+$/m.exec(text.slice(bodyStart, end));
  return above ? bodyStart + above.index : end;
}

/** An assignment may go over several lines: it ends with the first line at which it parses. */
function findKey(body: string, key: string): { start: number; end: number } | undefined {
  const start = new RegExp(`^[ \\t]*["']?${key}["']?[ \\t]*=`, "m").exec(body)?.index;
  if (start === undefined) return undefined;
  for (let end = start; end < body.length; ) {
    const newline = body.indexOf("\n", end);
    end = newline < 0 ? body.length : newline + 1;
    if (isToml(body.slice(start, end))) return { start, end: start + body.slice(start, end).trimEnd().length };
  }
  return undefined;
}

/** All settings of a file; undefined when it is invalid. */
export function tomlSettings(text: string): JsonObject | undefined {
  const read = parseToml(text, "");
  return read.ok ? read.value : undefined;
}

const isToml = (text: string) => parseToml(text, "").ok;

function parseToml(text: string, shown: string): Result<TomlTable> {
  try {
    return ok(parse(text.replace(/^\uFEFF/, "")));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split("\n", 1)[0]?.replace(/^Invalid TOML document: /, "");
    return refuse(
      "invalid",
      `${shown}:${error.line}:${error.column}: ${reason}; correct it by hand, the file was left as it is`,
    );
  }
}

/** The parser's tables have no prototype, by which they would differ from ours. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const isTable = (value: unknown): value is TomlTable =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
