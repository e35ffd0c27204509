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

export const amongNumbers: Record<Engine, (list: List) => RawBuilder<unknown>> = {
  sqlite: among.sqlite,
  postgres: (list) => sql`= ANY(${list}::bigint[])`,
};
