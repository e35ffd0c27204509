import { isDeepStrictEqual } from "node:util";
import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { insertProperty, removeProperty, replaceValue } from "./json-text.ts";

export type JsonObject = { [key: string]: unknown };
/** What a client's parser takes beyond JSON; what it does not take is an error, because the client would skip the file. */
export type JsonDialect = { comments: boolean; trailingCommas: boolean };
/** A file's text, its name in messages, and the keys that lead to an entry: the servers and the server. */
export type JsonPlace = { text: string; shown: string; path: readonly [string, string]; dialect: JsonDialect };

/** The entry, or undefined when there is none. */
export function readJsonEntry({
  text,
  shown,
  path: [group, name],
  dialect,
}: JsonPlace): Result<JsonObject | undefined> {
  if (text.trim() === "") return ok(undefined);
  const root = parse(text, shown, dialect);
  if (!root.ok) return root;
  const servers = valueAt(root.value, [group]);
  if (servers !== undefined && !isObject(servers)) return refuse("invalid", `${shown}: ${group} is not an object`);
  const entry = servers?.[name];
  if (entry === undefined || isObject(entry)) return ok(entry);
  return refuse("invalid", `${shown}: ${group}.${name} is not an object`);
}

/** Sets the keys of an entry. Its other keys, and every byte outside it, stay. */
export function setJsonEntry(place: JsonPlace, entry: JsonObject): Result<string> {
  const found = readJsonEntry(place);
  if (!found.ok) return found;
  const { shown, path, dialect } = place;
  if (!found.value) return ok(withEntry(place, entry));
  let { text } = place;
  for (const [key, value] of Object.entries(entry)) {
    if (isDeepStrictEqual(found.value[key], value)) continue;
    const root = parse(text, shown, dialect);
    if (!root.ok) return root;
    const old = findNodeAtLocation(root.value, [...path, key]);
    const around = findNodeAtLocation(root.value, [...path]);
    if (old) text = replaceValue(text, old, value);
    else if (around) text = insertProperty(text, around, key, value);
  }
  return ok(text);
}

/** Puts the entry into the group of servers, which is made if it is missing. */
function withEntry({ text, shown, path: [group, name], dialect }: JsonPlace, entry: JsonObject): string {
  const root = parse(text, shown, dialect);
  if (!root.ok) return text;
  const servers = findNodeAtLocation(root.value, [group]);
  return servers
    ? insertProperty(text, servers, name, entry)
    : insertProperty(text, root.value, group, { [name]: entry });
}

/** Removes an entry, and the group if nothing else is in it; undefined when nothing is left of the file. */
export function removeJsonEntry({ text, shown, path: [group, name], dialect }: JsonPlace): Result<string | undefined> {
  let rest = text;
  for (const path of [[group, name], [group]]) {
    const root = parse(rest, shown, dialect);
    if (!root.ok) return root;
    const node = findNodeAtLocation(root.value, path);
    if (!node?.parent) continue;
    if (path.length === 2 || isEmpty(rest, node)) rest = removeProperty(rest, node.parent);
  }
  return ok(isBare(rest) ? undefined : rest);
}

/** True if nothing but a schema is in the file; a comment is something. */
function isBare(text: string): boolean {
  try {
    return Object.keys(JSON.parse(text)).every((key) => key === "$schema");
  } catch {
    return false;
  }
}

/** All settings of a file; undefined when it is invalid. */
export function jsonSettings(text: string): JsonObject | undefined {
  const root = parse(text, "", { comments: true, trailingCommas: true });
  return root.ok ? (valueAt(root.value, []) as JsonObject) : undefined;
}

/** True for an object without properties and comments. */
const isEmpty = (text: string, { offset, length }: Node) => /^\{\s*\}$/.test(text.slice(offset, offset + length));

const valueAt = (root: Node, path: string[]): unknown => {
  const node = findNodeAtLocation(root, path);
  return node && getNodeValue(node);
};

/** The tree of a file that is an object. A byte order mark is white space to the parser's offsets. */
function parse(text: string, shown: string, { comments, trailingCommas }: JsonDialect): Result<Node> {
  const errors: ParseError[] = [];
  const body = text.replace(/^\uFEFF/, " ");
  const root = parseTree(body, errors, { allowTrailingComma: trailingCommas, disallowComments: !comments });
  const [first] = errors;
  if (first || !root) {
    const lines = body.slice(0, first?.offset ?? 0).split("\n");
    const at = `${shown}:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
    const reason = first ? reasonOf(first) : "the file is empty";
    return refuse("invalid", `${at}: ${reason}; correct it by hand, the file was left as it is`);
  }
  return root.type === "object" ? ok(root) : refuse("invalid", `${shown}:1:1: expected a JSON object`);
}

function reasonOf({ error }: ParseError): string {
  const name = printParseErrorCode(error);
  if (name === "InvalidCommentToken") return "this client does not read JSON with comments";
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
