import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { Refused } from "../../kernel/result.ts";
import { createPrivately } from "../disk/private.ts";
import { loadBinding, type SqliteBinding } from "./binding.ts";
import { steadyFunction, steadyMs } from "./steady-clock.ts";

export type Row = Record<string, unknown>;

/** One connection to a database file. Every call is synchronous. */
export interface Connection {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  /** False as well after SQLite rolled a transaction back by itself, e.g. on a full disk. */
  readonly inTransaction: boolean;
  close(): void;
}

export interface Statement {
  /** Whether it returns rows; the others are executed with `run`. */
  readonly reader: boolean;
  all(parameters: readonly unknown[]): Row[];
  run(parameters: readonly unknown[]): { changes: number; lastInsertRowid: number };
  iterate(parameters: readonly unknown[]): IterableIterator<Row>;
}

/** Opens `file`. SQLite itself waits up to `busyMs` for a lock, which blocks the thread. */
export function openConnection(file: string, busyMs: number, binding = loadBinding()): Connection {
  const { DatabaseSync } = binding;
  createPrivately(file);
  const database = withCode(() => new DatabaseSync(file, { timeout: busyMs }));
  database.function(steadyFunction, steadyMs);
  return {
    exec: (sql) => withCode(() => database.exec(sql)),
    prepare: (sql) => withCode(() => statementOf(database.prepare(sql))),
    get inTransaction() {
      // The binding throws if the connection is closed.
      return database.isOpen && database.isTransaction;
    },
    close() {
      if (database.isOpen) database.close();
    },
  };
}

type Native = ReturnType<InstanceType<SqliteBinding["DatabaseSync"]>["prepare"]>;

function statementOf(native: Native): Statement {
  const names = native.columns().map(({ name }) => name);
  // Building the objects here takes half the time that the binding takes for it.
  native.setReturnArrays(true);
  const object = (values: unknown[]) => {
    const row: Row = {};
    for (let at = 0; at < names.length; at++) row[names[at] as string] = bufferOrValue(values[at]);
    return row;
  };
  const all = (parameters: readonly unknown[]) =>
    withCode(() => (native.all(...bound(parameters)) as unknown[][]).map(object));
  return {
    reader: names.length > 0,
    all,
    iterate: (parameters) => all(parameters).values(),
    run: (parameters) => withCode(() => native.run(...bound(parameters))),
  };
}

/**
 * The shipped binding cuts text at a NUL, which PostgreSQL refuses as well, and binds `undefined` as NULL,
 * which Node's refuses.
 */
function bound(parameters: readonly unknown[]): readonly unknown[] {
  for (const value of parameters) {
    if (value === undefined) throw new TypeError("a parameter is undefined; bind null instead");
    if (typeof value === "string" && value.includes("\0"))
      throw new Refused({ code: "invalid", message: "text must not contain NUL characters" });
  }
  return parameters;
}

/** The binding returns a BLOB as a Uint8Array, whose `toString` lists numbers. */
const bufferOrValue = (value: unknown) =>
  value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;

export const isBusy = (error: unknown) => (error as { code?: string }).code === "SQLITE_BUSY";

/** Names of SQLite's result codes that callers distinguish. */
const codes: Record<number, string> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  19: "SQLITE_CONSTRAINT",
  26: "SQLITE_NOTADB",
  // SQLITE_IOERR_SHMSIZE: the index of the WAL cannot grow.
  4874: "SQLITE_FULL",
};

/** The binding's errors have the code ERR_SQLITE_ERROR and SQLite's own, extended, as a number. */
function withCode<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { errcode } = error as { errcode?: number };
    if (errcode !== undefined) {
      const code = codes[errcode] ?? codes[errcode & 0xff] ?? "SQLITE_ERROR";
      (error as { code?: string }).code = (code === "SQLITE_CANTOPEN" && openProblem()) || code;
    }
    throw error;
  }
}

/** SQLite does not say why it cannot open its files: too many are open if as many others cannot be opened either. */
function openProblem(): string | undefined {
  const opened: number[] = [];
  try {
    while (opened.length < filesOfDatabase) opened.push(openSync(devNull, "r"));
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    for (const file of opened) closeSync(file);
  }
}

/** The database, its log, the index of the log, and the folder that is synchronised. */
const filesOfDatabase = 4;
