import { type RawBuilder, sql } from "kysely";
import type { Database } from "../../database.ts";

type Engine = Database["engine"];
type Scalar = string | number | boolean;

/** A condition on a property of a node. JSON values are compared: 1 equals neither "1" nor true. */
export type Condition = {
  property: string;
  op: "eq" | "ne" | "gt" | "lt" | "in" | "contains" | "exists";
  value?: Scalar | Scalar[] | undefined;
};

/** The tests on a property that each engine implements. Names and values are always bound as parameters. */
type PropertyTests = {
  exists(name: string): RawBuilder<boolean>;
  equals(name: string, value: Scalar): RawBuilder<boolean>;
  compares(name: string, sign: "<" | ">", value: string | number): RawBuilder<boolean>;
  hasPart(name: string, text: string): RawBuilder<boolean>;
  hasItem(name: string, value: Scalar): RawBuilder<boolean>;
};

export function predicate(engine: Engine, { property, op, value }: Condition): RawBuilder<boolean> {
  const tests = propertyTests[engine];
  switch (op) {
    case "exists":
      return value === false ? not(tests.exists(property)) : tests.exists(property);
    case "in":
      return any((value as Scalar[]).map((one) => tests.equals(property, one)));
    case "eq":
      return tests.equals(property, value as Scalar);
    case "ne":
      return not(tests.equals(property, value as Scalar));
    case "gt":
    case "lt":
      return tests.compares(property, op === "gt" ? ">" : "<", value as string | number);
    case "contains": {
      const item = tests.hasItem(property, value as Scalar);
      return typeof value === "string" ? any([tests.hasPart(property, value), item]) : item;
    }
  }
}

/** The properties that a node must have to meet the conditions. */
export const mustHave = (conditions: Condition[]): string[] =>
  conditions.filter(({ op, value }) => op !== "ne" && !(op === "exists" && value === false)).map((one) => one.property);

/** Longer texts are not in SQLite's index over properties. */
const longestIndexed = 200;

/** A value that SQLite can look up in its index over properties, in the form stored there. */
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

/** SQLite's JSON path to a property; quoting makes it safe for any name. */
const path = (name: string) => `$.${JSON.stringify(name)}`;

/** json_extract returns 1 and 0 for true and false: the JSON type must be compared as well. */
const hasValue = (type: RawBuilder<unknown>, found: RawBuilder<unknown>, value: Scalar) => {
  if (typeof value === "boolean") return sql<boolean>`${type} = ${String(value)}`;
  if (typeof value === "string") return sql<boolean>`(${type} = 'text' AND ${found} = ${value})`;
  return sql<boolean>`(${type} IN ('integer', 'real') AND ${found} = ${value})`;
};

const propertyTests: Record<Engine, PropertyTests> = {
  sqlite: {
    exists: (name) => sql`json_type(nodes.properties, ${path(name)}) IS NOT NULL`,
    equals: (name, value) =>
      hasValue(
        sql`json_type(nodes.properties, ${path(name)})`,
        sql`json_extract(nodes.properties, ${path(name)})`,
        value,
      ),
    compares: (name, sign, value) => {
      const types = typeof value === "number" ? sql`('integer', 'real')` : sql`('text')`;
      return sql`(json_type(nodes.properties, ${path(name)}) IN ${types}
        AND json_extract(nodes.properties, ${path(name)}) ${signs[sign]} ${value})`;
    },
    hasPart: (name, text) => sql`(json_type(nodes.properties, ${path(name)}) = 'text'
      AND instr(json_extract(nodes.properties, ${path(name)}), ${text}) > 0)`,
    hasItem: (name, value) => sql`(json_type(nodes.properties, ${path(name)}) = 'array' AND EXISTS (
      SELECT 1 FROM json_each(nodes.properties, ${path(name)}) item
      WHERE ${hasValue(sql`item.type`, sql`item.atom`, value)}))`,
  },
  postgres: {
    exists: (name) => sql`(nodes.data -> ${name}::text) IS NOT NULL`,
    // @> uses the index but also matches lists and objects that contain more; the second half excludes them.
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
