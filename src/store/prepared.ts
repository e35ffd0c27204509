import { type CompiledQuery, type RawBuilder, sql } from "kysely";
import type { Database, Query } from "./database.ts";

type Engine = Database["engine"];
/** A query of the builder, or a text of `sql`. */
type Compiles<R> = { compile(query: Query): CompiledQuery<R> };
/** Stands where a value of each call will be. */
export type SlotOf<P> = <K extends keyof P>(name: K) => P[K];

/** PostgreSQL keeps the plan of a statement that has a name. */
export const statementNames = new Map<string, string>();

/** A connection that can be asked at once: SQLite answers in less time than the builder's pipeline takes. */
type Direct = {
  rows(sql: string, parameters: unknown[]): unknown[];
  /** Once with each, and how many rows each has changed. */
  changes(sql: string, each: unknown[][]): number[];
};
export const directConnections = new WeakMap<Query, Direct>();

/** A query that is built once and run often: building costs Kysely more than running costs SQLite. */
export function prepared<P extends object, R>(
  build: (query: Query, slot: SlotOf<P>) => Compiles<R>,
): (query: Query, values: P) => Promise<R[]> {
  const compiled = compiledOnce(build);
  return async (query, values) => {
    const { text, bind } = compiled(query);
    const direct = directConnections.get(query);
    if (direct) return direct.rows(text.sql, bind(values)) as R[];
    return (await query.executeQuery<R>({ ...text, parameters: bind(values) })).rows;
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

/** For queries that come in a few shapes: each is made when it is first asked for. */
export function eachOnce<K extends string | number, V>(make: (shape: K) => V): (shape: K) => V {
  const made = new Map<K, V>();
  return (shape) => {
    const known = made.get(shape) ?? make(shape);
    made.set(shape, known);
    return known;
  };
}

/** Stands where something of each item will be. */
type PartOf<P> = <V>(read: (item: P) => V) => V;

/** For SQLite, which is near: a statement once with each of many, and how many rows each has changed. */
export function withEach<P extends object>(
  build: (part: PartOf<P>) => RawBuilder<unknown>,
): (query: Query, list: P[]) => number[] {
  const compiled = compiledOnce<P, unknown>(() => build((read) => new Slot(read as never) as never));
  return (query, list) => {
    const direct = directConnections.get(query);
    if (!direct) throw new Error("only a connection that is near is asked once with each");
    const { text, bind } = compiled(query);
    return direct.changes(text.sql, list.map(bind));
  };
}

/** What a column of a list is to PostgreSQL. */
export type Columns<P> = Record<keyof P & string, "bigint" | "int" | "text">;

/** For PostgreSQL, which is far: all of the list in one statement, `given` with a row for each. */
export function withAll<P extends object, R>(
  columns: Columns<P>,
  build: (given: RawBuilder<unknown>) => RawBuilder<R>,
): (query: Query, list: P[]) => Promise<R[]> {
  const one = prepared<Lists<P>, R>((_, slot) => build(givenBy(columns, slot)));
  return (query, list) => one(query, inColumns(columns, list));
}

/** Each column of a list by itself: PostgreSQL reads arrays in a quarter of the time it takes for JSON. */
export type Lists<P> = { [K in keyof P]: P[K][] };

export function inColumns<P extends object>(columns: Columns<P>, list: P[]): Lists<P> {
  const lists = {} as Lists<P>;
  for (const name of Object.keys(columns) as (keyof P & string)[]) lists[name] = list.map((item) => item[name]);
  return lists;
}

/** Such a list as a table. */
export function givenBy<P extends object>(columns: Columns<P>, slot: SlotOf<Lists<P>>): RawBuilder<unknown> {
  const names = Object.keys(columns) as (keyof P & string)[];
  const lists = names.map((name) => sql`${slot(name)}::${sql.raw(columns[name])}[]`);
  return sql`unnest(${sql.join(lists)}) AS given (${sql.raw(names.join(", "))})`;
}

type Compiled<P, R> = { text: CompiledQuery<R>; bind(values: P): unknown[] };

function compiledOnce<P extends object, R>(
  build: (query: Query, slot: SlotOf<P>) => Compiles<R>,
): (query: Query) => Compiled<P, R> {
  const known = new Map<unknown, Compiled<P, R>>();
  return (query) => {
    const dialect = query.getExecutor().adapter.constructor;
    const found = known.get(dialect);
    if (found) return found;
    const text = build(query, (name) => new Slot((values: P) => values[name]) as never).compile(query);
    if (!statementNames.has(text.sql)) statementNames.set(text.sql, `prepared_${statementNames.size + 1}`);
    const bind = (values: P) =>
      text.parameters.map((part) => (part instanceof Slot ? part.read(values as never) : part));
    const fresh = { text, bind };
    known.set(dialect, fresh);
    return fresh;
  };
}

class Slot {
  constructor(readonly read: (values: never) => unknown) {}
}
