import { createRequire } from "node:module";
import type { SqliteBinding } from "../../src/store/sqlite/binding.ts";
import { type Connection, openConnection, type Row } from "../../src/store/sqlite/connection.ts";
import { steadyFunction, steadyMs } from "../../src/store/sqlite/steady-clock.ts";

type Open = typeof openConnection;

const require = createRequire(import.meta.url);

/** Each loads its package when it is called, and fails where the package does not run. */
export const bindings: Record<string, () => Open> = {
  "better-sqlite3 12": () => ofBetterSqlite3(require("better-sqlite3")),
  "better-sqlite3 13": () => ofBetterSqlite3(require("better-sqlite3-13")),
  libsql: () => ofBetterSqlite3(require("libsql")),
  "node:sqlite": () => {
    const builtin = process.getBuiltinModule("node:sqlite") as unknown as SqliteBinding | undefined;
    if (!builtin) throw new Error("this Node has no node:sqlite");
    return (file, busyMs) => openConnection(file, busyMs, builtin);
  },
  "@photostructure/sqlite 1": () => (file, busyMs) => openConnection(file, busyMs, require("photostructure-sqlite-1")),
  "@photostructure/sqlite 2": () => (file, busyMs) => openConnection(file, busyMs),
  "node-sqlite3-wasm": () => ofWasm(require("node-sqlite3-wasm")),
};

type BetterSqlite3 = new (
  file: string,
  options: { timeout: number },
) => {
  exec(sql: string): void;
  prepare(sql: string): {
    reader: boolean;
    columns(): { name: string }[];
    raw(on: boolean): void;
    all(...parameters: readonly unknown[]): unknown[][];
    run(...parameters: readonly unknown[]): { changes: number; lastInsertRowid: number };
  };
  function(name: string, value: () => number): void;
  readonly inTransaction: boolean;
  close(): void;
};

/** As Scriptorium 0.1 used it: rows as arrays, from which it built the objects. */
const ofBetterSqlite3 =
  (Sqlite: BetterSqlite3): Open =>
  (file, busyMs) => {
    const database = new Sqlite(file, { timeout: busyMs });
    database.function(steadyFunction, steadyMs);
    return {
      exec: (sql) => void database.exec(sql),
      prepare(sql) {
        const statement = database.prepare(sql);
        const names = statement.reader ? statement.columns().map(({ name }) => name) : [];
        if (statement.reader) statement.raw(true);
        const all = (parameters: readonly unknown[]) => statement.all(...parameters).map((row) => objectOf(names, row));
        return {
          reader: statement.reader,
          all,
          iterate: (parameters) => all(parameters).values(),
          run: (parameters) => statement.run(...parameters),
        };
      },
      get inTransaction() {
        return database.inTransaction;
      },
      close: () => database.close(),
    };
  };

function objectOf(names: string[], values: unknown[]): Row {
  const row: Row = {};
  for (let at = 0; at < names.length; at++) row[names[at] as string] = values[at];
  return row;
}

type Wasm = {
  Database: new (
    file: string,
  ) => {
    exec(sql: string): void;
    prepare(sql: string): {
      all(values: readonly unknown[]): Row[];
      run(values: readonly unknown[]): { changes: number; lastInsertRowId: number };
    };
    function(name: string, value: () => number): void;
    readonly inTransaction: boolean;
    close(): void;
  };
};

const ofWasm =
  ({ Database }: Wasm): Open =>
  (file): Connection => {
    const database = new Database(file);
    database.function(steadyFunction, steadyMs);
    return {
      exec(sql) {
        database.exec(sql);
        if (!/journal_mode/.test(sql)) return;
        const [found] = database.prepare("PRAGMA journal_mode").all([]);
        if (found?.journal_mode !== "wal") throw new Error(`WAL is not available: ${JSON.stringify(found)}`);
      },
      prepare(sql) {
        const statement = database.prepare(sql);
        const all = (parameters: readonly unknown[]) => statement.all(parameters);
        return {
          reader: /^\s*(select|with|pragma)|returning/i.test(sql),
          all,
          iterate: (parameters) => all(parameters).values(),
          run(parameters) {
            const { changes, lastInsertRowId } = statement.run(parameters);
            return { changes, lastInsertRowid: lastInsertRowId };
          },
        };
      },
      get inTransaction() {
        return database.inTransaction;
      },
      close: () => database.close(),
    };
  };
