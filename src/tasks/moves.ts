import { type Result, refuse } from "../kernel/result.ts";
import type { Database, Query } from "../store/database.ts";
import { type ClaimEffect, saveAndClaim } from "../store/queries/claim-at-once.ts";
import { expiredTasks, readyTasks, roomOfRuns, type Situation } from "../store/queries/claims.ts";
import { lockTasks } from "../store/queries/tasks.ts";
import { afterwards, bearsOnOthers, changeOf, type Taken, take } from "./take.ts";
import { fromRow, states, type Task } from "./task.ts";
import { type Step, transition } from "./transition.ts";

/** One step that someone wants to take with a task. */
export type Move = {
  id: string;
  actor: string;
  /** The step, once the task is seen; or why not. Given the store's time, it checks the fence. */
  decide(task: Task, clock: number): Result<Step>;
  /** For steps that begin to hold the task. */
  leaseMs?: number;
  /** The task as it was read, or as the claim under which this is done left it. If it still is so, it need not be read again. */
  known?: Task | undefined;
};

/** One worker that wants any task that is ready, of one run or of all. */
export type Want = { worker: string; run: string | undefined; leaseMs: number };

type Deps = { engine: Database["engine"]; now(): Date };

const expiredAtOnce = 50;
/** The fence of a row that is not read again is in the predicate that saves it. */
const leftToTheStore = Number.NEGATIVE_INFINITY;

/** Takes each step in the caller's transaction, and answers each by itself with the task it led to. */
export async function move(tx: Query, deps: Deps, moves: Move[]): Promise<Result<Task>[]> {
  const answers = new Map<Move, Result<Task>>();
  const known = fromMemory(moves);
  const saved = await take(tx, deps, known);
  known.forEach(({ move }, index) => {
    if (saved[index]?.ok) answers.set(move, saved[index]);
  });
  // Whatever has changed since it was known is looked at, to say why not.
  for (const round of oneForEachTask(moves.filter((move) => !answers.has(move))))
    for (const [move, answer] of await moveAfterLook(tx, deps, round)) answers.set(move, answer);
  return moves.map((move) => answers.get(move) as Result<Task>);
}

/** The steps that can be decided without a look. */
function fromMemory(moves: Move[]): (Taken & { move: Move })[] {
  const [first = new Map<string, Move>()] = oneForEachTask(moves.filter(({ known }) => known));
  return [...first.values()].flatMap((move) => {
    const { known: task, actor, leaseMs } = move;
    const step = task && move.decide(task, leftToTheStore);
    return task && step?.ok ? { task, step: step.value, actor, leaseMs, move, underClaim: task.holder !== null } : [];
  });
}

async function moveAfterLook(tx: Query, deps: Deps, round: Map<string, Move>): Promise<Map<Move, Result<Task>>> {
  const answers = new Map<Move, Result<Task>>();
  const rows = new Map((await lockTasks(tx, deps.engine, [...round.keys()])).map((row) => [row.id, row]));
  const taken: (Taken & { move: Move })[] = [];
  for (const [id, move] of round) {
    const row = rows.get(id);
    const task = row && fromRow(row);
    const step = task ? move.decide(task, Number(row.now)) : noTask(id);
    if (task && step.ok) taken.push({ task, step: step.value, actor: move.actor, leaseMs: move.leaseMs, move });
    else if (!step.ok) answers.set(move, step);
  }
  const admitted = await withinLimits(tx, deps, taken);
  for (const { move, task } of taken)
    answers.set(move, refuse("conflict", `run ${task.run} has all it may have in work`));
  const saved = await take(tx, deps, admitted);
  admitted.forEach(({ move }, index) => {
    answers.set(move, saved[index] as Result<Task>);
  });
  return answers;
}

/** All but the claims for which their run has no room. */
async function withinLimits<T extends Taken>(tx: Query, { engine }: Deps, taken: T[]): Promise<T[]> {
  if (!taken.some(({ task, step }) => step.type === "claim" && task.run !== null)) return taken;
  const room = await roomOfRuns(tx, engine, true);
  return taken.filter(({ task: { run }, step }) => {
    const left = step.type === "claim" && run !== null ? room.get(run) : undefined;
    if (run !== null && left !== undefined) room.set(run, left - 1);
    return left === undefined || left > 0;
  });
}

/** Two who move one task at the same moment are answered one after the other. */
function oneForEachTask(moves: Move[]): Map<string, Move>[] {
  const rounds: Map<string, Move>[] = [];
  for (const move of moves) {
    const round = rounds.find((some) => !some.has(move.id));
    if (round) round.set(move.id, move);
    else rounds.push(new Map([[move.id, move]]));
  }
  return rounds;
}

