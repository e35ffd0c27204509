import { type RawBuilder, sql } from "kysely";
import * as z from "zod";
import type { Database } from "../store/database.ts";
import { propertyName, type Scalar, scalar } from "./node.ts";

/** One condition on a property. What it compares is JSON: 1 is neither "1" nor true. */
export const condition = z
  .object({
    property: propertyName,
    op: z
      .enum(["eq", "ne", "gt", "lt", "in", "contains", "exists"])
      .describe(
        "ne is also true where the property is missing; gt and lt compare numbers or texts; " +
          "contains looks for a part of a text or an item of a list",
      ),
    value: z
      .union([scalar, z.array(scalar).max(100)])
      .optional()
      .describe("A list for in; false with exists for nodes without the property"),
  })
  .superRefine(({ op, value }, context) => {
    const trouble = troubleWith(op, value);
    if (trouble) context.addIssue({ code: "custom", message: trouble });
  });

export type Condition = z.infer<typeof condition>;

function troubleWith(op: Condition["op"], value: Condition["value"]): string | undefined {
  if (op === "exists")
    return value === undefined || typeof value === "boolean" ? undefined : "exists takes true or false";
  if (op === "in") return Array.isArray(value) ? undefined : "in takes a list of values";
  if (value === undefined || Array.isArray(value)) return `${op} takes one value`;
  if ((op === "gt" || op === "lt") && typeof value === "boolean") return `${op} takes a number or a text`;
  return undefined;
}

/** The SQL of a condition on a node's property. Names and values are always bound parameters. */
type Asking = {
  exists(name: string): RawBuilder<boolean>;
  equals(name: string, value: Scalar): RawBuilder<boolean>;
  compares(name: string, sign: "<" | ">", value: string | number): RawBuilder<boolean>;
  hasPart(name: string, text: string): RawBuilder<boolean>;
  hasItem(name: string, value: Scalar): RawBuilder<boolean>;
};

export function predicate(engine: Database["engine"], { property, op, value }: Condition): RawBuilder<boolean> {
  const ask = asking[engine];
  switch (op) {
    case "exists":
      return value === false ? not(ask.exists(property)) : ask.exists(property);
    case "in":
      return any((value as Scalar[]).map((one) => ask.equals(property, one)));
    case "eq":
      return ask.equals(property, value as Scalar);
    case "ne":
      return not(ask.equals(property, value as Scalar));
    case "gt":
    case "lt":
      return ask.compares(property, op === "gt" ? ">" : "<", value as string | number);
    case "contains": {
      const item = ask.hasItem(property, value as Scalar);
      return typeof value === "string" ? any([ask.hasPart(property, value), item]) : item;
    }
  }
}

/** The properties without which the conditions cannot hold. */
export const mustHave = (conditions: Condition[]): string[] =>
  conditions.filter(({ op, value }) => op !== "ne" && !(op === "exists" && value === false)).map((one) => one.property);

/** As long as a text may be that SQLite's index over properties has. */
const longestIndexed = 200;

/** A value that SQLite's index over properties can start from, as it is kept there. */
export function indexedValue(conditions: Condition[]): { name: string; value: string | number | Buffer } | undefined {
  for (const { property: name, op, value } of conditions) {
    if (op !== "eq" || value === undefined || Array.isArray(value)) continue;
    if (typeof value === "boolean") return { name, value: Buffer.from([value ? 1 : 0]) };
    if (typeof value === "number" || value.length <= longestIndexed) return { name, value };
  }
  return undefined;
}

const not = (condition: RawBuilder<boolean>) => sql<boolean>`NOT coalesce(${condition}, FALSE)`;
const any = (conditions: RawBuilder<boolean>[]) =>
  conditions.length === 0 ? sql<boolean>`FALSE` : sql<boolean>`(${sql.join(conditions, sql` OR `)})`;
const signs = { "<": sql`<`, ">": sql`>` };

/** SQLite's path to a property, whatever its name is made of. */
const path = (name: string) => `$.${JSON.stringify(name)}`;

/** SQLite gives JSON's true and false as 1 and 0, so what a value is has to be asked as well. */
const isOf = (type: RawBuilder<unknown>, found: RawBuilder<unknown>, value: Scalar) => {
  if (typeof value === "boolean") return sql<boolean>`${type} = ${String(value)}`;
  if (typeof value === "string") return sql<boolean>`(${type} = 'text' AND ${found} = ${value})`;
  return sql<boolean>`(${type} IN ('integer', 'real') AND ${found} = ${value})`;
};

const asking: Record<Database["engine"], Asking> = {
  sqlite: {
    exists: (name) => sql`json_type(nodes.properties, ${path(name)}) IS NOT NULL`,
    equals: (name, value) =>
      isOf(sql`json_type(nodes.properties, ${path(name)})`, sql`json_extract(nodes.properties, ${path(name)})`, value),
    compares: (name, sign, value) => {
      const types = typeof value === "number" ? sql`('integer', 'real')` : sql`('text')`;
      return sql`(json_type(nodes.properties, ${path(name)}) IN ${types}
        AND json_extract(nodes.properties, ${path(name)}) ${signs[sign]} ${value})`;
    },
    hasPart: (name, text) => sql`(json_type(nodes.properties, ${path(name)}) = 'text'
      AND instr(json_extract(nodes.properties, ${path(name)}), ${text}) > 0)`,
    hasItem: (name, value) => sql`(json_type(nodes.properties, ${path(name)}) = 'array' AND EXISTS (
      SELECT 1 FROM json_each(nodes.properties, ${path(name)}) item
      WHERE ${isOf(sql`item.type`, sql`item.atom`, value)}))`,
  },
  postgres: {
    exists: (name) => sql`(nodes.data -> ${name}::text) IS NOT NULL`,
    // The first half is what the index answers; it alone would also find lists and objects that hold more.
    equals: (name, value) => sql`(nodes.data @> ${JSON.stringify({ [name]: value })}::jsonb
      AND (nodes.data -> ${name}::text) = ${JSON.stringify(value)}::jsonb)`,
    compares: (name, sign, value) =>
      typeof value === "number"
        ? sql`(jsonb_typeof(nodes.data -> ${name}::text) = 'number'
            AND (nodes.data -> ${name}::text) ${signs[sign]} ${JSON.stringify(value)}::jsonb)`
        : sql`(jsonb_typeof(nodes.data -> ${name}::text) = 'string'
            AND (nodes.data ->> ${name}::text) COLLATE "C" ${signs[sign]} ${value}::text)`,
    hasPart: (name, text) => sql`(jsonb_typeof(nodes.data -> ${name}::text) = 'string'
      AND strpos(nodes.data ->> ${name}::text, ${text}::text) > 0)`,
    hasItem: (name, value) => sql`(jsonb_typeof(nodes.data -> ${name}::text) = 'array'
      AND (nodes.data -> ${name}::text) @> ${JSON.stringify([value])}::jsonb)`,
  },
};
