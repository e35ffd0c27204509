import { type RawBuilder, type Selectable, sql } from "kysely";
import { batches, batchSize } from "../batches.ts";
import { clockByNow } from "../clock.ts";
import type { Database, Query } from "../database.ts";
import { among, type List, listOf } from "../lists.ts";
import { onEach, prepared } from "../prepared.ts";
import { analyze } from "../statistics.ts";
import type { TaskRow } from "../tables.ts";

type Engine = Database["engine"];
export type StoredTask = Omit<Selectable<TaskRow>, "renewed_at">;
/** With the store's clock at the time of the lock. */
export type LockedTask = StoredTask & { now: number };
export type NewTaskRow = Omit<StoredTask, "num" | "awaited">;

const shapeLock = 7_346_002;

export const columnNames = [
  "num",
  "id",
  "run",
  "title",
  "description",
  "state",
  "priority",
  "turn_at",
  "attempt",
  "max_retries",
  "blockers_left",
  "lost_blockers",
  "epoch",
  "holder",
  "claimed_at",
  "lease_until",
  "secret_hash",
  "result",
  "version",
  "awaited",
  "created_at",
  "created_by",
  "updated_at",
] as const;
export const columns = sql.raw(columnNames.map((name) => `tasks.${name}`).join(", "));

export const locked: Record<Engine, RawBuilder<unknown>> = { sqlite: sql``, postgres: sql`FOR UPDATE` };

export const taskIds = async (query: Query): Promise<string[]> =>
  (await query.selectFrom("tasks").select("id").execute()).map((row) => row.id);

export const findTask = (query: Query, id: string): Promise<StoredTask | undefined> =>
  query.selectFrom("tasks").selectAll().where("id", "=", id).executeTakeFirst();

/** Locks in order of `num`, so that two transactions cannot deadlock. */
const lockRows = onEach<{ ids: List }, LockedTask>(
  (engine, slot) => sql`
    SELECT ${columns}, ${clockByNow[engine]} AS now FROM tasks
    WHERE id ${among[engine](slot("ids"))} ORDER BY num ${locked[engine]}`,
);

/** Locks tasks until the transaction ends. */
export const lockTasks = (tx: Query, engine: Engine, ids: string[]): Promise<LockedTask[]> =>
  lockRows[engine](tx, { ids: listOf[engine](ids) });

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

type Words = Partial<Pick<TaskRow, "title" | "description" | "priority" | "turn_at">>;

export const saveWords = (
  tx: Query,
  read: Pick<StoredTask, "id" | "version" | "epoch">,
  words: Words,
  at: string,
): Promise<StoredTask | undefined> =>
  tx
    .updateTable("tasks")
    .set({ ...words, version: read.version + 1, updated_at: at })
    .where("id", "=", read.id)
    .where("version", "=", read.version)
    .where("epoch", "=", read.epoch)
    .returningAll()
    .executeTakeFirst();

const markAwaited = onEach<{ ids: List }, unknown>(
  (engine, slot) => sql`UPDATE tasks SET awaited = 1 WHERE id ${among[engine](slot("ids"))} AND awaited = 0`,
);

/** Returns the assigned numbers by id. */
export async function insertTasks(
  tx: Query,
  engine: Engine,
  rows: NewTaskRow[],
  dependencies: { task_id: string; depends_on: string }[],
): Promise<Map<string, number>> {
  const numbers = new Map<string, number>();
  for (const some of batches(rows)) {
    const made = await tx.insertInto("tasks").values(some).returning(["id", "num"]).execute();
    for (const { id, num } of made) numbers.set(id, num);
  }
  for (const some of batches(dependencies)) await tx.insertInto("task_dependencies").values(some).execute();
  const before = [...new Set(dependencies.map((one) => one.depends_on))];
  if (before.length > 0) await markAwaited[engine](tx, { ids: listOf[engine](before) });
  if (rows.length >= batchSize) await analyze(tx, engine, ["tasks", "task_dependencies"]);
  return numbers;
}

export const dependenciesOf = (query: Query, id: string): Promise<StoredTask[]> =>
  query
    .selectFrom("task_dependencies")
    .innerJoin("tasks", "tasks.id", "task_dependencies.depends_on")
    .selectAll("tasks")
    .where("task_dependencies.task_id", "=", id)
    .orderBy("tasks.num")
    .execute();

/** Locks in order of `num`, so that two transactions cannot deadlock. */
const lockDependents = prepared<{ ids: List }, unknown>(
  (_, slot) => sql`
    SELECT num FROM tasks WHERE id IN (
      SELECT task_id FROM task_dependencies WHERE depends_on ${among.postgres(slot("ids"))}
    ) ORDER BY num FOR UPDATE`,
);

const freeRows = onEach<{ ids: List }, { id: string; blockers_left: number }>(
  (engine, slot) => sql`
    UPDATE tasks SET blockers_left = blockers_left - given.freed
    FROM (
      SELECT task_id, count(*) AS freed FROM task_dependencies
      WHERE depends_on ${among[engine](slot("ids"))} GROUP BY task_id
    ) AS given
    WHERE tasks.id = given.task_id RETURNING tasks.id, tasks.blockers_left`,
);

/** Decrements the blocker count of every task that depends on a completed one. */
export async function freeDependents(tx: Query, engine: Engine, completed: string[]): Promise<void> {
  const ids = listOf[engine](completed);
  if (engine === "postgres") await lockDependents(tx, { ids });
  await freeRows[engine](tx, { ids });
}

/** Changes the count of lost blockers of all descendants: +1 when a task is lost, −1 when it is recovered. */
export async function tellDescendants(tx: Query, id: string, change: 1 | -1): Promise<void> {
  await sql`
    WITH RECURSIVE behind (id) AS (
      SELECT task_id FROM task_dependencies WHERE depends_on = ${id}
      UNION SELECT d.task_id FROM task_dependencies d JOIN behind ON d.depends_on = behind.id
    )
    UPDATE tasks SET lost_blockers = lost_blockers + ${sql.lit(change)}
    WHERE id IN (SELECT id FROM behind)`.execute(tx);
}

type Lost = { id: string; title: string; state: string };

/** The lost tasks that block this one. */
export async function lostAncestors(query: Query, id: string, limit = 20): Promise<Lost[]> {
  const { rows } = await sql<Lost>`
    WITH RECURSIVE before (id) AS (
      SELECT depends_on FROM task_dependencies WHERE task_id = ${id}
      UNION SELECT d.depends_on FROM task_dependencies d JOIN before ON d.task_id = before.id
    )
    SELECT t.id, t.title, t.state FROM tasks t JOIN before ON before.id = t.id
    WHERE t.state IN ('failed', 'cancelled') ORDER BY t.num LIMIT ${limit}`.execute(query);
  return rows;
}

/** Serialises changes to dependencies and descendants until the transaction ends. SQLite has a single writer. */
export async function lockShape(tx: Query, engine: Engine): Promise<void> {
  if (engine === "postgres") await sql`SELECT pg_advisory_xact_lock(${sql.lit(shapeLock)})`.execute(tx);
}
