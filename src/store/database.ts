import type { Kysely } from "kysely";
import type { Tables } from "./tables.ts";

export type Query = Kysely<Tables>;

/** The waist: everything above it is written once; an engine is one file below it. */
export interface Database {
  readonly engine: "sqlite" | "postgres";
  /** Reads what has been committed. Never writes. */
  readonly read: Query;
  /**
   * Runs `work` in a transaction of its own and resolves once it is on disk. If `work` throws,
   * nothing of it is kept. `work` must not call `write` again, and awaits nothing but its queries:
   * SQLite has one writer, and a process that sleeps with the lock makes all others wait.
   *
   * Work that is one statement says so: it needs no transaction around it, and a far database is
   * spared two journeys.
   */
  write<T>(work: (tx: Query) => Promise<T>, how?: { oneStatement: boolean }): Promise<T>;
  /** Calls back soon after any process has written to this database. Returns how to stop. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

export type DatabaseAddress = { engine: "sqlite"; file: string } | { engine: "postgres"; url: string };

/** The same database inside a transaction that is already open: what is written through it is kept with that, or not at all. */
export const joined = (db: Database, tx: Query): Database => ({
  ...db,
  engine: db.engine,
  read: tx,
  write: (work) => work(tx),
});
