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
/** A file's text, its name in messages, and the keys that lead to an entry: the servers and the server. */
export type JsonPlace = { text: string; shown: string; path: readonly [string, string] };

/** The entry, or undefined when there is none. Comments and trailing commas are allowed, as clients allow them. */
export function readJsonEntry({ text, shown, path: [group, name] }: JsonPlace): Result<JsonObject | undefined> {
  if (text.trim() === "") return ok(undefined);
  const root = parse(text, shown);
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
  const { shown, path } = place;
  if (!found.value) return ok(withEntry(place, entry));
  let { text } = place;
  for (const [key, value] of Object.entries(entry)) {
    if (isDeepStrictEqual(found.value[key], value)) continue;
    const root = parse(text, shown);
    if (!root.ok) return root;
    const old = findNodeAtLocation(root.value, [...path, key]);
    const around = findNodeAtLocation(root.value, [...path]);
    if (old) text = replaceValue(text, old, value);
    else if (around) text = insertProperty(text, around, key, value);
  }
  return ok(text);
}

/** Puts the entry into the group of servers, which is made if it is missing. */
function withEntry({ text, shown, path: [group, name] }: JsonPlace, entry: JsonObject): string {
  const root = parse(text, shown);
  if (!root.ok) return text;
  const servers = findNodeAtLocation(root.value, [group]);
  return servers
    ? insertProperty(text, servers, name, entry)
    : insertProperty(text, root.value, group, { [name]: entry });
}

/** Removes an entry, and the group if nothing else is in it; undefined when nothing is left of the file. */
export function removeJsonEntry({ text, shown, path: [group, name] }: JsonPlace): Result<string | undefined> {
  let rest = text;
  for (const path of [[group, name], [group]]) {
    const root = parse(rest, shown);
    if (!root.ok) return root;
    const node = findNodeAtLocation(root.value, path);
    if (!node?.parent) continue;
    if (path.length === 2 || isEmpty(rest, node)) rest = removeProperty(rest, node.parent);
  }
  const left = parse(rest, shown);
  if (!left.ok) return left;
  const keys = Object.keys(valueAt(left.value, []) as JsonObject);
  const isBare = keys.length === 0 ? isEmpty(rest, left.value) : keys.every((key) => key === "$schema");
  return ok(isBare ? undefined : rest);
}

/** All settings of a file; undefined when it is invalid. */
export function jsonSettings(text: string): JsonObject | undefined {
  const root = parse(text, "");
  return root.ok ? (valueAt(root.value, []) as JsonObject) : undefined;
}

/** True for an object without properties and comments. */
const isEmpty = (text: string, { offset, length }: Node) => /^\{\s*\}$/.test(text.slice(offset, offset + length));

const valueAt = (root: Node, path: string[]): unknown => {
  const node = findNodeAtLocation(root, path);
  return node && getNodeValue(node);
};

/** The tree of a file that is an object. A byte order mark is white space to the parser's offsets. */
function parse(text: string, shown: string): Result<Node> {
  const errors: ParseError[] = [];
  const body = text.replace(/^\uFEFF/, " ");
  const root = parseTree(body, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first || !root) {
    const lines = body.slice(0, first?.offset ?? 0).split("\n");
    const at = `${shown}:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
    const reason = first ? spaced(printParseErrorCode(first.error)) : "the file is empty";
    return refuse("invalid", `${at}: ${reason}; correct it by hand, the file was left as it is`);
  }
  return root.type === "object" ? ok(root) : refuse("invalid", `${shown}:1:1: expected a JSON object`);
}

const spaced = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
