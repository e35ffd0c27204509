import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import { recordLate } from "../store/fence.ts";
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
import { createTasks, type NewTask, turnAt } from "./create.ts";
import { fence, type Held, heldBy, heldTasks, iso } from "./held.ts";
import { claimReady, endAndTakeNext, freeExpired, type Move, move, noTask, type Want } from "./moves.ts";
import { fromRow, type Task } from "./task.ts";
import { together } from "./together.ts";
import type { Step } from "./transition.ts";

export type Strategy = "queue" | "lease" | "optimistic";

export type Claim = { task: Task; epoch: number; expiresAt: string };
type Deps = {
  db: Database;
  strategy: Strategy;
  leaseMs: number;
  now(): Date;
  newId(prefix: string): string;
  /** How many requests may share a transaction; with 2, one worker ends a task and takes the next. */
  mostTogether?: number;
};

type Request = { move: Move } | { want: Want };
type Answer = Result<Task> | Task | undefined;

/** SQLite has one writer; on PostgreSQL others work while the first waits for its commit. Few, so that many share one. */
const lanes = { sqlite: 1, postgres: 4 };
/** Where nobody shares, as many as leave a connection for those who read. */
const lanesAlone = { sqlite: 1, postgres: 8 };
const candidates = 16;
const mostTries = 50;
/** While everyone who asks is given a task, nobody looks around more often than this. */
const lookEveryMs = 200;

/**
 * Tasks and who holds them. A claim is a holder, a lease by the store's clock, and an epoch that
 * grows with every claim; whatever is written under a claim names its epoch and is refused once a
 * newer one exists, however late its worker wakes up. What workers of one process ask at the same
 * time is done in one transaction, steps before claims: whoever ends a task and asks for the next in
 * the same breath gets both with one commit.
 */
