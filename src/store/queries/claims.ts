import { type RawBuilder, sql } from "kysely";
import { hashOfSecret } from "../claim-secret.ts";
import { clock, clockByNow, storeClock } from "../clock.ts";
import type { Database, Query } from "../database.ts";
import { insertEach, type WrittenEvent } from "../events.ts";
import { among, type List, listOf } from "../lists.ts";
import { type Columns, onEach, withAll, withEach } from "../prepared.ts";
import { columns, locked, type StoredTask } from "./tasks.ts";

/** The hot queries of workers: find a ready task, claim it, renew its lease, save a step. */

type Engine = Database["engine"];

export const isReady = sql`tasks.holder IS NULL AND tasks.blockers_left = 0 AND tasks.state IN ('pending', 'preparing_retry')`;
const hasExpired = (engine: Engine) => sql`tasks.holder IS NOT NULL AND tasks.lease_until < ${clock[engine]}`;

/** A server whose clock is behind that of the former primary by less than this ends no lease. */
const skewMs = 20_000;

/**
 * A lease that began in the future: the clock of the database server was set back, and the lease would last as much
 * longer. Whether its holder lives is unknown, so it ends, as leases do when the clock is set forward. The clock of
 * SQLite is never set.
 */
const beganLater: Record<Engine, RawBuilder<unknown>> = {
  sqlite: sql`FALSE`,
  postgres: sql`tasks.holder IS NOT NULL AND tasks.lease_until > ${clock.postgres}
    AND coalesce(tasks.renewed_at, tasks.claimed_at) > ${clock.postgres} + ${sql.lit(skewMs)}`,
};

const unlocked: Record<Engine, RawBuilder<unknown>> = { sqlite: sql``, postgres: sql`` };
const skipLocked: Record<Engine, RawBuilder<unknown>> = { sqlite: sql``, postgres: sql`FOR UPDATE SKIP LOCKED` };

/** Which cases a claim has to handle; each is one index lookup. */
export type Situation = { ready: boolean; expired: boolean; limited: boolean };

const situation = onEach<object, Record<keyof Situation, number | boolean>>(
  (engine) => sql`SELECT EXISTS (SELECT 1 FROM tasks WHERE ${isReady}) AS ready,
    EXISTS (SELECT 1 FROM tasks WHERE ${hasExpired(engine)})
      OR EXISTS (SELECT 1 FROM tasks WHERE ${beganLater[engine]}) AS expired,
    EXISTS (SELECT 1 FROM run_limits) AS limited`,
);

export async function situationNow(query: Query, engine: Engine): Promise<Situation> {
  const [seen] = await situation[engine](query, {});
  return { ready: Boolean(seen?.ready), expired: Boolean(seen?.expired), limited: Boolean(seen?.limited) };
}

