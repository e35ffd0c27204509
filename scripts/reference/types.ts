import type { JsonSchema } from "../../src/kernel/operation-description.ts";

type Schema = JsonSchema | boolean;

/** A JSON Schema as a TypeScript-like type on one line. */
export function typeOf(schema: Schema): string {
  if (typeof schema === "boolean") return "any";
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return [...new Set(options.map(typeOf))].join(" | ");
  if (schema.type === "array") return listOf(typeOf(itemOf(schema)));
  if (schema.type === "object") return objectType(schema);
  return typeof schema.type === "string" ? schema.type : "any";
}

const itemOf = ({ items }: JsonSchema): Schema =>
  items === undefined || Array.isArray(items) ? {} : (items as Schema);

const listOf = (item: string) => (/[ |]/.test(item) && !item.startsWith("{") ? `(${item})[]` : `${item}[]`);

function objectType(schema: JsonSchema): string {
  const fields = Object.entries(schema.properties ?? {}).map(
    ([name, field]) => `${name}${schema.required?.includes(name) ? "" : "?"}: ${typeOf(field as Schema)}`,
  );
  const rest = schema.additionalProperties;
  if (fields.length === 0 && typeof rest === "object") return `{ [name]: ${typeOf(rest as Schema)} }`;
  return fields.length === 0 ? "object" : `{ ${fields.join(", ")} }`;
}

/** The same over several lines, for objects too long for one. */
export function blockOf(schema: Schema, indent = ""): string {
  const line = typeOf(schema);
  if (line.length + indent.length <= 96 || typeof schema === "boolean") return line;
  const options = schema.anyOf ?? schema.oneOf;
  if (options)
    return options
      .map((option) => `${indent}| ${blockOf(option as Schema, `${indent}  `)}`)
      .join("\n")
      .trimStart();
  if (schema.type === "array") return `${blockOf(itemOf(schema), indent)}[]`;
  if (schema.type !== "object" || !schema.properties) return line;
  const fields = Object.entries(schema.properties).map(
    ([name, field]) =>
      `${indent}  ${name}${schema.required?.includes(name) ? "" : "?"}: ${blockOf(field as Schema, `${indent}  `)}`,
  );
  return `{\n${fields.join("\n")}\n${indent}}`;
}
