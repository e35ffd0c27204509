import * as z from "zod";
import { jsonSchema } from "../../kernel/json-schema.ts";
import type { JsonSchema } from "../../kernel/operation-description.ts";

/** Parameters that hardly any task of a crew needs. A call may still have them. */
const seldom: Partial<Record<string, readonly string[]>> = {
  get_task_context: ["kind"],
  search_entries: ["limit", "section"],
  fetch_entry: ["version"],
  memory_search_nodes: ["limit", "type"],
  // Answers name their lines by `from`.
  read_file: ["numbers"],
  // `glob` selects folders too, and a refused pattern names `literal`.
  search_files: ["under", "literal"],
  // `["env", "NAME=value", …]` sets variables, `["timeout", "10", …]` ends earlier, read_output has the lines that were cut.
  run_command: ["env", "seconds", "head", "tail"],
};

const brief = new WeakMap<z.ZodType, z.ZodType>();

/**
 * The input of a tool as its agent is shown it, in every call to the model: without parameters that are seldom needed,
 * without limits, which the refusal of a call names, without empty defaults, which say no more than that a field is
 * optional, and without the claim, which the session carries. The call itself is checked against the whole schema.
 */
export function briefInput({ name, input }: { name: string; input: z.ZodType }): z.ZodType {
  const known = brief.get(input);
  if (known) return known;
  const { $schema: _dialect, ...schema } = jsonSchema(input);
  const hidden = new Set([...claimFields, ...(seldom[name] ?? [])]);
  const made = z.object({}).meta(withoutLimits(schema, hidden) as Record<string, unknown>);
  brief.set(input, made);
  return made;
}

const claimFields = ["task", "epoch", "secret"];
const limits = new Set([
  ...["minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ...["minItems", "maxItems", "propertyNames"],
]);

function withoutLimits(schema: JsonSchema, hidden: ReadonlySet<string> = new Set()): JsonSchema {
  const kept = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (limits.has(key) || (key === "default" && isEmpty(value))) return [];
    if (key === "properties") return [[key, propertiesOf(value as Record<string, JsonSchema>, hidden)]];
    if (isSchema(value)) return [[key, withoutLimits(value)]];
    return [[key, Array.isArray(value) ? value.map((one) => (isSchema(one) ? withoutLimits(one) : one)) : value]];
  });
  return Object.fromEntries(kept) as JsonSchema;
}

/** Names of properties are not keywords, whatever they are called. */
const propertiesOf = (properties: Record<string, JsonSchema>, hidden: ReadonlySet<string>) =>
  Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => !hidden.has(name))
      .map(([name, schema]) => [name, withoutLimits(schema)]),
  );

const isSchema = (value: unknown): value is JsonSchema =>
  value !== null && typeof value === "object" && !Array.isArray(value);

const isEmpty = (value: unknown) =>
  value === false || value === "" || value === 0 || (Array.isArray(value) && value.length === 0);