const readyQuery = (lock: Record<Engine, RawBuilder<unknown>>) => ({
  any: onEach<{ limit: number; without: List }, StoredTask>(
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
const ready = { unlocked: readyQuery(unlocked), locked: readyQuery(skipLocked) };

type ReadyFilter = { run: string | undefined; limit: number; without?: string[]; locked: boolean };

/**
 * Tasks that can be claimed, in queue order. `locked` locks them with SKIP LOCKED: concurrent claims skip them
 * instead of waiting.
 */
export function readyTasks(
  query: Query,
  engine: Engine,
  { run, limit, without = [], locked }: ReadyFilter,
): Promise<StoredTask[]> {
  const { any, ofRun } = locked ? ready.locked : ready.unlocked;
  if (run !== undefined) return ofRun[engine](query, { run, limit });
  return any[engine](query, { limit, without: listOf[engine](without) });
}

const expired = onEach<{ limit: number }, StoredTask>(
  (engine, slot) => sql`
    SELECT ${columns} FROM tasks WHERE ${hasExpired(engine)} OR ${beganLater[engine]}
    ORDER BY lease_until LIMIT ${slot("limit")} ${skipLocked[engine]}`,
);

/** Tasks whose lease is over by the store's clock, locked for the caller. */
export const expiredTasks = (tx: Query, engine: Engine, limit: number): Promise<StoredTask[]> =>
  expired[engine](tx, { limit });

type Changed = "state" | "attempt" | "epoch" | "holder" | "secret_hash" | "result";
type Engines<T> = Record<Engine, T>;

/** A change of a task with its event. */
export type Change = {
  /** The row as it was read; nothing is saved when it has changed. */
  row: Pick<StoredTask, "num" | "version" | "epoch" | "secret_hash" | "awaited" | "blockers_left">;
  to: Pick<StoredTask, Changed>;
  /** The new lease; null when the task is released. */
  leaseMs: number | null;
  /** Saves only under a valid lease, because the row may have been read long ago. */
  underClaim: boolean;
  event: WrittenEvent;
};

export type Lease = Pick<StoredTask, "claimed_at" | "lease_until">;

/**
 * Saves each change over the row that was read, with its event, and returns the leases of those that were
 * saved. The fence is in the predicate: a worker whose lease went to another changes nothing. It compares the
 * secret as well as the epoch, because a failover to a lagging replica can hand out an epoch a second time.
 */
export const saveTasks = (tx: Query, engine: Engine, changes: Change[]): Promise<Map<number, Lease>> =>
  changes.length === 0 ? Promise.resolve(new Map()) : saving[engine](tx, changes);

const saving: Engines<(tx: Query, changes: Change[]) => Promise<Map<number, Lease>>> = {
  async sqlite(tx, changes) {
    const now = await storeClock(tx, "sqlite");
    const counts = saveRow(
      tx,
      changes.map((change) => ({ change, now })),
    );
    const kept = changes.filter((_, index) => counts[index] === 1);
    insertEach(
      tx,
      kept.map(({ event }) => event),
    );
    return new Map(kept.map(({ row, leaseMs }) => [row.num, leaseFrom(now, leaseMs)]));
  },
  async postgres(tx, changes) {
    const rows = await saveList(tx, changes.map(sent));
    return new Map(rows.map(({ num, ...lease }) => [num, lease]));
  },
};

const leaseFrom = (now: number, ms: number | null): Lease =>
  ms === null ? { claimed_at: null, lease_until: null } : { claimed_at: now, lease_until: now + ms };

const saveRow = withEach<{ change: Change; now: number }>(
  (part) => sql`
    UPDATE tasks SET state = ${part(({ change }) => change.to.state)},
      attempt = ${part(({ change }) => change.to.attempt)}, epoch = ${part(({ change }) => change.to.epoch)},
      holder = ${part(({ change }) => change.to.holder)},
      secret_hash = ${part(({ change }) => change.to.secret_hash)}, result = ${part(({ change }) => change.to.result)},
      renewed_at = NULL, version = version + 1, updated_at = ${part(({ change }) => change.event.at)},
      claimed_at = ${part(({ change, now }) => leaseFrom(now, change.leaseMs).claimed_at)},
      lease_until = ${part(({ change, now }) => leaseFrom(now, change.leaseMs).lease_until)}
    WHERE num = ${part(({ change }) => change.row.num)} AND version = ${part(({ change }) => change.row.version)}
      AND epoch = ${part(({ change }) => change.row.epoch)}
      AND secret_hash IS ${part(({ change }) => change.row.secret_hash)}
      AND awaited = ${part(({ change }) => change.row.awaited)}
      AND blockers_left = ${part(({ change }) => change.row.blockers_left)}
      AND coalesce(lease_until, 0) >= ${part(({ change, now }) => (change.underClaim ? now : 0))}`,
);

export type SentChange = Pick<StoredTask, "num" | "version" | "awaited" | "blockers_left" | Changed> &
  WrittenEvent & { seen: number; seen_hash: string | null; lease_ms: number | null; under_claim: 0 | 1 };

export const sent = ({ row, to, leaseMs, underClaim, event }: Change): SentChange => ({
  num: row.num,
  version: row.version,
  seen: row.epoch,
  seen_hash: row.secret_hash,
  awaited: row.awaited,
  blockers_left: row.blockers_left,
  state: to.state,
  attempt: to.attempt,
  epoch: to.epoch,
  holder: to.holder,
  secret_hash: to.secret_hash,
  result: to.result,
  lease_ms: leaseMs,
  under_claim: underClaim ? 1 : 0,
  at: event.at,
  actor: event.actor,
  kind: event.kind,
  subject: event.subject,
  data: event.data,
});

export const sentColumns: Columns<SentChange> = {
  num: "bigint",
  version: "bigint",
  seen: "bigint",
  seen_hash: "text",
  awaited: "int",
  blockers_left: "bigint",
  state: "text",
  attempt: "bigint",
  epoch: "bigint",
  holder: "text",
  secret_hash: "text",
  result: "text",
  lease_ms: "bigint",
  under_claim: "int",
  at: "text",
  actor: "text",
  kind: "text",
  subject: "text",
  data: "text",
};

/** Saves what it can, with its events, and returns those rows. */
export const savedOf = (given: RawBuilder<unknown>) => sql`
  saved AS (
    UPDATE tasks SET state = given.state, attempt = given.attempt, epoch = given.epoch, holder = given.holder,
      secret_hash = given.secret_hash, result = given.result, version = tasks.version + 1, updated_at = given.at,
      renewed_at = NULL,
      claimed_at = CASE WHEN given.lease_ms IS NOT NULL THEN ${clock.postgres} END,
      lease_until = ${clock.postgres} + given.lease_ms
    FROM ${given}
    WHERE tasks.num = given.num AND tasks.version = given.version AND tasks.epoch = given.seen
      AND tasks.secret_hash IS NOT DISTINCT FROM given.seen_hash
      AND tasks.awaited = given.awaited AND tasks.blockers_left = given.blockers_left
      AND (given.under_claim = 0 OR tasks.lease_until >= ${clockByNow.postgres})
    RETURNING tasks.num, tasks.claimed_at, tasks.lease_until,
      given.at, given.actor, given.kind, given.subject, given.data
  )`;
export const eventsOfSaved = sql`SELECT at, actor, kind, subject, data FROM saved`;

export const saveList = withAll<SentChange, Lease & { num: number }>(
  sentColumns,
  (given) => sql`
    WITH ${savedOf(given)}, logged AS (INSERT INTO events (at, actor, kind, subject, data) ${eventsOfSaved})
    SELECT num, claimed_at, lease_until FROM saved`,
);

const renewRow = onEach<{ id: string; epoch: number; hash: string; ms: number }, { lease_until: number }>(
  (engine, slot) => sql`
    UPDATE tasks SET lease_until = ${clockByNow[engine]} + ${slot("ms")}, renewed_at = ${clockByNow[engine]}
    WHERE id = ${slot("id")} AND epoch = ${slot("epoch")} AND secret_hash = ${slot("hash")} AND holder IS NOT NULL
      AND lease_until >= ${clockByNow[engine]}
    RETURNING lease_until`,
);

/** Renews a lease if the claim with this epoch and secret still holds the task. */
export async function renewLease(
  tx: Query,
  engine: Engine,
  { id, epoch, secret, ms }: { id: string; epoch: number; secret: string; ms: number },
): Promise<number | undefined> {
  const [row] = await renewRow[engine](tx, { id, epoch, hash: hashOfSecret(secret), ms: Math.round(ms) });
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
 * The number of further tasks that each limited run may hold. `locked` keeps it valid for the transaction. The
 * lock is a statement of its own: on PostgreSQL a statement that waited for a lock counts rows as of before.
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