/** Gives each the task whose turn it is, as long as there are any. */
export async function claimReady(
  tx: Query,
  deps: Deps,
  wants: Want[],
  { expired, limited }: Omit<Situation, "ready">,
): Promise<(Task | undefined)[]> {
  if (expired) await freeExpired(tx, deps);
  const room = limited ? await roomOfRuns(tx, deps.engine, true) : new Map<string, number>();
  const given = new Map<Want, Task>();
  for (const run of new Set(wants.map((want) => want.run))) {
    const asking = wants.filter((want) => want.run === run);
    const tasks = await tasksFor(tx, deps, run, asking.length, room);
    const taken = tasks.map((task, index): Taken & { want: Want } => {
      const want = asking[index] as Want;
      return { task, step: { type: "claim", by: want.worker }, actor: want.worker, leaseMs: want.leaseMs, want };
    });
    const saved = await take(tx, deps, taken);
    taken.forEach(({ want }, index) => {
      const task = saved[index];
      if (task?.ok) given.set(want, task.value);
    });
  }
  return wants.map((want) => given.get(want));
}

/** Ready tasks, none beyond what its run may have held. */
async function tasksFor(
  tx: Query,
  { engine }: Deps,
  run: string | undefined,
  wanted: number,
  room: Map<string, number>,
): Promise<Task[]> {
  const found: Task[] = [];
  for (;;) {
    const full = [...room].filter(([, left]) => left <= 0).map(([name]) => name);
    if (run !== undefined && full.includes(run)) return found;
    const limit = wanted - found.length;
    const seen = new Set(found.map((task) => task.id));
    const rows = await readyTasks(tx, engine, { run, limit: limit + seen.size, without: full, locked: true });
    const before = full.length;
    for (const row of rows) {
      if (seen.has(row.id) || found.length === wanted) continue;
      const left = row.run === null ? undefined : room.get(row.run);
      if (left !== undefined && left <= 0) continue;
      if (row.run !== null && left !== undefined) room.set(row.run, left - 1);
      found.push(fromRow(row));
    }
    const nowFull = [...room.values()].filter((left) => left <= 0).length;
    if (found.length === wanted || nowFull === before) return found;
  }
}

/** Leases that ran out go back before anyone looks for work. */
export async function freeExpired(tx: Query, deps: Deps): Promise<void> {
  const rows = await expiredTasks(tx, deps.engine, expiredAtOnce);
  const step: Step = { type: "release", reason: "the lease ran out" };
  await take(
    tx,
    deps,
    rows.map((row) => ({ task: fromRow(row), step, actor: row.holder ?? "nobody" })),
  );
}

/**
 * The common case in one statement: workers end what they hold, and take the next. Whatever else
 * hangs on a step, or has changed since it was known, is left without an answer, for `move`.
 */
export async function endAndTakeNext(
  db: Database,
  { now }: Deps,
  moves: Move[],
  wants: Want[],
): Promise<{ moved: Map<Move, Task>; given: (Task | undefined)[] }> {
  const at = now().toISOString();
  const simple = fromMemory(moves).flatMap((taken) => {
    const next = transition(taken.task, taken.step);
    return next.ok && !bearsOnOthers(taken.task, next.value.state) ? { taken, next: next.value } : [];
  });
  const changes = simple.map(({ taken, next }) => changeOf(taken, next, at));
  const wanting = wants.map(({ worker, leaseMs }) => ({ holder: worker, leaseMs: Math.round(leaseMs) }));
  if (changes.length + wanting.length === 0) return { moved: new Map(), given: [] };
  const asked = { changes, wants: wanting, run: wants[0]?.run, at, effect: claimEffect };
  const { saved, claimed } = await db.write((query) => saveAndClaim(query, asked), { oneStatement: true });
  const moved = new Map<Move, Task>();
  for (const { taken, next } of simple) {
    const lease = saved.get(taken.task.num);
    if (lease) moved.set(taken.move, afterwards(taken.task, next, lease, at));
  }
  return {
    moved,
    given: claimed.map((row) => row && fromRow(row)),
  };
}

/** Asked of the rules themselves: nobody else says what a claim makes of a task. */
const claimEffect: ClaimEffect = (() => {
  const effect: ClaimEffect = { state: {}, attempt: 0, epoch: 0 };
  for (const state of states) {
    const before = { state, attempt: 0, epoch: 0, holder: null, result: {}, blockersLeft: 0, run: null, maxRetries: 0 };
    const next = transition(before, { type: "claim", by: "anyone" });
    if (!next.ok) continue;
    effect.state[state] = next.value.state;
    effect.attempt = next.value.attempt;
    effect.epoch = next.value.epoch;
  }
  return effect;
})();

export const noTask = (id: string) => refuse("not_found", `there is no task ${id}; see: scriptorium task list`);
