type Schema = Record<string, unknown>;
export type Tool = { name: string; description: string; schema: Schema };
type Place = { schema: Schema; at: string; isRoot: boolean };

/** A published rule: its source, and what it says about one schema of a tool, at any depth. */
type Rule = { says: string; source: string; breaks(place: Place): boolean };
type Provider = { name: string; tool?(tool: Tool): string[]; rules: Rule[] };

const isObject = (value: unknown): value is Schema => typeof value === "object" && value !== null;
const isArrayOf = (value: unknown, type: string) => Array.isArray(value) && value.every((one) => typeof one === type);
const keywords = (...allowed: string[]) => {
  const known = new Set(allowed);
  return ({ schema }: Place) => Object.keys(schema).some((keyword) => !known.has(keyword));
};
const combinators = ["anyOf", "oneOf", "allOf", "not", "if", "then", "else"];
const hasType = (schema: Schema, type: string) => schema.type === type;
const pattern = ({ schema }: Place) => (typeof schema.pattern === "string" ? schema.pattern : "");

/** What the documentation of each provider, and the answers of its servers, say about the schemas of tools. */
export const providers: Provider[] = [
  {
    name: "OpenAI, function tools",
    tool: ({ name, description }) => [
      // platform.openai.com/docs/api-reference/chat/create, tools.function.name
      ...(/^[\w-]{1,64}$/.test(name) ? [] : ["a name is at most 64 of a-z, A-Z, 0-9, _ and -"]),
      // learn.microsoft.com, Azure OpenAI function calling: descriptions are limited to 1,024 characters
      ...(description.length <= 1024 ? [] : [`a description has at most 1,024 characters, not ${description.length}`]),
    ],
    rules: [
      {
        says: "the parameters are an object with properties, without a combinator at the top",
        source: "platform.openai.com/docs/guides/structured-outputs: root objects must not be anyOf",
        breaks: ({ schema, isRoot }) =>
          isRoot &&
          (!hasType(schema, "object") || !isObject(schema.properties) || combinators.some((c) => c in schema)),
      },
      {
        says: "an array has items",
        source: "its answer: array schema missing items",
        breaks: ({ schema }) => hasType(schema, "array") && !isObject(schema.items),
      },
      {
        says: "a pattern is a regular expression of Python, which has no \\p{…}, \\u{…}, \\k<…> and (?<name>…)",
        source: "github.com/langfuse/langfuse/issues/14770, its answer: is not a 'regex'",
        breaks: (place) => /\\[pPk]|\\u\{|\\c|\(\?<[^=!]/.test(pattern(place)),
      },
    ],
  },
  {
    name: "OpenAI, strict mode",
    rules: [
      {
        says: "only these keywords; the client adds required and additionalProperties: false",
        source:
          "platform.openai.com/docs/guides/structured-outputs#supported-schemas; github.com/openai/openai-node/pull/1988 for default, minLength, maxLength",
        breaks: keywords(
          ...["type", "properties", "required", "items", "enum", "const", "anyOf", "$ref", "$defs", "description"],
          ...["title", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
          ...["minItems", "maxItems"],
        ),
      },
      {
        says: "format is one of nine",
        source: "platform.openai.com/docs/guides/structured-outputs#supported-schemas",
        breaks: ({ schema }) =>
          schema.format !== undefined &&
          !["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"].includes(
            String(schema.format),
          ),
      },
      {
        says: "a pattern has no lookaround",
        source: "platform.openai.com/docs/guides/structured-outputs#supported-schemas",
        breaks: (place) => /\(\?<?[=!]/.test(pattern(place)),
      },
      {
        says: "at most 10 levels",
        source: "platform.openai.com/docs/guides/structured-outputs, limits on nesting depth",
        breaks: ({ at }) => at.split(".").filter((part) => part !== "items").length > 10,
      },
    ],
  },
  {
    name: "Anthropic",
    tool: ({ name }) =>
      // platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools; Claude Code adds mcp__scriptorium__
      /^[\w-]{1,46}$/.test(name) ? [] : ["a name has at most 64 characters with mcp__scriptorium__ before it"],
    rules: [
      {
        says: "the input is an object without anyOf, oneOf and allOf at the top",
        source: "github.com/anthropics/claude-code/issues/40075, its answer",
        breaks: ({ schema, isRoot }) =>
          isRoot && (!hasType(schema, "object") || ["anyOf", "oneOf", "allOf"].some((c) => c in schema)),
      },
      {
        says: "names of properties are at most 64 of a-z, A-Z, 0-9, _, . and -",
        source: "github.com/freee/freee-mcp/issues/15, its answer",
        breaks: ({ schema }) => Object.keys(schema.properties ?? {}).some((name) => !/^[\w.-]{1,64}$/.test(name)),
      },
      {
        says: "no maxItems, and minItems only of 0 and 1",
        source: "platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations",
        breaks: ({ schema }) => "maxItems" in schema || Number(schema.minItems ?? 0) > 1,
      },
      {
        says: "no recursion, no back references, lookarounds and word boundaries in patterns",
        source: "platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations",
        breaks: (place) => "$ref" in place.schema || /\\[1-9bB]|\(\?<?[=!]/.test(pattern(place)),
      },
    ],
  },
  {
    name: "Gemini",
    tool: ({ name }) =>
      // ai.google.dev/api/caching#FunctionDeclaration
      /^[A-Za-z_][\w.-]{0,63}$/.test(name) ? [] : ["a name starts with a letter and has at most 64 characters"],
    rules: [
      {
        says: "only the fields of Schema",
        source:
          "ai.google.dev/api/caching#Schema; github.com/promptfoo/promptfoo/issues/6902 for additionalProperties, github.com/mpfaffenberger/code_puppy/pull/923 for propertyNames",
        breaks: keywords(
          ...["type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties"],
          ...["required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf"],
          ...["propertyOrdering", "default", "items", "minimum", "maximum"],
        ),
      },
      {
        says: "type is one name",
        source: "github.com/Kilo-Org/kilocode/issues/11950: arrays of types are refused",
        breaks: ({ schema }) => !("anyOf" in schema) && typeof schema.type !== "string",
      },
      {
        says: "an enum has strings and the type string",
        source: "ai.google.dev/api/caching#Schema: possible values of an element of Type.STRING",
        breaks: ({ schema }) =>
          schema.enum !== undefined && !(hasType(schema, "string") && isArrayOf(schema.enum, "string")),
      },
      {
        says: "an object inside the parameters has properties",
        source: "github.com/browser-use/browser-use/issues/3786, its answer: should be non-empty for OBJECT type",
        breaks: ({ schema, isRoot }) =>
          !isRoot && hasType(schema, "object") && Object.keys(schema.properties ?? {}).length === 0,
      },
      {
        says: "every name in required is in properties",
        source: "github.com/Kilo-Org/kilocode/issues/11950, its answer: property is not defined",
        breaks: ({ schema }) =>
          ((schema.required as string[]) ?? []).some(
            (name) => !Object.hasOwn((schema.properties as Schema) ?? {}, name),
          ),
      },
      {
        says: "items is one schema",
        source: "ai.google.dev/api/caching#Schema: there are no tuples",
        breaks: ({ schema }) => "prefixItems" in schema || Array.isArray(schema.items),
      },
      {
        says: "format is known",
        source: "ai.google.dev/api/caching#Schema: float, double, int32, int64, enum, date-time",
        breaks: ({ schema }) =>
          schema.format !== undefined &&
          !["float", "double", "int32", "int64", "enum", "date-time"].includes(String(schema.format)),
      },
    ],
  },
  {
    // The six CLIs pass schemas on to these providers. Two of them also read schemas themselves.
    name: "Codex and Gemini CLI",
    rules: [
      {
        says: "a type on everything that is not a union, which Codex otherwise replaces by string",
        source: "github.com/openai/codex, codex-rs/tools: sanitize_json_schema",
        breaks: ({ schema }) => !("anyOf" in schema) && schema.type === undefined,
      },
      {
        says: "no references, which Gemini CLI cannot resolve in tools",
        source: "github.com/google-gemini/gemini-cli/issues/13326",
        breaks: ({ schema }) => "$ref" in schema || "$defs" in schema,
      },
    ],
  },
];

/** Everything that a provider would refuse about a tool, one line each. */
export const refusals = (tool: Tool): string[] =>
  providers.flatMap(({ name, tool: ofTool, rules }) => [
    ...(ofTool?.(tool) ?? []).map((why) => `${name}: ${tool.name}: ${why}`),
    ...placesIn(tool.schema).flatMap((place) =>
      rules.filter((rule) => rule.breaks(place)).map(({ says }) => `${name}: ${tool.name}${place.at}: ${says}`),
    ),
  ]);

/** A schema and all schemas inside it. */
export function placesIn(schema: Schema, at = ""): Place[] {
  const properties = Object.entries((schema.properties as Schema) ?? {});
  const below: [string, unknown][] = [
    ...properties.map(([name, inner]): [string, unknown] => [`${at}.${name}`, inner]),
    ...(schema.items === undefined ? [] : [[`${at}.items`, schema.items] as [string, unknown]]),
    ...((schema.anyOf as unknown[]) ?? []).map((inner, i): [string, unknown] => [`${at}.${i}`, inner]),
  ];
  const inner = below.flatMap(([where, one]) => (isObject(one) ? placesIn(one, where) : []));
  return [{ schema, at, isRoot: at === "" }, ...inner];
}
