import type { CompiledQuery } from "kysely";
import type { Query } from "./database.ts";

/** A query of the builder, or a text of `sql`. */
type Compiles<R> = { compile(query: Query): CompiledQuery<R> };

/** PostgreSQL keeps the plan of a statement that has a name. */
export const statementNames = new Map<string, string>();

/**
 * A query that is built once and run often: building costs Kysely more than running costs SQLite.
 * `slot(name)` stands where a value of each call will be.
 */
export function prepared<P extends object, R>(
  build: (query: Query, slot: <K extends keyof P>(name: K) => P[K]) => Compiles<R>,
): (query: Query, values: P) => Promise<R[]> {
  const compiled = new Map<unknown, CompiledQuery<R>>();
  return async (query, values) => {
    const dialect = query.getExecutor().adapter.constructor;
    let found = compiled.get(dialect);
    if (!found) {
      found = build(query, (name) => new Slot(name) as never).compile(query);
      statementNames.set(found.sql, `prepared_${statementNames.size + 1}`);
      compiled.set(dialect, found);
    }
    const parameters = found.parameters.map((part) => (part instanceof Slot ? values[part.name as keyof P] : part));
    return (await query.executeQuery<R>({ ...found, parameters })).rows;
  };
}

class Slot {
  constructor(readonly name: PropertyKey) {}
}
