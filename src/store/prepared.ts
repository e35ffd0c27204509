import { createHash } from "node:crypto";
import { type CompiledQuery, type RawBuilder, sql } from "kysely";
import type { Turns } from "../kernel/turns.ts";
import type { Database, Query } from "./database.ts";

type Engine = Database["engine"];
/** A query of Kysely's builder or of `sql`. */
type Compiles<R> = { compile(query: Query): CompiledQuery<R> };
/** Marks the place of a parameter that each call binds. */
export type SlotOf<P> = <K extends keyof P>(name: K) => P[K];

/**
 * Statement names by SQL text: PostgreSQL caches the plan of a named statement. A name is the hash of its SQL, so that
 * it means the same in every process, also where a pooler gives the connection of one to another.
 */
export const statementNames = new Map<string, string>();
const nameOf = (text: string) => `s_${createHash("sha256").update(text).digest("base64url").slice(0, 22)}`;

/** A synchronous connection: SQLite answers faster than Kysely's asynchronous pipeline takes. */
type Direct = {
  rows(sql: string, parameters: unknown[]): unknown[];
  /** Executes the statement once per parameter list; returns the number of changed rows for each. */
  changes(sql: string, each: unknown[][]): number[];
  nextTurn: Turns["next"];
};
export const directConnections = new WeakMap<Query, Direct>();

/** Compiles a query once per engine: for hot queries Kysely's building costs more than SQLite's execution. */
export function prepared<P extends object, R>(
  build: (query: Query, slot: SlotOf<P>) => Compiles<R>,
): (query: Query, values: P) => Promise<R[]> {
  const compiled = compiledOnce(build);
  return async (query, values) => {
    const { text, bind } = compiled(query);
    const direct = directConnections.get(query);
    if (direct) {
      const rows = direct.rows(text.sql, bind(values)) as R[];
      await direct.nextTurn();
      return rows;
    }
    return (await query.executeQuery<R>({ ...text, parameters: bind(values) })).rows;
  };
}

/** A prepared query whose SQL differs between the engines. */
export function onEach<P extends object, R>(
  build: (engine: Engine, slot: SlotOf<P>) => RawBuilder<R>,
): Record<Engine, (query: Query, values: P) => Promise<R[]>> {
  return {
    sqlite: prepared<P, R>((_, slot) => build("sqlite", slot)),
    postgres: prepared<P, R>((_, slot) => build("postgres", slot)),
  };
}

/** Memoizes by key: for prepared queries that come in a few shapes. */
export function eachOnce<K extends string | number, V>(make: (shape: K) => V): (shape: K) => V {
  const made = new Map<K, V>();
  return (shape) => {
    const known = made.get(shape) ?? make(shape);
    made.set(shape, known);
    return known;
  };
}

/** Marks the place of a value that is read from each item. */
type PartOf<P> = <V>(read: (item: P) => V) => V;

/** SQLite only, which has no round trips: executes a statement once per item; returns the changed rows of each. */
export function withEach<P extends object>(
  build: (part: PartOf<P>) => RawBuilder<unknown>,
): (query: Query, list: P[]) => number[] {
  const compiled = compiledOnce<P, unknown>(() => build((read) => new Slot(read as never) as never));
  return (query, list) => {
    const direct = directConnections.get(query);
    if (!direct) throw new Error("executing a statement per item needs a synchronous connection");
    const { text, bind } = compiled(query);
    return direct.changes(text.sql, list.map(bind));
  };
}

/** The PostgreSQL types of the columns of a list. */
export type Columns<P> = Record<keyof P & string, "bigint" | "int" | "text">;

/** PostgreSQL, to save round trips: one statement for the whole list, which it sees as the table `given`. */
export function withAll<P extends object, R>(
  columns: Columns<P>,
  build: (given: RawBuilder<unknown>) => RawBuilder<R>,
): (query: Query, list: P[]) => Promise<R[]> {
  const one = prepared<Lists<P>, R>((_, slot) => build(givenBy(columns, slot)));
  return (query, list) => one(query, inColumns(columns, list));
}

/** A list as one array per column: PostgreSQL reads arrays in a quarter of the time that it takes for JSON. */
export type Lists<P> = { [K in keyof P]: P[K][] };

export function inColumns<P extends object>(columns: Columns<P>, list: P[]): Lists<P> {
  const lists = {} as Lists<P>;
  for (const name of Object.keys(columns) as (keyof P & string)[]) lists[name] = list.map((item) => item[name]);
  return lists;
}

/** The arrays as the table `given`. */
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
    if (!statementNames.has(text.sql)) statementNames.set(text.sql, nameOf(text.sql));
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
