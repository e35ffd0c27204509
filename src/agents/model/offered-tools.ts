import { jsonSchema } from "../../kernel/json-schema.ts";
import type { Operation } from "../../kernel/operation.ts";
import { type Field, fieldsOf, type JsonSchema } from "../../kernel/operation-description.ts";
import { toolSchema } from "../../kernel/tool-schema.ts";
import type { Toolset } from "../runner.ts";

/** The tool that calls the rare tools of a toolset. */
export const useTool = "use_tool";

export type OfferedTool = { name: string; description: string; schema: JsonSchema };

/**
 * The tools of a request to a model. Each request repeats all of them, so a rare tool is one line in the description
 * of `use_tool`: its name, its parameters and a few words.
 */
export function offeredTools({ operations, rare }: Pick<Toolset, "operations" | "rare">): OfferedTool[] {
  const others = operations.filter(({ name }) => rare?.has(name));
  const listed = operations.filter(({ name }) => !rare?.has(name)).map(offered);
  if (!rare || others.length === 0) return listed;
  return [...listed, forOthers(others.map((one) => `${signature(one)}: ${rare.get(one.name)}`))];
}

const offered = ({ name, summary, guidance, input }: Operation): OfferedTool => ({
  name,
  description: guidance ? `${summary} ${guidance}` : summary,
  schema: toolSchema(jsonSchema(input)),
});

const forOthers = (lines: readonly string[]): OfferedTool => ({
  name: useTool,
  description: `Use another tool; without \`input\` it is described. Tools:\n${lines.join("\n")}`,
  schema: {
    type: "object",
    properties: {
      tool: { type: "string" },
      // Text, because Gemini takes no object without properties inside the parameters.
      input: { type: "string", description: "JSON object; or plain text for the first parameter" },
    },
    required: ["tool"],
  },
});

const signature = ({ name, input }: Operation) => `${name}(${fieldsOf(jsonSchema(input)).map(parameter).join(", ")})`;

const parameter = ({ name, schema, required }: Field) =>
  `${name}${required ? "" : "?"}${schema.type === "array" ? `: ${listOf(schema)}` : ""}`;

/** Such as `[]`, or `[{text, status: doing|done}]`. */
function listOf({ items }: JsonSchema): string {
  const fields = items && !Array.isArray(items) && items !== true ? fieldsOf(items as JsonSchema) : [];
  const inner = fields.map(({ name, schema }) => (schema.enum ? `${name}: ${schema.enum.join("|")}` : name));
  return inner.length === 0 ? "[]" : `[{${inner.join(", ")}}]`;
}

/** The call that a model asked for, or the answer that it gets instead. */
export type Resolved = { name: string; input: unknown } | { answer: unknown };

/** Unpacks a call of `use_tool`. Models also call rare tools by their names, and put parameters beside `tool`. */
export function resolvedCall({ operations, rare }: Toolset, name: string, raw: unknown): Resolved {
  if (name !== useTool || !rare || rare.size === 0) return { name, input: raw };
  const { tool, input, ...beside } = (isObject(raw) ? raw : {}) as Record<string, unknown>;
  const operation = operations.find((one) => one.name === tool);
  if (typeof tool !== "string" || tool === "")
    return { answer: { status: "invalid", error: `tool: missing; expected one of ${[...rare.keys()].join(", ")}` } };
  if (!operation) return { name: tool, input: input ?? beside };
  const fields = fieldsOf(jsonSchema(operation.input));
  const isEmpty = input === undefined || input === null || input === "";
  if (isEmpty && Object.keys(beside).length === 0 && fields.length > 0) {
    const { schema, ...about } = offered(operation);
    return { answer: { ...about, parameters: schema } };
  }
  if (isEmpty) return { name: tool, input: beside };
  if (typeof input !== "string") return { name: tool, input };
  const [first] = [...fields].sort((a, b) => Number(b.required) - Number(a.required));
  if (!first || input.trimStart().startsWith("{")) return fromJson(tool, input);
  return { name: tool, input: { [first.name]: input } };
}

function fromJson(name: string, text: string): Resolved {
  try {
    return { name, input: JSON.parse(text) };
  } catch (error) {
    return { answer: { status: "invalid", error: `input: ${(error as Error).message}; send a JSON object as text` } };
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
