import type { CompiledQuery, RawBuilder } from "kysely";
import type { Database, Query } from "./database.ts";

type Engine = Database["engine"];
/** A query of the builder, or a text of `sql`. */
type Compiles<R> = { compile(query: Query): CompiledQuery<R> };
/** Stands where a value of each call will be. */
type SlotOf<P> = <K extends keyof P>(name: K) => P[K];

/** PostgreSQL keeps the plan of a statement that has a name. */
export const statementNames = new Map<string, string>();

/** Where a statement can be run at once: SQLite answers in less time than the builder's pipeline takes. */
export const directly = new WeakMap<Query, (sql: string, parameters: readonly unknown[]) => unknown[]>();

/** A query that is built once and run often: building costs Kysely more than running costs SQLite. */
export function prepared<P extends object, R>(
  build: (query: Query, slot: SlotOf<P>) => Compiles<R>,
): (query: Query, values: P) => Promise<R[]> {
  const compiled = new Map<unknown, CompiledQuery<R>>();
  return async (query, values) => {
    const dialect = query.getExecutor().adapter.constructor;
    let found = compiled.get(dialect);
    if (!found) {
      found = build(query, (name) => new Slot(name) as never).compile(query);
      if (!statementNames.has(found.sql)) statementNames.set(found.sql, `prepared_${statementNames.size + 1}`);
      compiled.set(dialect, found);
    }
    const parameters = found.parameters.map((part) => (part instanceof Slot ? values[part.name as keyof P] : part));
    const run = directly.get(query);
    if (run) return run(found.sql, parameters) as R[];
    return (await query.executeQuery<R>({ ...found, parameters })).rows;
  };
}

/** The same query on either engine, each in its own words. */
export function onEach<P extends object, R>(
  build: (engine: Engine, slot: SlotOf<P>) => RawBuilder<R>,
): Record<Engine, (query: Query, values: P) => Promise<R[]>> {
  return {
    sqlite: prepared<P, R>((_, slot) => build("sqlite", slot)),
    postgres: prepared<P, R>((_, slot) => build("postgres", slot)),
  };
}

/**
 * One statement for many: SQLite, which is near, runs it for each; PostgreSQL, which is not, is sent
 * all of them in one, as a JSON text.
 */
export function forMany<P extends object, R>(ways: {
  sqlite: (slot: SlotOf<P>) => RawBuilder<R>;
  postgres: (list: string) => RawBuilder<R>;
}): (query: Query, engine: Engine, list: P[]) => Promise<R[]> {
  const one = prepared<P, R>((_, slot) => ways.sqlite(slot));
  const all = prepared<{ list: string }, R>((_, slot) => ways.postgres(slot("list")));
  return async (query, engine, list) => {
    if (list.length === 0) return [];
    if (engine === "postgres") return all(query, { list: JSON.stringify(list) });
    const rows: R[] = [];
    for (const values of list) rows.push(...(await one(query, values)));
    return rows;
  };
}

class Slot {
  constructor(readonly name: PropertyKey) {}
}
