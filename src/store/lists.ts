import { type RawBuilder, sql } from "kysely";
import type { Database } from "./database.ts";

type Engine = Database["engine"];

/** Many values as one: however many there are, the text of a query is the same, and is built and planned once. */
export type List = string | readonly (string | number)[];

export const listOf: Record<Engine, (values: readonly (string | number)[]) => List> = {
  sqlite: (values) => JSON.stringify(values),
  postgres: (values) => values,
};

/** A condition that holds for the texts of a list. */
export const among: Record<Engine, (list: List) => RawBuilder<unknown>> = {
  sqlite: (list) => sql`IN (SELECT value FROM json_each(${list}))`,
  postgres: (list) => sql`= ANY(${list}::text[])`,
};

type FromWhere = (table: string, column: string, list: List) => RawBuilder<unknown>;

const sqlite: FromWhere = (table, column, list) =>
  sql`FROM (SELECT value FROM json_each(${list})) AS listed CROSS JOIN ${sql.raw(`${table} WHERE ${column}`)} = listed.value`;
const postgres =
  (type: string): FromWhere =>
  (table, column, list) =>
    sql`FROM ${sql.raw(`${table} WHERE ${column}`)} = ANY(${list}::${sql.raw(type)}[])`;

/**
 * From a table those rows with a text or a number of the list, which has each once. SQLite goes from the list to
 * the table: to be asked what is in a list it would copy that into a table, which often takes longer than all else.
 */
export const withTexts: Record<Engine, FromWhere> = { sqlite, postgres: postgres("text") };
export const withNumbers: Record<Engine, FromWhere> = { sqlite, postgres: postgres("bigint") };
