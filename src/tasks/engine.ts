import { ok, type Result, refuse } from "../result.ts";
import type { Database, Query } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import {
  dependenciesOf,
  expiredTasks,
  findTask,
  freeDependents,
  insertTask,
  listTasks,
  lockTask,
  lostAncestors,
  readyTasks,
  renewLease,
  type StoredTask,
  saveTask,
  storeClock,
  tasksAmong,
  tellDescendants,
} from "../store/tasks.ts";
import { isOver, type State, type Task } from "./task.ts";
import { type Step, transition } from "./transition.ts";

export type Strategy = "queue" | "lease" | "optimistic";

export type Claim = { task: Task; epoch: number; expiresAt: string };
export type Held = { holder: string; since: string; until: string; alive: boolean };

export type NewTask = {
  title: string;
  description: string;
  dependsOn: string[];
  priority: number;
  run: string | null;
  maxRetries: number;
};

type Deps = {
  db: Database;
  strategy: Strategy;
  leaseMs: number;
  now(): Date;
  newId(prefix: string): string;
};

const expiredAtOnce = 50;
const candidates = 16;
const mostTries = 50;

/**
 * Tasks and who holds them. A claim is a holder, a lease by the store's clock, and an epoch that
 * grows with every claim; whatever is written under a claim names its epoch and is refused once a
 * newer one exists, however late its worker wakes up.
 */