export function taskEngine({ db, strategy, leaseMs, now, newId, mostTogether = 200 }: Deps) {
  const { engine } = db;
  const far = engine === "postgres";
  const counts = { claims: 0, conflicts: 0 };

  const held = heldTasks();
  /** What workers of this process are about to take. */
  const tried = new Set<string>();
  let seen: Situation = { ready: false, expired: false, limited: false };
  let lookAgainAt = 0;

  const ask = together<Request, Answer>(
    { most: mostTogether, lanes: (mostTogether <= 2 ? lanesAlone : lanes)[engine], far },
    async (requests) => {
      const moves = requests.flatMap((request) => ("move" in request ? request.move : []));
      const wants = requests.flatMap((request) => ("want" in request ? request.want : []));
      // Who waits for work must not write, or those who wait would wake each other without end.
      const takes = wants.length > 0 && (await anythingToTake(wants.map(({ run }) => run)));
      const { moved, given } = await answer[engine](moves, takes ? wants : []);
      if (takes && given.includes(undefined)) lookAgainAt = 0;
      return requests.map((request) => ("move" in request ? moved.shift() : given.shift()));
    },
  );

  type Answered = { moved: Result<Task>[]; given: (Task | undefined)[] };

  async function inTransaction(moves: Move[], wants: Want[]): Promise<Answered> {
    if (moves.length + wants.length === 0) return { moved: [], given: [] };
    return db.write(async (tx) => {
      const moved = moves.length > 0 ? await move(tx, { engine, now }, moves) : [];
      const given = wants.length > 0 ? await claimReady(tx, { engine, now }, wants, seen) : [];
      return { moved, given };
    });
  }

  /** PostgreSQL is far: what one statement can do is not spread over a transaction of five. */
  async function inOneStatement(moves: Move[], wants: Want[]): Promise<Answered> {
    const quick = seen.limited || seen.expired || new Set(wants.map(({ run }) => run)).size > 1 ? [] : wants;
    const { moved, given } = await endAndTakeNext(db, { engine, now }, moves, quick);
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
    if (moved.ok) held.keep(moved.value);
    return moved;
  }

  async function anythingToTake(runs: (string | undefined)[]): Promise<boolean> {
    if (performance.now() < lookAgainAt) return true;
    seen = await situationNow(db.read, engine);
    const takes = seen.expired || (seen.ready && (await anyReady(new Set(runs))));
    lookAgainAt = takes ? performance.now() + lookEveryMs : 0;
    return takes;
  }

  async function anyReady(runs: Set<string | undefined>): Promise<boolean> {
    if (runs.has(undefined)) return true;
    for (const run of runs)
      if ((await readyTasks(db.read, engine, { run, limit: 1, locked: false })).length > 0) return true;
    return false;
  }

  const claimOf = (task: Task): Claim => ({ task, epoch: task.epoch, expiresAt: iso(task.leaseUntil) });

  /** Three ways to come to one claim; each is correct between processes and machines, they differ in what waits. */
  const ways: Record<Strategy, (worker: string, run: string | undefined) => Promise<Claim | undefined>> = {
    /** Look and take in one transaction: nobody else can have looked at the same task. */
    async queue(worker, run) {
      const task = (await ask({ want: { worker, run, leaseMs } })) as Task | undefined;
      if (!task) return undefined;
      held.keep(task);
      return claimOf(task);
    },
    /** Look, then lock that one: the lock is explicit, and says who has it. */
    lease: (worker, run) =>
      amongReady(run, async (task, known) => {
        const locked = await lockNow(task.id, worker, leaseMs, known);
        return locked.ok && "epoch" in locked.value ? locked.value : undefined;
      }),
    /** Look, then write over the version that was seen: whoever is second finds another. */
    optimistic: (worker, run) =>
      amongReady(run, async ({ id, version }, known) => {
        const decide = (task: Task): Result<Step> =>
          task.version === version ? ok({ type: "claim", by: worker }) : refuse("conflict", "it has changed");
        const taken = await askMove({ id, actor: worker, decide, leaseMs, known });
        return taken.ok ? claimOf(taken.value) : undefined;
      }),
  };

  /** Those who look at the same moment look together, and are shown one task each. */
  const look = together<string | undefined, Task | undefined>({ most: mostTogether, lanes: 1, far }, async (runs) => {
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
        rows.filter((row) => !held.isPast(row)),
      );
    }
    return runs.map((run) => {
      // Workers of one process do not stand in each other's way; between processes chance keeps them apart.
      const free = (found.get(run) ?? []).filter((row) => !tried.has(row.id));
      const best = free.filter((row) => row.priority === free[0]?.priority);
      const row = best[Math.floor(Math.random() * best.length)];
      if (row) tried.add(row.id);
      return row && fromRow(row);
    });
  });

  /** What is `known` need not be looked at again; where runs have limits, everything has to be. */
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
    lookAgainAt = 0;
    return undefined;
  }

  /** Takes this task and no other, to work on it or, once there is output, to verify it. */
  async function lock(id: string, worker: string, ms = leaseMs): Promise<Result<Claim | Held>> {
    const { expired } = await situationNow(db.read, engine);
    if (expired) await db.write((tx) => freeExpired(tx, { engine, now }));
    return lockNow(id, worker, ms);
  }

  async function lockNow(id: string, worker: string, ms: number, known?: Task): Promise<Result<Claim | Held>> {
    const decide = (task: Task, clock: number): Result<Step> => {
      const has = heldBy(task, clock);
      if (task.holder !== null && has.alive) return refuse("conflict", "held", has);
      return ok({ type: task.state === "worker_completed" ? "verify" : "claim", by: worker });
    };
    const locked = await askMove({ id, actor: worker, decide, leaseMs: ms, known });
    if (locked.ok) return ok(claimOf(locked.value));
    const { details } = locked.problem;
    return details && "holder" in details ? ok(details as Held) : locked;
  }

  /** One step of a task. Under a claim it names the epoch; without one, only what nobody holds can be moved. */
  async function step(id: string, wanted: Step, actor: string, epoch?: number): Promise<Result<Task>> {
    const decide = (task: Task, clock: number): Result<Step> => {
      const fenced = fence(task, clock, epoch);
      return fenced.ok ? ok(wanted) : fenced;
    };
    const done = await askMove({ id, actor, decide, known: held.under(id, epoch) });
    if (!done.ok && done.problem.details?.late)
      await recordLate({ db, now }, { actor, task: id, step: wanted.type, epoch });
    return done;
  }

  /** Words and priority can be changed by whoever holds the task, or by anyone while nobody does. */
  async function edit(
    id: string,
    change: { title?: string; description?: string; priority?: number },
    actor: string,
    epoch?: number,
  ): Promise<Result<Task>> {
    return db.write(async (tx): Promise<Result<Task>> => {
      const [row] = await lockTasks(tx, engine, [id]);
      if (!row) return noTask(id);
      const fenced = fence(fromRow(row), Number(row.now), epoch);
      if (!fenced.ok) return fenced;
      const at = now().toISOString();
      const turn = change.priority === undefined ? {} : { turn_at: turnAt(row.created_at, change.priority) };
      const saved = await saveWords(tx, row, { ...change, ...turn }, at);
      if (!saved) return refuse("conflict", `task ${id} changed while you were at it`);
      await appendEvent(tx, { at, actor, kind: "task-edited", subject: `task:${id}`, data: change });
      return ok(fromRow(saved));
    });
  }

  return {
    async create(wanted: NewTask, by: string): Promise<Result<Task>> {
      const made = await createTasks({ db, now, newId }, [wanted], by);
      return made.ok ? ok(made.value[0] as Task) : made;
    },
    /** All of them or none; they may name each other by `key`. */
    createMany: (wanted: NewTask[], by: string) => createTasks({ db, now, newId }, wanted, by),
    lock,
    step,
    edit,

    async claim(worker: string, run?: string): Promise<Claim | undefined> {
      const claim = await ways[strategy](worker, run);
      if (claim) counts.claims++;
      return claim;
    },

    async renew(id: string, epoch: number, ms = leaseMs): Promise<Result<{ expiresAt: string }>> {
      const until = await db.write((tx) => renewLease(tx, engine, { id, epoch, ms }));
      if (until !== undefined) return ok({ expiresAt: iso(until) });
      return refuse("conflict", `task ${id}: epoch ${epoch} holds it no longer`, { late: true });
    },

    /** Gives a task back; with `force`, takes it from whoever holds it, and says who that was. */
    async release(
      id: string,
      actor: string,
      how: { epoch: number } | { force: true },
    ): Promise<Result<{ task: Task; from: Held }>> {
      let from: Held | undefined;
      const decide = (task: Task, clock: number): Result<Step> => {
        if (task.holder === null) return refuse("conflict", `nobody holds task ${id}; it is ${task.state}`);
        from = heldBy(task, clock);
        if ("epoch" in how && how.epoch !== task.epoch) {
          const message = `task ${id}: epoch ${how.epoch} is over, ${task.holder} holds it at ${task.epoch}`;
          return refuse("conflict", message, { late: true });
        }
        return ok({ type: "release", reason: "force" in how ? `broken by ${actor}` : "given back" });
      };
      const released = await askMove({ id, actor, decide });
      return released.ok ? ok({ task: released.value, from: from as Held }) : released;
    },

    /** At most so many tasks of the run are held at once; null lifts the limit. */
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
      lookAgainAt = 0;
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
