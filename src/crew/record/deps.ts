import { type Database, joined, type Query } from "../../store/database.ts";
import { type Strategy, type TaskEngine, taskEngine } from "../../tasks/engine.ts";

/** What the crew's record is built on. */
export type CrewDeps = {
  db: Database;
  root: string;
  claims: { strategy: Strategy; leaseMs: number };
  now(): Date;
  newId(prefix: string): string;
};

/** The task engine inside a transaction that is already open, so that a step and its record are kept together or not at all. */
export function tasksWithin(tx: Query, { db, claims, now, newId }: CrewDeps): TaskEngine {
  return taskEngine({ db: joined(db, tx), ...claims, now, newId });
}
