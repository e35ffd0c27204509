import { ok, type Result, refuse } from "../kernel/result.ts";
import { newClaim } from "../store/claim-secret.ts";
import type { Database } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import { checkClaim, type Held, heldBy, iso, type NamedClaim, recordingRefused } from "../store/fence.ts";
import { isKeyed } from "../store/idempotency.ts";
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
import { changedMeanwhile } from "./apply-steps.ts";
import { batched } from "./batched.ts";
import { claimCache } from "./claim-cache.ts";
import { createTasks, type NewTask, turnAt } from "./create.ts";
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

/** Every write under the claim carries epoch and secret. No read returns the secret. */
export type Claim = { task: Task; epoch: number; secret: string; expiresAt: string };
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
 * Tasks and their claims. A claim is a holder, a lease by the store's clock, an epoch that grows with every
 * claim, and a secret that only the claimer gets. A write under a claim carries both; it is refused once a newer
 * claim exists, however late its worker wakes up. Concurrent requests of one process share a transaction, steps
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

  const together = batched<Request, Answer>(
    { size: batchSize, lanes: (batchSize <= 2 ? lanesUnbatched : lanes)[engine], far },
    (requests) => answerAll(requests, answer[engine]),
  );
  /** A call with an idempotency key has a transaction of its own. */
  const ask = async (request: Request): Promise<Answer> =>
    isKeyed() ? (await answerAll([request], inTransaction))[0] : together(request);

  async function answerAll(requests: Request[], inDatabase: typeof inTransaction): Promise<Answer[]> {
    const moves = requests.flatMap((request) => ("move" in request ? request.move : []));
    const wants = requests.flatMap((request) => ("want" in request ? request.want : []));
    // A request that finds nothing must not write: the change would wake all other waiting workers.
    const takes = wants.length > 0 && (await anythingToTake(wants.map(({ run }) => run)));
    const { moved, given } = await inDatabase(moves, takes ? wants : []);
    if (takes && given.includes(undefined)) situationUntil = 0;
    return requests.map((request) => ("move" in request ? moved.shift() : given.shift()));
  }

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

  const heldClaim = (task: Task, secret: string): Claim => ({
    task,
    epoch: task.epoch,
    secret,
    expiresAt: iso(task.leaseUntil),
  });

  /** Each is correct between processes and machines; they differ in lock contention. */
  const strategies: Record<Strategy, (worker: string, run: string | undefined) => Promise<Claim | undefined>> = {
    /** Reads and claims in one transaction with skipped locks: workers never meet at a task. */
    async queue(worker, run) {
      const { secret, claim } = newClaim(leaseMs);
      const task = (await ask({ want: { worker, run, claim } })) as Task | undefined;
      if (!task) return undefined;
      cache.put(task);
      return heldClaim(task, secret);
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
        const { secret, claim } = newClaim(leaseMs);
        const taken = await askMove({ id, actor: worker, decide, claim, known });
        return taken.ok ? heldClaim(taken.value, secret) : undefined;
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
    const { secret, claim } = newClaim(ms);
    const locked = await askMove({ ...claimOf(id, worker, claim), known });
    if (locked.ok) return ok(heldClaim(locked.value, secret));
    const { details } = locked.problem;
    return details && "holder" in details ? ok(details as Held) : locked;
  }

  /** One step of a task: under a claim, or of a task that has no holder. */
  async function step(id: string, wanted: Step, actor: string, under: NamedClaim = {}): Promise<Result<Task>> {
    const done = await askMove({ ...fencedStep(id, wanted, actor, under), known: cache.get(id, under.epoch) });
    if (done.ok) return done;
    cache.drop(id);
    return recording(id, actor, wanted.type, under, async () => done);
  }

  const recording = <T>(
    id: string,
    actor: string,
    what: string,
    { epoch }: NamedClaim,
    write: () => Promise<Result<T>>,
  ) => recordingRefused({ db, now }, { name: actor, task: id, epoch }, what, write);

  /** Changes title, description and priority, under the same fence as a step. */
  async function edit(
    id: string,
    change: { title?: string; description?: string; priority?: number },
    actor: string,
    under: NamedClaim = {},
  ): Promise<Result<Task>> {
    return recording(id, actor, "edit", under, () =>
      db.write(async (tx): Promise<Result<Task>> => {
        const [row] = await lockTasks(tx, engine, [id]);
        if (!row) return noSuch(tx, "task", id);
        const allowed = checkClaim(fromRow(row), Number(row.now), under);
        if (!allowed.ok) return allowed;
        const at = now().toISOString();
        const turn = change.priority === undefined ? {} : { turn_at: turnAt(row.created_at, change.priority) };
        const saved = await saveWords(tx, row, { ...change, ...turn }, at);
        if (!saved) return changedMeanwhile(id);
        await appendEvent(tx, { at, actor, kind: "task-edited", subject: `task:${id}`, data: change });
        return ok(fromRow(saved));
      }),
    );
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

    async renew(id: string, { epoch, secret }: NamedClaim, ms = leaseMs): Promise<Result<{ expiresAt: string }>> {
      return db.write(async (tx): Promise<Result<{ expiresAt: string }>> => {
        if (epoch !== undefined && secret !== undefined) {
          const until = await renewLease(tx, engine, { id, epoch, secret, ms });
          if (until !== undefined) return ok({ expiresAt: iso(until) });
        }
        const [row] = await lockTasks(tx, engine, [id]);
        if (!row) return noSuch(tx, "task", id);
        const allowed = checkClaim(fromRow(row), Number(row.now), { epoch, secret });
        return allowed.ok ? changedMeanwhile(id) : allowed;
      });
    },

    /** Cancels a task. One of a run is cancelled under whatever claim it is, as cancelling the run would do. */
    cancel(id: string, reason: string, actor: string): Promise<Result<Task>> {
      const decide = (task: Task, clock: number): Result<Step> => {
        const allowed = task.run === null ? checkClaim(task, clock, {}) : ok(true);
        return allowed.ok ? ok({ type: "cancel", reason }) : allowed;
      };
      return askMove({ id, actor, decide });
    },

    /** Releases a task: under its claim or, with `force`, whoever holds it. Returns the claim that ended. */
    async release(
      id: string,
      actor: string,
      how: NamedClaim | { force: true },
    ): Promise<Result<{ task: Task; from: Held }>> {
      let from: Held | undefined;
      const isForced = "force" in how;
      const decide = (task: Task, clock: number): Result<Step> => {
        if (task.holder === null)
          return refuse("conflict", `task ${id} is not claimed; it is ${wordsFor(shownState(task))}`);
        from = heldBy(task, clock);
        if (isForced) return ok({ type: "release", reason: `released by ${actor}`, forced: true, from: task.holder });
        // A claim whose lease has expired can still be released by its holder.
        const allowed = checkClaim(task, Number.NEGATIVE_INFINITY, how);
        return allowed.ok ? ok({ type: "release", reason: "released" }) : allowed;
      };
      const release = () => askMove({ id, actor, decide });
      const released = isForced ? await release() : await recording(id, actor, "release", how, release);
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
