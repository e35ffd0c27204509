import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import { recordLate } from "../store/fence.ts";
import { noSuch } from "../store/no-such.ts";
import { limitRun, readyTasks, renewLease, roomOfRuns, type Situation, situationNow } from "../store/queries/claims.ts";
import {
  dependenciesOf,
  findTask,
  listTasks,
  lockTasks,
  lostAncestors,
  type StoredTask,
  saveWords,
} from "../store/queries/tasks.ts";
import { batched } from "./batched.ts";
import { createTasks, type NewTask, turnAt } from "./create.ts";
import { changedMeanwhile, claimCache, fence, type Held, heldBy, iso } from "./holder.ts";
import {
  type ClaimRequest,
  claimOf,
  claimReady,
  fencedStep,
  freeExpired,
  type Move,
  move,
  stepAndClaim,
} from "./moves.ts";
import { wordsFor } from "./state-words.ts";
import { fromRow, shownState, type Task } from "./task.ts";
import type { Step } from "./transition.ts";

export type Strategy = "queue" | "lease" | "optimistic";

export type Claim = { task: Task; epoch: number; expiresAt: string };
type Deps = {
  db: Database;
  strategy: Strategy;
  leaseMs: number;
  now(): Date;
  newId(prefix: string): string;
  /** Maximum number of requests in one transaction; with 2, one worker ends a task and claims the next. */
  batchSize?: number;
};

type Request = { move: Move } | { want: ClaimRequest };
type Answer = Result<Task> | Task | undefined;

/** Transactions in parallel. SQLite has one writer; on PostgreSQL few lanes make larger batches. */
const lanes = { sqlite: 1, postgres: 4 };
/** Without batching, as many as leave connections for readers. */
const lanesUnbatched = { sqlite: 1, postgres: 8 };
const candidates = 16;
const mostTries = 50;
/** How long the situation is trusted while every request gets a task. */
const situationMs = 200;

/**
 * Tasks and their claims. A claim is a holder, a lease by the store's clock, and an epoch that grows
 * with every claim; a write under a claim names its epoch and is refused once a newer one exists,
 * however late its worker wakes up. Concurrent requests of one process share a transaction, steps
 * before claims: a worker that ends a task and claims the next needs one commit.
 */
