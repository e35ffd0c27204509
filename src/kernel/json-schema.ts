import * as z from "zod";
import type { JsonSchema } from "./operation-description.ts";

const schemas = { input: new WeakMap<z.ZodType, JsonSchema>(), output: new WeakMap<z.ZodType, JsonSchema>() };

/** The JSON Schema of an operation's input or output. Computed once: every request and every connection needs it. */
export function jsonSchema(type: z.ZodType, io: "input" | "output" = "input"): Readonly<JsonSchema> {
  const known = schemas[io].get(type);
  if (known) return known;
  const schema = z.toJSONSchema(type, { io, unrepresentable: "any", override: dropSafeIntegerBounds });
  schemas[io].set(type, schema);
  return schema;
}

/** Zod adds the limits of a JavaScript integer to every integer; they tell readers nothing. */
function dropSafeIntegerBounds({ jsonSchema: schema }: { jsonSchema: JsonSchema }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}
