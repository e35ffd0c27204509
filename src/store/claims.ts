import { type RawBuilder, sql } from "kysely";
import { clock, clockByNow } from "./clock.ts";
import type { Database, Query } from "./database.ts";
import { appendEvents, type Event } from "./events.ts";
import { forMany, onEach } from "./prepared.ts";
import { among, columns, locked, type StoredTask } from "./tasks.ts";

/** What workers do all day with the rows of tasks: look for one, take it, keep it, let it go. */

type Engine = Database["engine"];

const isReady = sql`tasks.holder IS NULL AND tasks.blockers_left = 0 AND tasks.state IN ('pending', 'preparing_retry')`;
const hasExpired = (engine: Engine) => sql`tasks.holder IS NOT NULL AND tasks.lease_until < ${clock[engine]}`;

const freely: Record<Engine, RawBuilder<unknown>> = { sqlite: sql``, postgres: sql`` };
const passingBy: Record<Engine, RawBuilder<unknown>> = { sqlite: sql``, postgres: sql`FOR UPDATE SKIP LOCKED` };

/** What a claim has to reckon with; each is a look into an index. */
export type Situation = { ready: boolean; expired: boolean; limited: boolean };

const situation = onEach<object, Record<keyof Situation, number | boolean>>(
  (engine) => sql`SELECT EXISTS (SELECT 1 FROM tasks WHERE ${isReady}) AS ready,
    EXISTS (SELECT 1 FROM tasks WHERE ${hasExpired(engine)}) AS expired,
    EXISTS (SELECT 1 FROM run_limits) AS limited`,
);

export async function situationNow(query: Query, engine: Engine): Promise<Situation> {
  const [seen] = await situation[engine](query, {});
  return { ready: Boolean(seen?.ready), expired: Boolean(seen?.expired), limited: Boolean(seen?.limited) };
}

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
const ready = { looked: readyQuery(freely), held: readyQuery(passingBy) };

type Wanted = { run: string | undefined; limit: number; without?: string[]; locked: boolean };

/**
 * Tasks that can be claimed, in the order of their turn. With `locked`, others who look at the same
 * moment pass them by and do not wait.
 */
export function readyTasks(
  query: Query,
  engine: Engine,
  { run, limit, without = [], locked }: Wanted,
): Promise<StoredTask[]> {
  const { any, ofRun } = locked ? ready.held : ready.looked;
  if (run !== undefined) return ofRun[engine](query, { run, limit });
  return any[engine](query, { limit, without: JSON.stringify(without) });
}

const expired = onEach<{ limit: number }, StoredTask>(
  (engine, slot) => sql`
    SELECT ${columns} FROM tasks WHERE ${hasExpired(engine)}
    ORDER BY lease_until LIMIT ${slot("limit")} ${passingBy[engine]}`,
);

/** Tasks whose lease has run out by the store's clock, kept for whoever frees them. */
export const expiredTasks = (tx: Query, engine: Engine, limit: number): Promise<StoredTask[]> =>
  expired[engine](tx, { limit });

type Changed = "state" | "attempt" | "epoch" | "holder" | "result";

/** What a row becomes, and the event that says so. */
export type Change = {
  row: StoredTask;
  to: Pick<StoredTask, Changed>;
  /** How long the holder may keep it; null when nobody holds it any more. */
  leaseMs: number | null;
  /** The row may have been read long ago: only a lease that still runs lets it be saved. */
  underClaim: boolean;
  event: Omit<Event, "id">;
};

type Sent = Pick<StoredTask, "num" | "version" | Changed> & {
  seen: number;
  lease_ms: number | null;
  under_claim: 0 | 1;
  at: string;
  actor: string;
  kind: string;
  subject: string;
  data: string;
};
type Back = Pick<StoredTask, "num" | "claimed_at" | "lease_until"> & { awaited: number | boolean };

const isAwaited = sql`EXISTS (SELECT 1 FROM task_dependencies d WHERE d.depends_on = tasks.id) AS awaited`;