export function taskEngine({ db, strategy, leaseMs, now, newId, batchSize = 200 }: Deps) {
  const { engine } = db;
  const far = engine === "postgres";
  const counts = { claims: 0, conflicts: 0 };

  const cache = claimCache();
  /** Tasks that workers of this process are trying to claim. */
  const tried = new Set<string>();
  let seen: Situation = { ready: false, expired: false, limited: false };
  let situationUntil = 0;

  const ask = batched<Request, Answer>(
    { size: batchSize, lanes: (batchSize <= 2 ? lanesUnbatched : lanes)[engine], far },
    async (requests) => {
      const moves = requests.flatMap((request) => ("move" in request ? request.move : []));
      const wants = requests.flatMap((request) => ("want" in request ? request.want : []));
      // A request that finds nothing must not write: the change would wake all other waiting workers.
      const takes = wants.length > 0 && (await anythingToTake(wants.map(({ run }) => run)));
      const { moved, given } = await answer[engine](moves, takes ? wants : []);
      if (takes && given.includes(undefined)) situationUntil = 0;
      return requests.map((request) => ("move" in request ? moved.shift() : given.shift()));
    },
  );

  type Answered = { moved: Result<Task>[]; given: (Task | undefined)[] };

  async function inTransaction(moves: Move[], wants: ClaimRequest[]): Promise<Answered> {
    if (moves.length + wants.length === 0) return { moved: [], given: [] };
    return db.write(async (tx) => {
      const moved = moves.length > 0 ? await move(tx, { engine, now }, moves) : [];
      const given = wants.length > 0 ? await claimReady(tx, { engine, now }, wants, seen) : [];
      return { moved, given };
    });
  }

  /** On PostgreSQL one statement replaces a transaction of five round trips where it can. */
  async function inOneStatement(moves: Move[], wants: ClaimRequest[]): Promise<Answered> {
    const quick = seen.limited || seen.expired || new Set(wants.map(({ run }) => run)).size > 1 ? [] : wants;
    const { moved, given } = await stepAndClaim(db, { engine, now }, moves, quick);
    const left = moves.filter((one) => !moved.has(one));
    const rest = await inTransaction(left, quick === wants ? [] : wants);
    const answers = new Map(left.map((one, index) => [one, rest.moved[index]]));
    return {
      moved: moves.map((one) => {
        const task = moved.get(one);
        return task ? ok(task) : (answers.get(one) as Result<Task>);
      }),
      given: quick === wants ? given : rest.given,
    };
  }

  const answer = { sqlite: inTransaction, postgres: inOneStatement };

  async function askMove(wanted: Move): Promise<Result<Task>> {
    const moved = (await ask({ move: wanted })) as Result<Task>;
    if (moved.ok) cache.put(moved.value);
    return moved;
  }

  async function anythingToTake(runs: (string | undefined)[]): Promise<boolean> {
    if (performance.now() < situationUntil) return true;
    seen = await situationNow(db.read, engine);
    const takes = seen.expired || (seen.ready && (await anyReady(new Set(runs))));
    situationUntil = takes ? performance.now() + situationMs : 0;
    return takes;
  }

  async function anyReady(runs: Set<string | undefined>): Promise<boolean> {
    if (runs.has(undefined)) return true;
    for (const run of runs)
      if ((await readyTasks(db.read, engine, { run, limit: 1, locked: false })).length > 0) return true;
    return false;
  }

  const heldClaim = (task: Task): Claim => ({ task, epoch: task.epoch, expiresAt: iso(task.leaseUntil) });

  /** Each is correct between processes and machines; they differ in lock contention. */
  const strategies: Record<Strategy, (worker: string, run: string | undefined) => Promise<Claim | undefined>> = {
    /** Reads and claims in one transaction with skipped locks: workers never meet at a task. */
    async queue(worker, run) {
      const task = (await ask({ want: { worker, run, leaseMs } })) as Task | undefined;
      if (!task) return undefined;
      cache.put(task);
      return heldClaim(task);
    },
    /** Reads, then claims that task; a worker that comes second gets the holder. */
    lease: (worker, run) =>
      amongReady(run, async (task, known) => {
        const locked = await lockNow(task.id, worker, leaseMs, known);
        return locked.ok && "epoch" in locked.value ? locked.value : undefined;
      }),
    /** Reads, then writes over the version that was read; a worker that is second tries another task. */
    optimistic: (worker, run) =>
      amongReady(run, async ({ id, version }, known) => {
        const decide = (task: Task): Result<Step> =>
          task.version === version ? ok({ type: "claim", by: worker }) : refuse("conflict", "the task has changed");
        const taken = await askMove({ id, actor: worker, decide, leaseMs, known });
        return taken.ok ? heldClaim(taken.value) : undefined;
      }),
  };

  /** Concurrent lookups share one query and get one task each. */
  const look = batched<string | undefined, Task | undefined>({ size: batchSize, lanes: 1, far }, async (runs) => {
    if (!(await anythingToTake(runs))) return runs.map(() => undefined);
    if (seen.expired) {
      await db.write((tx) => freeExpired(tx, { engine, now }));
      seen = { ...seen, expired: false };
    }
    const room = seen.limited ? await roomOfRuns(db.read, engine, false) : new Map<string, number>();
    const full = [...room].filter(([, left]) => left <= 0).map(([name]) => name);
    const found = new Map<string | undefined, StoredTask[]>();
    for (const run of new Set(runs)) {
      if (run !== undefined && full.includes(run)) continue;
      const limit = candidates + tried.size + runs.length;
      const rows = await readyTasks(db.read, engine, { run, limit, without: full, locked: false });
      found.set(
        run,
        rows.filter((row) => !cache.isStale(row)),
      );
    }
    return runs.map((run) => {
      // `tried` keeps workers of this process apart; the random choice keeps processes apart.
      const free = (found.get(run) ?? []).filter((row) => !tried.has(row.id));
      const best = free.filter((row) => row.priority === free[0]?.priority);
      const row = best[Math.floor(Math.random() * best.length)];
      if (row) tried.add(row.id);
      return row && fromRow(row);
    });
  });

  /** Passes the task as `known` to save a read, except where limits of runs must be counted under a lock. */
  async function amongReady(
    run: string | undefined,
    attempt: (task: Task, known: Task | undefined) => Promise<Claim | undefined>,
  ): Promise<Claim | undefined> {
    for (let tries = 0; tries < mostTries; tries++) {
      const task = await look(run);
      if (!task) break;
      const claim = await attempt(task, seen.limited ? undefined : task).finally(() => tried.delete(task.id));
      if (claim) return claim;
      counts.conflicts++;
    }
    situationUntil = 0;
    return undefined;
  }

  /** Claims this task and no other, to work on it or, once there is output, to verify it. */
  async function lock(id: string, worker: string, ms = leaseMs): Promise<Result<Claim | Held>> {
    const { expired } = await situationNow(db.read, engine);
    if (expired) await db.write((tx) => freeExpired(tx, { engine, now }));
    return lockNow(id, worker, ms);
  }

  async function lockNow(id: string, worker: string, ms: number, known?: Task): Promise<Result<Claim | Held>> {
    const locked = await askMove({ ...claimOf(id, worker, ms), known });
    if (locked.ok) return ok(heldClaim(locked.value));
    const { details } = locked.problem;
    return details && "holder" in details ? ok(details as Held) : locked;
  }

  /** One step of a task: under a claim, which `epoch` names, or of a task that has no holder. */
  async function step(id: string, wanted: Step, actor: string, epoch?: number): Promise<Result<Task>> {
    const done = await askMove({ ...fencedStep(id, wanted, actor, epoch), known: cache.get(id, epoch) });
    if (!done.ok && done.problem.details?.late)
      await recordLate({ db, now }, { actor, task: id, step: wanted.type, epoch });
    return done;
  }

  /** Changes title, description and priority, under the same fence as a step. */
  async function edit(
    id: string,
    change: { title?: string; description?: string; priority?: number },
    actor: string,
    epoch?: number,
  ): Promise<Result<Task>> {
    return db.write(async (tx): Promise<Result<Task>> => {
      const [row] = await lockTasks(tx, engine, [id]);
      if (!row) return noSuch(tx, "task", id);
      const fenced = fence(fromRow(row), Number(row.now), epoch);
      if (!fenced.ok) return fenced;
      const at = now().toISOString();
      const turn = change.priority === undefined ? {} : { turn_at: turnAt(row.created_at, change.priority) };
      const saved = await saveWords(tx, row, { ...change, ...turn }, at);
      if (!saved) return changedMeanwhile(id);
      await appendEvent(tx, { at, actor, kind: "task-edited", subject: `task:${id}`, data: change });
      return ok(fromRow(saved));
    });
  }

  /** Creates all of them or none; they may name each other by `key`. */
  const createMany = (wanted: NewTask[], by: string) =>
    db.write((tx) => createTasks(tx, { engine, now, newId }, wanted, by));

  return {
    async create(wanted: NewTask, by: string): Promise<Result<Task>> {
      const made = await createMany([wanted], by);
      return made.ok ? ok(made.value[0] as Task) : made;
    },
    createMany,
    lock,
    step,
    edit,

    async claim(worker: string, run?: string): Promise<Claim | undefined> {
      const claim = await strategies[strategy](worker, run);
      if (claim) counts.claims++;
      return claim;
    },

    async renew(id: string, epoch: number, ms = leaseMs): Promise<Result<{ expiresAt: string }>> {
      const until = await db.write((tx) => renewLease(tx, engine, { id, epoch, ms }));
      if (until !== undefined) return ok({ expiresAt: iso(until) });
      return refuse("conflict", `task ${id}: the claim with epoch ${epoch} has ended`, {
        late: true,
        next: [{ operation: "lock_todo", input: { id }, to: "claim it again" }],
      });
    },

    /** Releases a task; with `force`, whoever holds it. Returns the claim that ended. */
    async release(
      id: string,
      actor: string,
      how: { epoch: number } | { force: true },
    ): Promise<Result<{ task: Task; from: Held }>> {
      let from: Held | undefined;
      const decide = (task: Task, clock: number): Result<Step> => {
        if (task.holder === null)
          return refuse("conflict", `task ${id} is not claimed; it is ${wordsFor(shownState(task))}`);
        from = heldBy(task, clock);
        if ("epoch" in how && how.epoch !== task.epoch) {
          const message = `task ${id}: the claim with epoch ${how.epoch} has ended; ${task.holder} holds epoch ${task.epoch}`;
          return refuse("conflict", message, { late: true });
        }
        return ok({ type: "release", reason: "force" in how ? `released by ${actor}` : "released" });
      };
      const released = await askMove({ id, actor, decide });
      return released.ok ? ok({ task: released.value, from: from as Held }) : released;
    },

    /** Limits how many tasks of the run are held at once; null removes the limit. */
    async limit(run: string, most: number | null, actor: string): Promise<void> {
      await db.write(async (tx) => {
        await limitRun(tx, run, most);
        await appendEvent(tx, {
          at: now().toISOString(),
          actor,
          kind: "run-limited",
          subject: `run:${run}`,
          data: { most },
        });
      });
      situationUntil = 0;
    },

    async find(id: string): Promise<Task | undefined> {
      const row = await findTask(db.read, id);
      return row && fromRow(row);
    },
    list: async (filter: { run?: string; state?: string; after?: number; limit: number }) =>
      (await listTasks(db.read, filter)).map(fromRow),
    dependencies: async (id: string) => (await dependenciesOf(db.read, id)).map(fromRow),
    lostAncestors: (id: string) => lostAncestors(db.read, id),
    counts: () => ({ ...counts }),
  };
}

export type TaskEngine = ReturnType<typeof taskEngine>;