export function taskEngine({ db, strategy, leaseMs, now, newId }: Deps) {
  const { engine } = db;
  let conflicts = 0;

  async function create(wanted: NewTask, by: string): Promise<Result<Task>> {
    const dependsOn = [...new Set(wanted.dependsOn)];
    return db.write(async (tx): Promise<Result<Task>> => {
      const found = await tasksAmong(tx, dependsOn);
      const unknown = dependsOn.filter((id) => !found.some((task) => task.id === id));
      if (unknown.length > 0) return refuse("invalid", `depends_on: there is no task ${unknown.join(", ")}`);
      const at = now().toISOString();
      const lost = await Promise.all(found.map(async (task) => (await lostAncestors(tx, task.id)).map((l) => l.id)));
      const lostSelf = found
        .filter((task) => task.state === "failed" || task.state === "cancelled")
        .map((task) => task.id);
      const row = {
        id: newId("task"),
        run: wanted.run,
        title: wanted.title,
        description: wanted.description,
        state: "pending",
        priority: wanted.priority,
        attempt: 0,
        max_retries: wanted.maxRetries,
        blockers_left: found.filter((task) => task.state !== "completed").length,
        lost_blockers: new Set([...lost.flat(), ...lostSelf]).size,
        epoch: 0,
        holder: null,
        claimed_at: null,
        lease_until: null,
        result: "{}",
        version: 1,
        created_at: at,
        created_by: by,
        updated_at: at,
      };
      await insertTask(tx, row, dependsOn);
      const data = { run: row.run, title: row.title, dependsOn, priority: row.priority, state: row.state };
      await appendEvent(tx, { at, actor: by, kind: "task-created", subject: `task:${row.id}`, data });
      return ok(fromRow({ ...row, num: 0 }));
    });
  }

  /** Takes one step in the caller's transaction; undefined when someone else was faster. */
  async function take(
    tx: Query,
    row: StoredTask,
    step: Step,
    actor: string,
    lease?: number,
  ): Promise<Result<Task> | undefined> {
    const next = transition(fromRow(row), step);
    if (!next.ok) return next;
    const { result, ...change } = next.value;
    const at = now().toISOString();
    const ms = change.holder === null ? null : lease;
    const saved = await saveTask(tx, engine, row, { ...change, result: JSON.stringify(result) }, at, ms);
    if (!saved) return undefined;
    const { type, ...said } = step;
    const data = { ...said, ...change, run: row.run, result };
    await appendEvent(tx, { at, actor, kind: `task-${type}`, subject: `task:${row.id}`, data });
    const from = row.state as State;
    if (saved.state === "completed") await freeDependents(tx, engine, row.id);
    if (isOver(saved.state as State) && saved.state !== "completed") await tellDescendants(tx, row.id, 1);
    if (isOver(from) && !isOver(saved.state as State)) await tellDescendants(tx, row.id, -1);
    return ok(fromRow(saved));
  }

  /** Leases that ran out go back before anyone looks for work. */
  async function freeExpired(tx: Query): Promise<void> {
    for (const row of await expiredTasks(tx, engine, { limit: expiredAtOnce, locked: true })) {
      await take(tx, row, { type: "release", reason: "the lease ran out" }, row.holder ?? "nobody");
    }
  }

  const claimOf = (task: Task): Claim => ({ task, epoch: task.epoch, expiresAt: iso(task.leaseUntil) });

  /** Three ways to come to one claim; each is correct between processes and machines, they differ in what waits. */
  const ways: Record<Strategy, (worker: string, run: string | undefined) => Promise<Claim | undefined>> = {
    /** Look and take in one transaction: nobody else can have looked at the same task. */
    queue: (worker, run) =>
      db.write(async (tx) => {
        await freeExpired(tx);
        const [row] = await readyTasks(tx, engine, { run, limit: 1, locked: true });
        const taken = row && (await take(tx, row, { type: "claim", by: worker }, worker, leaseMs));
        return taken?.ok ? claimOf(taken.value) : undefined;
      }),
    /** Look, then lock that one: the lock is explicit, and says who has it. */
    lease: (worker, run) =>
      amongReady(run, async ({ id }) => {
        const locked = await lock(id, worker, leaseMs);
        return locked.ok && "epoch" in locked.value ? locked.value : undefined;
      }),
    /** Look, then write over the version that was seen: whoever is second finds another. */
    optimistic: (worker, run) =>
      amongReady(run, (row) =>
        db.write(async (tx) => {
          const taken = await take(tx, row, { type: "claim", by: worker }, worker, leaseMs);
          return taken?.ok ? claimOf(taken.value) : undefined;
        }),
      ),
  };

  async function anythingToTake(run: string | undefined): Promise<boolean> {
    const [ready] = await readyTasks(db.read, engine, { run, limit: 1, locked: false });
    const [expired] = ready ? [ready] : await expiredTasks(db.read, engine, { limit: 1, locked: false });
    return expired !== undefined;
  }

  async function amongReady(
    run: string | undefined,
    attempt: (row: StoredTask) => Promise<Claim | undefined>,
  ): Promise<Claim | undefined> {
    const [expired] = await expiredTasks(db.read, engine, { limit: 1, locked: false });
    if (expired) await db.write(freeExpired);
    for (let tries = 0; tries < mostTries; tries++) {
      const ready = await readyTasks(db.read, engine, { run, limit: candidates, locked: false });
      const best = ready.filter((row) => row.priority === ready[0]?.priority);
      const row = best[Math.floor(Math.random() * best.length)];
      if (!row) return undefined;
      const claim = await attempt(row);
      if (claim) return claim;
      conflicts++;
    }
    return undefined;
  }

  async function lock(id: string, worker: string, ms = leaseMs): Promise<Result<Claim | Held>> {
    return db.write(async (tx): Promise<Result<Claim | Held>> => {
      await freeExpired(tx);
      const row = await lockTask(tx, engine, id);
      if (!row) return noTask(id);
      if (row.holder !== null) return ok(await heldBy(tx, row));
      const taken = await take(
        tx,
        row,
        { type: row.state === "worker_completed" ? "verify" : "claim", by: worker },
        worker,
        ms,
      );
      if (!taken) return refuse("conflict", `task ${id} changed while you were locking it`);
      return taken.ok ? ok(claimOf(taken.value)) : taken;
    });
  }

  async function heldBy(query: Query, row: StoredTask): Promise<Held> {
    const alive = (row.lease_until ?? 0) >= (await storeClock(query, engine));
    return { holder: row.holder ?? "", since: iso(row.claimed_at), until: iso(row.lease_until), alive };
  }

  /** One step of a task. Under a claim it names the epoch; without one, only what nobody holds can be moved. */
  async function step(id: string, wanted: Step, actor: string, epoch?: number): Promise<Result<Task>> {
    const done = await db.write(async (tx): Promise<Result<Task>> => {
      const row = await lockTask(tx, engine, id);
      if (!row) return noTask(id);
      const fenced = await fence(tx, row, epoch);
      if (!fenced.ok) return fenced;
      const taken = await take(tx, row, wanted, actor);
      return taken ?? refuse("conflict", `task ${id} changed while you were at it`);
    });
    if (!done.ok && done.problem.details?.late) await recordLate(id, actor, wanted.type, epoch);
    return done;
  }

  async function fence(tx: Query, row: StoredTask, epoch: number | undefined): Promise<Result<true>> {
    if (epoch === undefined && row.holder === null) return ok(true);
    if (epoch === undefined) {
      const held = await heldBy(tx, row);
      return refuse(
        "conflict",
        `task ${row.id} is held by ${held.holder} until ${held.until}; a write under a claim names its epoch`,
        held,
      );
    }
    const expired = row.holder !== null && (row.lease_until ?? 0) < (await storeClock(tx, engine));
    if (epoch === row.epoch && row.holder !== null && !expired) return ok(true);
    const why = epoch < row.epoch ? `epoch ${epoch} is over, the task is at ${row.epoch}` : "its lease has run out";
    return refuse("conflict", `task ${row.id}: ${why}; nothing was written`, {
      late: true,
      epoch: row.epoch,
      state: row.state,
    });
  }

  /** A worker that woke up too late is worth knowing about. */
  const recordLate = (id: string, actor: string, type: string, epoch: number | undefined) =>
    db.write((tx) => {
      const event = { at: now().toISOString(), actor, kind: "task-write-refused", subject: `task:${id}` };
      return appendEvent(tx, { ...event, data: { step: type, epoch: epoch ?? null } });
    });

  /** Words and priority can be changed by whoever holds the task, or by anyone while nobody does. */
  async function edit(
    id: string,
    change: { title?: string; description?: string; priority?: number },
    actor: string,
    epoch?: number,
  ): Promise<Result<Task>> {
    return db.write(async (tx): Promise<Result<Task>> => {
      const row = await lockTask(tx, engine, id);
      if (!row) return noTask(id);
      const fenced = await fence(tx, row, epoch);
      if (!fenced.ok) return fenced;
      const at = now().toISOString();
      const saved = await saveTask(tx, engine, row, change, at);
      if (!saved) return refuse("conflict", `task ${id} changed while you were at it`);
      await appendEvent(tx, { at, actor, kind: "task-edited", subject: `task:${id}`, data: change });
      return ok(fromRow(saved));
    });
  }

  return {
    create,
    lock,
    step,
    edit,
    /** Looks first: who waits for work must not write, or those who wait would wake each other without end. */
    claim: async (worker: string, run?: string): Promise<Claim | undefined> =>
      (await anythingToTake(run)) ? ways[strategy](worker, run) : undefined,

    async renew(id: string, epoch: number, ms = leaseMs): Promise<Result<{ expiresAt: string }>> {
      const until = await db.write((tx) => renewLease(tx, engine, id, epoch, ms));
      if (until !== undefined) return ok({ expiresAt: iso(until) });
      return refuse("conflict", `task ${id}: epoch ${epoch} holds it no longer`, { late: true });
    },

    /** Gives a task back; with `force`, takes it from whoever holds it, and says who that was. */
    async release(
      id: string,
      actor: string,
      how: { epoch: number } | { force: true },
    ): Promise<Result<{ task: Task; from: Held | null }>> {
      return db.write(async (tx): Promise<Result<{ task: Task; from: Held | null }>> => {
        const row = await lockTask(tx, engine, id);
        if (!row) return noTask(id);
        if (row.holder === null) return refuse("conflict", `nobody holds task ${id}; it is ${row.state}`);
        const from = await heldBy(tx, row);
        if ("epoch" in how && how.epoch !== row.epoch) {
          return refuse("conflict", `task ${id}: epoch ${how.epoch} is over, ${from.holder} holds it at ${row.epoch}`, {
            late: true,
          });
        }
        const reason = "force" in how ? `broken by ${actor}` : "given back";
        const taken = await take(tx, row, { type: "release", reason }, actor);
        if (!taken) return refuse("conflict", `task ${id} changed while you were at it`);
        return taken.ok ? ok({ task: taken.value, from }) : taken;
      });
    },

    async find(id: string): Promise<Task | undefined> {
      const row = await findTask(db.read, id);
      return row && fromRow(row);
    },
    list: async (filter: { run?: string; state?: string; after?: number; limit: number }) =>
      (await listTasks(db.read, filter)).map((row) => ({ ...fromRow(row), num: row.num })),
    dependencies: async (id: string) => (await dependenciesOf(db.read, id)).map(fromRow),
    lostAncestors: (id: string) => lostAncestors(db.read, id),
    conflicts: () => conflicts,
  };
}

export type TaskEngine = ReturnType<typeof taskEngine>;

const noTask = (id: string) => refuse("not_found", `there is no task ${id}; see: scriptorium task list`);
const iso = (ms: number | null) => new Date(Number(ms ?? 0)).toISOString();

const fromRow = (row: StoredTask): Task => ({
  id: row.id,
  run: row.run,
  title: row.title,
  description: row.description,
  state: row.state as State,
  priority: row.priority,
  attempt: row.attempt,
  maxRetries: row.max_retries,
  blockersLeft: row.blockers_left,
  lostBlockers: row.lost_blockers,
  epoch: row.epoch,
  holder: row.holder,
  claimedAt: row.claimed_at,
  leaseUntil: row.lease_until,
  result: JSON.parse(row.result),
  version: row.version,
  createdAt: row.created_at,
  createdBy: row.created_by,
  updatedAt: row.updated_at,
});
