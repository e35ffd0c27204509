import { type RawBuilder, sql } from "kysely";
import type { Database } from "./database.ts";

type Engine = Database["engine"];

/** A list bound as one parameter: the SQL is the same for any length, so it is built and planned once. */
export type List = string | readonly (string | number)[];

export const listOf: Record<Engine, (values: readonly (string | number)[]) => List> = {
  sqlite: (values) => JSON.stringify(values),
  postgres: (values) => values,
};

/** The condition "is in this list", for texts. */
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
 * Selects the rows whose column equals a value of the list; values must be distinct. On SQLite the query loops
 * over the list: with IN it would first copy the list into a temporary table, which often costs more than the rest.
 */
export const withTexts: Record<Engine, FromWhere> = { sqlite, postgres: postgres("text") };
export const withNumbers: Record<Engine, FromWhere> = { sqlite, postgres: postgres("bigint") };
