import { type RawBuilder, type Selectable, sql } from "kysely";
import type { Database, Query } from "./database.ts";
import { prepared } from "./prepared.ts";
import type { TaskRow } from "./tables.ts";

/**
 * The rows of tasks. What workers do all day is asked for many tasks at once, in statements that
 * are prepared and take the many as one JSON value: `each` makes rows of it on either engine.
 */

type Engine = Database["engine"];
export type StoredTask = Selectable<TaskRow>;
export type NewTaskRow = Omit<StoredTask, "num">;

const shapeLock = 7_346_002;

const columns = sql.raw(
  [
    ...["num", "id", "run", "title", "description", "state", "priority", "turn_at", "attempt", "max_retries"],
    ...["blockers_left", "lost_blockers", "epoch", "holder", "claimed_at", "lease_until", "result", "version"],
    ...["created_at", "created_by", "updated_at"],
  ]
    .map((name) => `tasks.${name}`)
    .join(", "),
);

/** Leases go by the clock of the store, never by a worker's. */
const clock: Record<Engine, RawBuilder<number>> = {
  sqlite: sql<number>`CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  postgres: sql<number>`CAST(extract(epoch FROM statement_timestamp()) * 1000 AS BIGINT)`,
};

type Type = "text" | "bigint";

/** A list of values, or of objects with these fields, as a table. */
const each: Record<Engine, (list: string, fields: Record<string, Type>) => RawBuilder<unknown>> = {
  sqlite: (list, fields) => {
    const parts = Object.keys(fields).map((name) => sql`value ->> ${sql.lit(`$.${name}`)} AS ${sql.ref(name)}`);
    return sql`(SELECT ${sql.join(parts)} FROM json_each(${list}))`;
  },
  postgres: (list, fields) => {
    const parts = Object.entries(fields).map(([name, type]) => sql`${sql.ref(name)} ${sql.raw(type)}`);
    return sql`(SELECT * FROM json_to_recordset(${list}::text::json) AS given (${sql.join(parts)}))`;
  },
};
/** As an array, PostgreSQL looks each up in the index; joined with a list whose length it cannot know, it reads the table. */
const among: Record<Engine, (list: string) => RawBuilder<unknown>> = {
  sqlite: (list) => sql`IN (SELECT value FROM json_each(${list}))`,
  postgres: (list) => sql`= ANY (ARRAY(SELECT json_array_elements_text(${list}::text::json)))`,
};
const numbersAmong: Record<Engine, (rows: string) => RawBuilder<unknown>> = {
  sqlite: () => sql``,
  postgres: (rows) =>
    sql`AND tasks.num = ANY (ARRAY(SELECT (json_array_elements(${rows}::text::json) ->> 'num')::bigint))`,
};
const locked: Record<Engine, RawBuilder<unknown>> = { sqlite: sql``, postgres: sql`FOR UPDATE` };
const passingBy: Record<Engine, RawBuilder<unknown>> = { sqlite: sql``, postgres: sql`FOR UPDATE SKIP LOCKED` };

/** The same query on either engine, each prepared. */
function onEach<P extends object, R>(
  build: (engine: Engine, slot: <K extends keyof P>(name: K) => P[K]) => RawBuilder<R>,
): Record<Engine, (query: Query, values: P) => Promise<R[]>> {
  return {
    sqlite: prepared<P, R>((_, slot) => build("sqlite", slot)),
    postgres: prepared<P, R>((_, slot) => build("postgres", slot)),
  };
}

const askClock = onEach<object, { now: number }>((engine) => sql`SELECT ${clock[engine]} AS now`);

export async function storeClock(query: Query, engine: Engine): Promise<number> {
  const [row] = await askClock[engine](query, {});
  return Number(row?.now);
}

export const findTask = (query: Query, id: string): Promise<StoredTask | undefined> =>
  query.selectFrom("tasks").selectAll().where("id", "=", id).executeTakeFirst();

/** In the order of their numbers, so that two who lock the same ones cannot wait for each other. */
const lockRows = onEach<{ ids: string }, StoredTask>(
  (engine, slot) =>
    sql`SELECT ${columns} FROM tasks WHERE id ${among[engine](slot("ids"))} ORDER BY num ${locked[engine]}`,
);

/** For a change: until the transaction ends nobody else changes them. */
export const lockTasks = (tx: Query, engine: Engine, ids: string[]): Promise<StoredTask[]> =>
  lockRows[engine](tx, { ids: JSON.stringify(ids) });

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

const rowsAtOnce = 200;

export async function insertTasks(
  tx: Query,
  rows: NewTaskRow[],
  dependencies: { task_id: string; depends_on: string }[],
): Promise<void> {
  for (const some of portions(rows)) await tx.insertInto("tasks").values(some).execute();
  for (const some of portions(dependencies)) await tx.insertInto("task_dependencies").values(some).execute();
}

function* portions<T>(items: T[]): Generator<T[]> {
  for (let from = 0; from < items.length; from += rowsAtOnce) yield items.slice(from, from + rowsAtOnce);
}

export const dependenciesOf = (query: Query, id: string): Promise<StoredTask[]> =>
  query
    .selectFrom("task_dependencies")
    .innerJoin("tasks", "tasks.id", "task_dependencies.depends_on")
    .selectAll("tasks")
    .where("task_dependencies.task_id", "=", id)
    .orderBy("tasks.num")
    .execute();

type Wanted = { run: string | undefined; limit: number; without?: string[] };

const isReady = sql`tasks.holder IS NULL AND tasks.blockers_left = 0 AND tasks.state IN ('pending', 'preparing_retry')`;

const readyQuery = (lock: Record<Engine, RawBuilder<unknown>>) => ({
  any: onEach<{ limit: number; without: string }, StoredTask>(
    (engine, slot) => sql`
      SELECT ${columns} FROM tasks
      WHERE ${isReady} AND (run IS NULL OR NOT (run ${among[engine](slot("without"))}))
      ORDER BY turn_at, num LIMIT ${slot("limit")} ${lock[engine]}`,
  ),
  ofRun: onEach<{ limit: number; run: string }, StoredTask>(
    (engine, slot) => sql`
      SELECT ${columns} FROM tasks
      WHERE ${isReady} AND run IS NOT NULL AND run = ${slot("run")}
      ORDER BY turn_at, num LIMIT ${slot("limit")} ${lock[engine]}`,
  ),
});
const ready = { looked: readyQuery({ sqlite: sql``, postgres: sql`` }), held: readyQuery(passingBy) };

/**
 * Tasks that can be claimed, in the order of their turn. With `locked`, others who look at the same
 * moment pass them by and do not wait.
 */
export function readyTasks(
  query: Query,
  engine: Engine,
  { run, limit, without = [], locked }: Wanted & { locked: boolean },
): Promise<StoredTask[]> {
  const { any, ofRun } = locked ? ready.held : ready.looked;
  if (run !== undefined) return ofRun[engine](query, { run, limit });
  return any[engine](query, { limit, without: JSON.stringify(without) });
}

const expiredQuery = (lock: Record<Engine, RawBuilder<unknown>>) =>
  onEach<{ limit: number }, StoredTask>(
    (engine, slot) => sql`
      SELECT ${columns} FROM tasks WHERE holder IS NOT NULL AND lease_until < ${clock[engine]}
      ORDER BY lease_until LIMIT ${slot("limit")} ${lock[engine]}`,
  );
const expired = { looked: expiredQuery({ sqlite: sql``, postgres: sql`` }), held: expiredQuery(passingBy) };

/** Tasks whose lease has run out by the store's clock; with `locked`, kept for whoever frees them. */
export const expiredTasks = (
  query: Query,
  engine: Engine,
  { limit, locked }: { limit: number; locked: boolean },
): Promise<StoredTask[]> => (locked ? expired.held : expired.looked)[engine](query, { limit });

type Changed = "state" | "attempt" | "epoch" | "holder" | "result" | "claimed_at" | "lease_until";

/** What a row becomes. */
export type Change = Pick<StoredTask, "num" | "version" | Changed> & {
  /** The epoch the row had when it was read. */
  seen: number;
};

const saveRows = onEach<{ rows: string; at: string }, { num: number }>((engine, slot) => {
  const fields: Record<keyof Change, Type> = {
    ...{ num: "bigint", version: "bigint", seen: "bigint", state: "text", attempt: "bigint", epoch: "bigint" },
    ...{ holder: "text", result: "text", claimed_at: "bigint", lease_until: "bigint" },
  };
  return sql`
    UPDATE tasks SET state = s.state, attempt = s.attempt, epoch = s.epoch, holder = s.holder, result = s.result,
      claimed_at = s.claimed_at, lease_until = s.lease_until, version = tasks.version + 1, updated_at = ${slot("at")}
    FROM ${each[engine](slot("rows"), fields)} AS s
    WHERE tasks.num = s.num AND tasks.version = s.version AND tasks.epoch = s.seen
      ${numbersAmong[engine](slot("rows"))}
    RETURNING tasks.num`;
});

/**
 * Saves each over the version and epoch that were read, and gives the rows that it could save. The
 * fence is in this predicate: a worker whose lease has gone to another changes nothing.
 */
export async function saveTasks(
  tx: Query,
  engine: Engine,
  changes: { row: StoredTask; change: Omit<Change, "num" | "version" | "seen"> }[],
  at: string,
): Promise<Map<number, StoredTask>> {
  const rows = changes.map(({ row, change }): Change => {
    return { ...change, num: row.num, version: row.version, seen: row.epoch };
  });
  const saved = new Set((await saveRows[engine](tx, { rows: JSON.stringify(rows), at })).map(({ num }) => num));
  return new Map(
    changes
      .filter(({ row }) => saved.has(row.num))
      .map(({ row, change }) => [row.num, { ...row, ...change, version: row.version + 1, updated_at: at }]),
  );
}

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

const renewRow = onEach<{ id: string; epoch: number; ms: number }, { lease_until: number }>(
  (engine, slot) => sql`
    UPDATE tasks SET lease_until = ${clock[engine]} + ${slot("ms")}
    WHERE id = ${slot("id")} AND epoch = ${slot("epoch")} AND holder IS NOT NULL AND lease_until >= ${clock[engine]}
    RETURNING lease_until`,
);

/** Lengthens a lease, if the epoch still holds it. */
export async function renewLease(
  tx: Query,
  engine: Engine,
  id: string,
  epoch: number,
  ms: number,
): Promise<number | undefined> {
  const [row] = await renewRow[engine](tx, { id, epoch, ms: Math.round(ms) });
  return row?.lease_until;
}

const dependents = onEach<{ ids: string }, { num: number }>(
  (engine, slot) => sql`
    SELECT num FROM tasks WHERE id IN (
      SELECT task_id FROM task_dependencies WHERE depends_on ${among[engine](slot("ids"))}
    ) ORDER BY num ${locked[engine]}`,
);

const freeRows = onEach<{ ids: string }, { id: string; blockers_left: number }>(
  (engine, slot) => sql`
    UPDATE tasks SET blockers_left = blockers_left - given.freed
    FROM (
      SELECT task_id, count(*) AS freed FROM task_dependencies
      WHERE depends_on ${among[engine](slot("ids"))} GROUP BY task_id
    ) AS given
    WHERE tasks.id = given.task_id RETURNING tasks.id, tasks.blockers_left`,
);

/** Completed tasks free those that wait for them, locked in the order of their numbers first. */
export async function freeDependents(tx: Query, engine: Engine, completed: string[]): Promise<void> {
  const ids = JSON.stringify(completed);
  if ((await dependents[engine](tx, { ids })).length > 0) await freeRows[engine](tx, { ids });
}

/** Every task behind this one learns that it is lost (+1), or that it is not any more (−1). */
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

/** The lost tasks that stand in the way of this one. */
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

const lockLimits = onEach<object, unknown>((engine) => sql`SELECT run FROM run_limits ORDER BY run ${locked[engine]}`);
const room = onEach<object, { run: string; room: number }>(
  () => sql`
    SELECT run, max_held - (
      SELECT count(*) FROM tasks WHERE tasks.run = run_limits.run AND tasks.run IS NOT NULL AND tasks.holder IS NOT NULL
    ) AS room
    FROM run_limits`,
);

/**
 * How many more tasks each limited run may have held. With `locked` that stays so; in a statement of
 * its own, because on PostgreSQL one that waited for the lock counts what it saw before it waited.
 */
export async function roomOfRuns(query: Query, engine: Engine, locked: boolean): Promise<Map<string, number>> {
  if (locked && (await lockLimits[engine](query, {})).length === 0) return new Map();
  return new Map((await room[engine](query, {})).map(({ run, room }) => [run, Number(room)]));
}

export async function limitRun(tx: Query, run: string, most: number | null): Promise<void> {
  if (most === null) await tx.deleteFrom("run_limits").where("run", "=", run).execute();
  else {
    await tx
      .insertInto("run_limits")
      .values({ run, max_held: most })
      .onConflict((conflict) => conflict.column("run").doUpdateSet({ max_held: most }))
      .execute();
  }
}

/** Until the transaction ends, nobody else adds dependencies or tells descendants; SQLite has one writer anyway. */
export async function lockShape(tx: Query, engine: Engine): Promise<void> {
  if (engine === "postgres") await sql`SELECT pg_advisory_xact_lock(${sql.lit(shapeLock)})`.execute(tx);
}
