import * as z from "zod";
import { parseJsonOr } from "../store/json.ts";
import type { StoredEdge } from "../store/queries/edges.ts";
import type { StoredNode, WriteContext } from "../store/queries/nodes.ts";

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type Properties = Record<string, Json>;

export type Node = {
  id: string;
  type: string;
  properties: Properties;
  version: number;
  createdAt: string;
  updatedAt: string;
  createdBy: string;
  written?: WriteContext | undefined;
};

export type Edge = {
  id: string;
  type: string;
  from: string;
  to: string;
  properties: Properties;
  createdAt: string;
  createdBy: string;
  written?: WriteContext | undefined;
};

const mostBytes = 64 * 1024;
const mostProperties = 100;
const longestName = 100;
const deepest = 16;

const unfit = "text must not contain NUL or lone surrogates";
const idRule = "expected 1 to 200 letters, digits or any of _ . : / -";

export const nodeId = z.string().regex(/^[\w.:/-]{1,200}$/, idRule);

/** The id of any node: the path of a source may have characters that own ids must not. */
export const anyNodeId = z
  .string()
  .regex(/^[^>\p{Cc}\p{Surrogate}]{1,260}$/u, "expected the id of a node, on one line");
export const typeName = z.string().regex(/^[\w.:/-]{1,60}$/, "expected 1 to 60 letters, digits or any of _ . : / -");
export const propertyName = z.string().min(1).max(longestName).refine(isText, unfit);

/** A value that properties can be compared with. */
export const scalar = z.union([z.string().max(2000).refine(isText, unfit), z.number(), z.boolean()]);

/** Any JSON object. A schema with known keys would drop `__proto__`, which is a valid property name here. */
export const properties = z
  .custom<Properties>()
  .superRefine((value, context) => {
    const trouble = troubleWith(value);
    if (trouble) context.addIssue({ code: "custom", message: trouble });
  })
  // One property is named because Gemini refuses an object without any.
  .meta({
    type: "object",
    properties: { title: { type: "string", description: "Short name for lists" } },
    additionalProperties: true,
  });

/** The reason why these properties cannot be stored on both engines; undefined when they can. */
export function troubleWith(value: unknown): string | undefined {
  if (!isObject(value)) return "expected an object";
  const names = Object.keys(value);
  if (names.length > mostProperties) return `${names.length} properties; the maximum is ${mostProperties}`;
  const long = names.find((name) => name === "" || name.length > longestName);
  if (long !== undefined) return `expected property names of 1 to ${longestName} characters, not ${long.length}`;
  const trouble = notJson(value, 1);
  if (trouble) return trouble;
  const size = Buffer.byteLength(JSON.stringify(value));
  if (size > mostBytes)
    return `the properties have ${size} bytes; the maximum is ${mostBytes}. Keep long texts in files`;
  return undefined;
}

function notJson(value: unknown, depth: number): string | undefined {
  if (depth > deepest) return `values are nested too deeply; the maximum is ${deepest} levels`;
  if (typeof value === "string") return isText(value) ? undefined : unfit;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${value} is not a JSON number`;
  if (value === null || typeof value === "boolean") return undefined;
  if (Array.isArray(value)) return firstOf(value, (part) => notJson(part, depth + 1));
  if (!isObject(value)) return `a ${typeof value} is not a JSON value`;
  return firstOf(Object.entries(value), ([name, part]) => notJson(name, depth) ?? notJson(part, depth + 1));
}

/** PostgreSQL stores neither NUL nor lone surrogates. */
function isText(text: string): boolean {
  return !text.includes("\0") && !/\p{Surrogate}/u.test(text);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === "object" && !Array.isArray(value);

function firstOf<T>(items: T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found) return found;
  }
  return undefined;
}

/** Merges changes into properties; null removes a property. */
export function merge(properties: Properties, changes: Properties): Properties {
  const merged = new Map([...Object.entries(properties), ...Object.entries(changes)]);
  return Object.fromEntries([...merged].filter(([, value]) => value !== null));
}

/** The title of a node: its `title`, its `name` or the start of its first text. */
export function titleOf({ id, properties }: Pick<Node, "id" | "properties">): string {
  const own = (name: string) => (Object.hasOwn(properties, name) ? properties[name] : undefined);
  for (const candidate of [own("title"), own("name"), ...Object.values(properties)]) {
    const line = typeof candidate === "string" ? oneLine(candidate) : "";
    if (line !== "") return line;
  }
  return id;
}

const oneLine = (text: string) => {
  const line = text
    .slice(0, 1000)
    .replaceAll(/[\s\p{Cc}\p{Surrogate}]+/gu, " ")
    .trim();
  return line.length > 80 ? `${line.slice(0, 79).replace(/\p{Surrogate}$/u, "")}…` : line;
};

/** The searchable text of a node besides its title. */
export const textOf = ({ id, properties }: Pick<Node, "id" | "properties">): string =>
  [id, ...textsIn(properties)].join("\n");

function textsIn(value: Json): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (value === null || typeof value === "boolean") return [];
  return Object.values(value).flatMap(textsIn);
}

export const nodeFrom = (row: StoredNode): Node => ({
  id: row.id,
  type: row.type,
  properties: parseJsonOr(row.properties, {}),
  version: row.version,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  createdBy: row.created_by,
  ...writtenIn(row),
});

export const edgeFrom = (row: StoredEdge): Edge => ({
  id: row.id,
  type: row.type,
  from: row.from_id,
  to: row.to_id,
  properties: parseJsonOr(row.properties, {}),
  createdAt: row.created_at,
  createdBy: row.created_by,
  ...writtenIn(row),
});

/** The agent context of a row; nothing for a person's. */
const writtenIn = ({ role, run, task, epoch, attempt }: WriteContext): { written?: WriteContext } =>
  role === null && run === null && task === null ? {} : { written: { role, run, task, epoch, attempt } };