/** On PostgreSQL the events are written by the same statement. */
const save = forMany<Sent, Back>({
  sqlite: (slot) => sql`
    UPDATE tasks SET state = ${slot("state")}, attempt = ${slot("attempt")}, epoch = ${slot("epoch")},
      holder = ${slot("holder")}, result = ${slot("result")}, version = version + 1, updated_at = ${slot("at")},
      claimed_at = CASE WHEN ${slot("lease_ms")} IS NOT NULL THEN ${clock.sqlite} END,
      lease_until = ${clock.sqlite} + ${slot("lease_ms")}
    WHERE num = ${slot("num")} AND version = ${slot("version")} AND epoch = ${slot("seen")}
      AND (${slot("under_claim")} = 0 OR lease_until >= ${clock.sqlite})
    RETURNING num, claimed_at, lease_until, ${isAwaited}`,
  postgres: (list) => sql`
    WITH given AS (
      SELECT * FROM json_to_recordset(${list}::text::json) AS given (
        num bigint, version bigint, seen bigint, state text, attempt bigint, epoch bigint, holder text, result text,
        lease_ms bigint, under_claim int, at text, actor text, kind text, subject text, data text)
    ), saved AS (
      UPDATE tasks SET state = given.state, attempt = given.attempt, epoch = given.epoch, holder = given.holder,
        result = given.result, version = tasks.version + 1, updated_at = given.at,
        claimed_at = CASE WHEN given.lease_ms IS NOT NULL THEN ${clock.postgres} END,
        lease_until = ${clock.postgres} + given.lease_ms
      FROM given
      WHERE tasks.num = given.num AND tasks.version = given.version AND tasks.epoch = given.seen
        AND (given.under_claim = 0 OR tasks.lease_until >= ${clockByNow.postgres})
        -- As an array each is looked up in the index; a list whose length nobody knows makes it read the table.
        AND tasks.num = ANY (ARRAY(SELECT num FROM given))
      RETURNING tasks.num, tasks.claimed_at, tasks.lease_until, ${isAwaited}
    ), logged AS (
      INSERT INTO events (at, actor, kind, subject, data)
      SELECT at, actor, kind, subject, data FROM given JOIN saved USING (num)
    )
    SELECT * FROM saved`,
});

export type Saved = { row: StoredTask; awaited: boolean };

/**
 * Saves each over the version and epoch that were read, with its event, and gives the rows that it
 * could save. The fence is in this predicate: a worker whose lease has gone to another changes nothing.
 */
export async function saveTasks(tx: Query, engine: Engine, changes: Change[]): Promise<Map<number, Saved>> {
  const sent = changes.map(({ row, to, leaseMs, underClaim, event }): Sent => {
    const { num, version, epoch: seen } = row;
    const fence = { num, version, seen, under_claim: underClaim ? 1 : 0 } as const;
    return { ...to, ...fence, lease_ms: leaseMs, ...event, data: JSON.stringify(event.data) };
  });
  const back = new Map((await save(tx, engine, sent)).map((one) => [one.num, one]));
  const kept = changes.filter(({ row }) => back.has(row.num));
  if (engine === "sqlite") {
    const events = kept.map(({ event }) => event);
    await appendEvents(tx, engine, events);
  }
  return new Map(
    kept.map(({ row, to, event }) => {
      const { awaited, ...lease } = back.get(row.num) as Back;
      const after = { ...row, ...to, ...lease, version: row.version + 1, updated_at: event.at };
      return [row.num, { row: after, awaited: Boolean(awaited) }];
    }),
  );
}

const renewRow = onEach<{ id: string; epoch: number; ms: number }, { lease_until: number }>(
  (engine, slot) => sql`
    UPDATE tasks SET lease_until = ${clockByNow[engine]} + ${slot("ms")}
    WHERE id = ${slot("id")} AND epoch = ${slot("epoch")} AND holder IS NOT NULL
      AND lease_until >= ${clockByNow[engine]}
    RETURNING lease_until`,
);

/** Lengthens a lease, if the epoch still holds it. */
export async function renewLease(
  tx: Query,
  engine: Engine,
  { id, epoch, ms }: { id: string; epoch: number; ms: number },
): Promise<number | undefined> {
  const [row] = await renewRow[engine](tx, { id, epoch, ms: Math.round(ms) });
  return row?.lease_until;
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
