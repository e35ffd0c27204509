import { type RawBuilder, sql } from "kysely";
import type { Database } from "../store/database.ts";

type Engine = Database["engine"];

/** A condition that holds for what is in the list, however long it is: one value for the engine, one plan. */
export const amongTexts = (engine: Engine, values: string[]): RawBuilder<unknown> =>
  engine === "sqlite"
    ? sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`
    : sql`= ANY(${values}::text[])`;

export const amongNumbers = (engine: Engine, values: number[]): RawBuilder<unknown> =>
  engine === "sqlite"
    ? sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`
    : sql`= ANY(${values}::bigint[])`;

export function* portions<T>(items: T[], size: number): Generator<T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
