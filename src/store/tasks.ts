import { type RawBuilder, sql } from "kysely";
import type { Database, Query } from "./database.ts";
import type { TaskRow } from "./tables.ts";

type Engine = Database["engine"];
export type StoredTask = Omit<TaskRow, "num"> & { num: number };

/** Leases go by the clock of the store, never by a worker's. */
const clock: Record<Engine, RawBuilder<number>> = {
  sqlite: sql<number>`CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  postgres: sql<number>`CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`,
};

export async function storeClock(query: Query, engine: Engine): Promise<number> {
  const { rows } = await sql<{ now: number }>`SELECT ${clock[engine]} AS now`.execute(query);
  return Number(rows[0]?.now);
}

export const findTask = (query: Query, id: string): Promise<StoredTask | undefined> =>
  query.selectFrom("tasks").selectAll().where("id", "=", id).executeTakeFirst();

/** For a change: until the transaction ends nobody else changes it. */
export const lockTask = (tx: Query, engine: Engine, id: string): Promise<StoredTask | undefined> =>
  tx
    .selectFrom("tasks")
    .selectAll()
    .where("id", "=", id)
    .$if(engine === "postgres", (q) => q.forUpdate())
    .executeTakeFirst();

type Filter = { run?: string | undefined; state?: string | undefined; after?: number | undefined; limit: number };

export const listTasks = (query: Query, { run, state, after = 0, limit }: Filter): Promise<StoredTask[]> =>
  query
    .selectFrom("tasks")
    .selectAll()
    .where("num", ">", after)
    .$if(run !== undefined, (q) => q.where("run", "=", run ?? ""))
    .$if(state !== undefined, (q) => q.where("state", "=", state ?? ""))
    .orderBy("num")
    .limit(limit)
    .execute();

export async function insertTask(tx: Query, row: Omit<TaskRow, "num">, dependsOn: string[]): Promise<void> {
  await tx.insertInto("tasks").values(row).execute();
  if (dependsOn.length === 0) return;
  await tx
    .insertInto("task_dependencies")
    .values(dependsOn.map((depends_on) => ({ task_id: row.id, depends_on })))
    .execute();
}

export const dependenciesOf = (query: Query, id: string): Promise<StoredTask[]> =>
  query
    .selectFrom("task_dependencies")
    .innerJoin("tasks", "tasks.id", "task_dependencies.depends_on")
    .selectAll("tasks")
    .where("task_dependencies.task_id", "=", id)
    .orderBy("tasks.num")
    .execute();

export const tasksAmong = (query: Query, ids: string[]): Promise<StoredTask[]> =>
  ids.length === 0 ? Promise.resolve([]) : query.selectFrom("tasks").selectAll().where("id", "in", ids).execute();

/**
 * Tasks that can be claimed, highest priority first, oldest among equals. With `locked` others who
 * look at the same moment are passed by, not waited for.
 */
export const readyTasks = (
  query: Query,
  engine: Engine,
  { run, limit, locked }: { run: string | undefined; limit: number; locked: boolean },
): Promise<StoredTask[]> =>
  query
    .selectFrom("tasks")
    .selectAll()
    .where("holder", "is", null)
    .where("blockers_left", "=", 0)
    .where("state", "in", [sql.lit("pending"), sql.lit("preparing_retry")])
    .$if(run !== undefined, (q) => q.where("run", "=", run ?? ""))
    .orderBy("priority", "desc")
    .orderBy("num")
    .limit(limit)
    .$if(locked && engine === "postgres", (q) => q.forUpdate().skipLocked())
    .execute();

/** Tasks whose lease has run out by the store's clock; with `locked`, kept for whoever frees them. */
export const expiredTasks = (
  query: Query,
  engine: Engine,
  { limit, locked }: { limit: number; locked: boolean },
): Promise<StoredTask[]> =>
  query
    .selectFrom("tasks")
    .selectAll()
    .where("holder", "is not", null)
    .where("lease_until", "<", clock[engine])
    .orderBy("lease_until")
    .limit(limit)
    .$if(locked && engine === "postgres", (q) => q.forUpdate().skipLocked())
    .execute();

type Change = Partial<
  Pick<TaskRow, "state" | "attempt" | "epoch" | "holder" | "result" | "title" | "description" | "priority">
>;

/**
 * Saves over the version and epoch that the caller read; undefined when either is no longer so.
 * The fence is in this predicate: a worker whose lease has gone to another changes nothing.
 */
export async function saveTask(
  tx: Query,
  engine: Engine,
  read: Pick<TaskRow, "id" | "version" | "epoch">,
  change: Change,
  at: string,
  /** How long the lease is from now; null ends it; left out, it stays. */
  leaseMs?: number | null,
): Promise<StoredTask | undefined> {
  const lease = {
    claimed_at: leaseMs === null ? null : clock[engine],
    lease_until: leaseMs === null ? null : sql<number>`${clock[engine]} + ${sql.lit(Math.round(leaseMs ?? 0))}`,
  };
  return tx
    .updateTable("tasks")
    .set({ ...change, ...(leaseMs === undefined ? {} : lease), version: read.version + 1, updated_at: at })
    .where("id", "=", read.id)
    .where("version", "=", read.version)
    .where("epoch", "=", read.epoch)
    .returningAll()
    .executeTakeFirst();
}

/** Lengthens a lease, if the epoch still holds it. */
export async function renewLease(
  tx: Query,
  engine: Engine,
  id: string,
  epoch: number,
  ms: number,
): Promise<number | undefined> {
  const row = await tx
    .updateTable("tasks")
    .set({ lease_until: sql<number>`${clock[engine]} + ${sql.lit(Math.round(ms))}` })
    .where("id", "=", id)
    .where("epoch", "=", epoch)
    .where("holder", "is not", null)
    .where("lease_until", ">=", clock[engine])
    .returning("lease_until")
    .executeTakeFirst();
  return row?.lease_until ?? undefined;
}

/** A completed task frees those that wait for it, in the order of their numbers, so that two completers cannot lock each other. */
export async function freeDependents(tx: Query, engine: Engine, id: string): Promise<string[]> {
  const rows = await tx
    .selectFrom("task_dependencies")
    .innerJoin("tasks", "tasks.id", "task_dependencies.task_id")
    .select("tasks.id")
    .where("depends_on", "=", id)
    .orderBy("tasks.num")
    .$if(engine === "postgres", (q) => q.forUpdate("tasks"))
    .execute();
  const ids = rows.map((row) => row.id);
  if (ids.length === 0) return [];
  const freed = await tx
    .updateTable("tasks")
    .set((x) => ({ blockers_left: x("blockers_left", "-", 1) }))
    .where("id", "in", ids)
    .returning(["id", "blockers_left"])
    .execute();
  return freed.filter((row) => row.blockers_left === 0).map((row) => row.id);
}

/** Every task behind this one learns that it is lost (+1), or that it is not any more (−1). */
export async function tellDescendants(tx: Query, id: string, change: 1 | -1): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    WITH RECURSIVE behind (id) AS (
      SELECT task_id FROM task_dependencies WHERE depends_on = ${id}
      UNION SELECT d.task_id FROM task_dependencies d JOIN behind ON d.depends_on = behind.id
    )
    UPDATE tasks SET lost_blockers = lost_blockers + ${sql.lit(change)} WHERE id IN (SELECT id FROM behind) RETURNING id`.execute(
    tx,
  );
  return rows.length;
}

/** The lost tasks that stand in the way of this one, nearest first. */
export async function lostAncestors(query: Query, id: string): Promise<{ id: string; title: string; state: string }[]> {
  const { rows } = await sql<{ id: string; title: string; state: string }>`
    WITH RECURSIVE before (id) AS (
      SELECT depends_on FROM task_dependencies WHERE task_id = ${id}
      UNION SELECT d.depends_on FROM task_dependencies d JOIN before ON d.task_id = before.id
    )
    SELECT t.id, t.title, t.state FROM tasks t JOIN before ON before.id = t.id
    WHERE t.state IN ('failed', 'cancelled') ORDER BY t.num LIMIT 20`.execute(query);
  return rows;
}
