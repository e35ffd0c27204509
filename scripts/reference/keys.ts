import { configFile, userFile } from "../../src/config/config.ts";
import { keyTrust } from "../../src/config/trust/keys.ts";
import { jsonSchema } from "../../src/kernel/json-schema.ts";
import type { JsonSchema } from "../../src/kernel/operation-description.ts";
import { schemaFile } from "../../src/wiki/schema.ts";
import { code, page, sentence, table } from "./markdown.ts";
import { typeOf } from "./types.ts";

export const configurationPage = () =>
  page(
    "scriptorium.yaml",
    "The configuration of a workspace, at its root. Every key is optional, except `author_name` and `author_email` in an `agent` block. Unknown keys are errors, reported with line and column. [Environment variables](environment.md) override some keys.",
    "Keys marked † run a program, send data or weaken a protection. They take effect after [`scriptorium allow`](../guides/trust.md), unless they are in your own file.",
    ...groups(jsonSchema(configFile)),
    "## Your own file",
    "`scriptorium/config.yaml` in `XDG_CONFIG_HOME` or `~/.config` has settings for all workspaces. They override those of `scriptorium.yaml` and need no confirmation.",
    keyTable(keysOf(jsonSchema(userFile)).filter(({ path }) => !path.includes("."))),
  );

export const schemaPage = () =>
  page(
    "schema.yaml",
    "The contract of a wiki: `wiki/schema.yaml`. Unknown keys, YAML aliases and tags are errors, reported with line and column. [Write schema.yaml](../guides/schema.md) explains how to choose sections, roles and the pipeline.",
    keyTable(keysOf(jsonSchema(schemaFile))),
  );

export type Key = { path: string; schema: JsonSchema; required: boolean };

/** One table for the plain keys, then one for each block. */
function groups(schema: JsonSchema): string[] {
  const keys = keysOf(schema);
  const blocks = [
    ...new Set(keys.filter(({ path }) => /[.[]/.test(path)).map(({ path }) => path.split(/[.[]/, 1)[0] ?? "")),
  ];
  const isIn = (block: string) => (key: Key) =>
    key.path === block || (/^[.[]/.test(key.path.slice(block.length)) && key.path.startsWith(block));
  return [
    keyTable(keys.filter(({ path }) => !blocks.some((block) => isIn(block)({ path } as Key)))),
    ...blocks.flatMap((block) => {
      const [head, ...rest] = keys.filter(isIn(block));
      return [`## ${block}`, sentence(head?.schema.description ?? ""), keyTable(rest)];
    }),
  ];
}

const keyTable = (keys: Key[]) =>
  table(
    ["key", "type", "default", "meaning"],
    keys.map(({ path, schema, required }) => [
      `${code(path)}${isSensitive(path) ? " †" : ""}`,
      limits(schema),
      required
        ? "required"
        : schema.default === undefined || isEmpty(schema.default)
          ? ""
          : code(JSON.stringify(schema.default)),
      sentence(schema.description ?? ""),
    ]),
  );

const isSensitive = (path: string) => (keyTrust[path] ?? "plain") !== "plain";

const isEmpty = (value: unknown) => typeof value === "object" && value !== null;

/** Every key of an object schema, depth first; `<name>` stands for a key that the user chooses, `[]` for a list. */
export function keysOf(schema: JsonSchema, at = ""): Key[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, value]) => {
    const field = value as JsonSchema;
    const path = at === "" ? name : `${at}.${name}`;
    return [{ path, schema: field, required: isRequired(schema, name, field) }, ...keysOf(field, path)];
  });
  const { additionalProperties: named, items } = schema;
  const below = typeof named === "object" ? keysOf(named as JsonSchema, `${at}.<name>`) : [];
  const listed = typeof items === "object" && !Array.isArray(items) ? keysOf(items as JsonSchema, `${at}[]`) : [];
  return [...own, ...below, ...listed];
}

const isRequired = (parent: JsonSchema, name: string, field: JsonSchema) =>
  (parent.required?.includes(name) ?? false) && field.default === undefined;

/** The type with its bounds; of an object that is spelled out below, only that it is one. */
function limits(schema: JsonSchema): string {
  if (schema.type === "object") return "map";
  if (schema.type === "array" && keysOf(schema).length > 0) return "list";
  const type = schema.enum ? schema.enum.map((value) => code(String(value))).join(", ") : code(typeOf(schema));
  const { minimum, maximum } = schema;
  const isBound = (value: number | undefined) => value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER;
  if (isBound(minimum) && isBound(maximum)) return `${type}, ${minimum} to ${maximum}`;
  return isBound(minimum) ? `${type}, at least ${minimum}` : type;
}
