import type { Database } from "../../store/database.ts";
import type { Strategy } from "../../tasks/engine.ts";

/** The dependencies of every store in this folder. */
export type CrewDeps = {
  db: Database;
  root: string;
  claims: { strategy: Strategy; leaseMs: number };
  now(): Date;
  newId(prefix: string): string;
};

/** The part that moves of tasks need, in a transaction that is already open. */
export const moving = ({ db, now }: Pick<CrewDeps, "db" | "now">) => ({ engine: db.engine, now });
