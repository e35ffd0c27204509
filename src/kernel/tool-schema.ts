import type { JsonSchema } from "./operation-description.ts";

type Rule = (schema: JsonSchema) => void;

const drop =
  (...keywords: string[]): Rule =>
  (schema) => {
    for (const keyword of keywords) delete schema[keyword];
  };

/** Unicode classes, lookarounds, named groups, back references, word boundaries and escapes that not all engines have. */
const isPortable = (pattern: string) => !/\\[pPkbBucx1-9]|\(\?(?!:)/.test(pattern);

/**
 * The keywords that some provider answers with 400, which fails every call of an agent and not just calls of the tool.
 * Dropping them is safe: the operation itself checks the input.
 */
const rules: Rule[] = [
  // Gemini: "Unknown name "$schema"". Copies of one dialect per tool would cost tokens anyway.
  drop("$schema"),
  // Gemini: "Unknown name "additionalProperties"" and "propertyNames". OpenAI in strict mode takes only false.
  drop("additionalProperties", "propertyNames"),
  // OpenAI in strict mode.
  drop("minLength", "maxLength"),
  // Anthropic in strict mode.
  drop("maxItems"),
  // OpenAI in strict mode; a default that does something stays in the description.
  (schema) => {
    const { default: value, description } = schema;
    const isNothing = value === undefined || value === false || value === 0 || String(value) === "";
    if (!isNothing) schema.description = `${description ? `${description}. ` : ""}Default: ${JSON.stringify(value)}`;
    delete schema.default;
  },
  // OpenAI and Vertex: "is not a 'regex'" for \p{…}; OpenAI in strict mode for lookarounds.
  (schema) => {
    if (schema.pattern !== undefined && !isPortable(schema.pattern)) delete schema.pattern;
  },
  // Gemini knows no const, and enum only of strings.
  (schema) => {
    if (typeof schema.const === "string") schema.enum = [schema.const];
    delete schema.const;
  },
];

/** The input of an operation as a tool of a model: a JSON Schema that every provider accepts, with all descriptions. */
export function toolSchema(schema: Readonly<JsonSchema>): JsonSchema {
  const copy: JsonSchema = { ...schema };
  for (const apply of rules) apply(copy);
  if (copy.properties) copy.properties = mapValues(copy.properties, inner);
  if (copy.items !== undefined && !Array.isArray(copy.items)) copy.items = inner(copy.items);
  if (copy.anyOf) copy.anyOf = copy.anyOf.map(toolSchema);
  return copy;
}

const inner = (schema: JsonSchema | boolean) => (typeof schema === "boolean" ? schema : toolSchema(schema));

const mapValues = <T, U>(values: Record<string, T>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
