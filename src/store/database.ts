import type { Kysely } from "kysely";
import type { Refusal } from "../kernel/result.ts";
import type { Limits } from "./postgres/limits.ts";
import type { Tables } from "./tables.ts";

export type Query = Kysely<Tables>;

/** The interface of both engines. Code above it is written once; an engine is one file below it. */
export interface Database {
  readonly engine: "sqlite" | "postgres";
  /** Sees committed data only, and never writes. */
  readonly read: Query;
  /**
   * Runs `work` in a transaction of its own and resolves once it is on disk. The transaction is
   * rolled back when `work` throws and when it returns a refusal; `keepWrites` marks the rare refusal
   * whose writes must stay. `work` must not call `write` again and awaits only its own queries: SQLite
   * has one writer, and a process that sleeps while holding the lock blocks all others.
   *
   * `oneStatement` skips the transaction around work that is a single statement, which saves two
   * round trips to a remote database. `isLong` lifts the time limits, for work such as a rebuild.
   *
   * PostgreSQL repeats `work` when its connection is lost before the commit, or after a deadlock.
   */
  write<T>(work: (tx: Query) => Promise<T>, how?: { oneStatement?: boolean; isLong?: boolean }): Promise<T>;
  /** Calls back soon after any process has written to this database. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void;
  /** Changes with every committed write of any process that `read` sees; undefined where the engine cannot tell. */
  stamp(): number | undefined;
  /** Runs `work` on one consistent state, whatever others write meanwhile. */
  snapshot<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /** The reason why writes are refused from now on, if any: the file of the database is gone. */
  trouble(): string | undefined;
  /** Connections of this process to the server by state, and queries that wait for one; undefined without a server. */
  connections?(): { busy: number; idle: number; waiting: number };
  /** Asks the database; throws if it does not answer. */
  health(): Promise<Health>;
  close(): Promise<void>;
}

export type Health = {
  /** A migration that this version of Scriptorium does not have: a newer version has migrated the database. */
  newer: string | undefined;
  /** True if a pooler such as PgBouncer is between this process and the server. */
  pooler: boolean;
};

export type DatabaseAddress =
  | { engine: "sqlite"; file: string }
  | {
      engine: "postgres";
      url: string;
      /** The server itself, for LISTEN, where `url` is a pooler. */
      listenUrl?: string | undefined;
      limits?: Partial<Limits> | undefined;
    };

/** The same database inside an open transaction: the outer transaction decides whether writes are kept. */
export const joined = (db: Database, tx: Query): Database => ({
  ...db,
  engine: db.engine,
  read: tx,
  write: (work) => work(tx),
  stamp: () => undefined,
});

/** The database was lost during a commit and did not come back: it is unknown whether the writes were kept. */
export class UnknownOutcome extends Error {
  constructor(
    cause: unknown,
    /** True for a call with an idempotency key: repeated with it, the change takes effect once. */
    readonly hasKey = false,
  ) {
    super("the database server was lost during the commit, and it is not known whether the change was saved", {
      cause,
    });
    this.name = "UnknownOutcome";
  }
}

/** A write that came after the database was closed, because the process is ending. */
export class ClosedDatabase extends Error {
  constructor() {
    super("the database is closed");
    this.name = "ClosedDatabase";
  }
}

const withWrites = new WeakSet<object>();

/** Lets a transaction commit although its work refuses, e.g. to record that a verdict became void. */
export function keepWrites(refusal: Refusal): Refusal {
  withWrites.add(refusal);
  return refusal;
}

/** True for a refusal, unless `keepWrites` marked it. Engines roll back then. */
export const undoesWrites = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "ok" in value && value.ok === false && !withWrites.has(value);
