import { ok, type Result, refuse } from "../result.ts";
import {
  type Change,
  expiredTasks,
  readyTasks,
  roomOfRuns,
  type Saved,
  type Situation,
  saveTasks,
} from "../store/claims.ts";
import type { Database, Query } from "../store/database.ts";
import { waitAgain } from "../store/descendants.ts";
import { freeDependents, lockShape, lockTasks, type StoredTask, tellDescendants } from "../store/tasks.ts";
import { fromRow, isLost, type State } from "./task.ts";
import { type Step, transition } from "./transition.ts";

/** One step that someone wants to take with a task. */
export type Move = {
  id: string;
  actor: string;
  /** The step, once the task is seen; or why not. Given the store's time, it checks the fence. */
  decide(row: StoredTask, clock: number): Result<Step>;
  /** For steps that begin to hold the task. */
  leaseMs?: number;
  /** The row as the claim under which this is done left it. If it still is so, it need not be read again. */
  known?: StoredTask | undefined;
};

/** One worker that wants any task that is ready, of one run or of all. */
export type Want = { worker: string; run: string | undefined; leaseMs: number };

type Deps = { engine: Database["engine"]; now(): Date };
type Taken = { row: StoredTask; step: Step; actor: string; leaseMs?: number | undefined; underClaim?: boolean };

const expiredAtOnce = 50;
/** The fence of a row that is not read again is in the predicate that saves it. */
const leftToTheStore = Number.NEGATIVE_INFINITY;

/** Takes each step in the caller's transaction, and answers each by itself with the row it led to. */
export async function move(tx: Query, deps: Deps, moves: Move[]): Promise<Result<StoredTask>[]> {
  const answers = new Map<Move, Result<StoredTask>>();
  const [first = new Map<string, Move>()] = oneForEachTask(moves.filter(({ known }) => known));
  const taken = [...first.values()].flatMap((move) => {
    const { known: row, actor } = move;
    const step = row && move.decide(row, leftToTheStore);
    return row && step?.ok ? { row, step: step.value, actor, move, underClaim: true } : [];
  });
  const saved = await take(tx, deps, taken);
  taken.forEach(({ move }, index) => {
    if (saved[index]?.ok) answers.set(move, saved[index]);
  });
  // Whatever has changed since it was known is looked at, to say why not.
  for (const round of oneForEachTask(moves.filter((move) => !answers.has(move))))
    for (const [move, answer] of await moveAfterLook(tx, deps, round)) answers.set(move, answer);
  return moves.map((move) => answers.get(move) as Result<StoredTask>);
}

async function moveAfterLook(tx: Query, deps: Deps, round: Map<string, Move>): Promise<Map<Move, Result<StoredTask>>> {
  const answers = new Map<Move, Result<StoredTask>>();
  const rows = new Map((await lockTasks(tx, deps.engine, [...round.keys()])).map((row) => [row.id, row]));
  const taken: (Taken & { move: Move })[] = [];
  for (const [id, move] of round) {
    const { now, ...row } = rows.get(id) ?? { now: 0 };
    const step = "id" in row ? move.decide(row, Number(now)) : noTask(id);
    if ("id" in row && step.ok) taken.push({ row, step: step.value, actor: move.actor, leaseMs: move.leaseMs, move });
    else if (!step.ok) answers.set(move, step);
  }
  const admitted = await withinLimits(tx, deps, taken);
  for (const { move, row } of taken)
    answers.set(move, refuse("conflict", `run ${row.run} has all it may have in work`));
  const saved = await take(tx, deps, admitted);
  admitted.forEach(({ move }, index) => {
    answers.set(move, saved[index] as Result<StoredTask>);
  });
  return answers;
}

/** All but the claims for which their run has no room. */
async function withinLimits<T extends Taken>(tx: Query, { engine }: Deps, taken: T[]): Promise<T[]> {
  if (!taken.some(({ row, step }) => step.type === "claim" && row.run !== null)) return taken;
  const room = await roomOfRuns(tx, engine, true);
  return taken.filter(({ row, step }) => {
    const left = step.type === "claim" && row.run !== null ? room.get(row.run) : undefined;
    if (row.run !== null && left !== undefined) room.set(row.run, left - 1);
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
): Promise<(StoredTask | undefined)[]> {
  if (expired) await freeExpired(tx, deps);
  const room = limited ? await roomOfRuns(tx, deps.engine, true) : new Map<string, number>();
  const given = new Map<Want, StoredTask>();
  for (const run of new Set(wants.map((want) => want.run))) {
    const asking = wants.filter((want) => want.run === run);
    const rows = await rowsFor(tx, deps, run, asking.length, room);
    const taken = rows.map((row, index): Taken & { want: Want } => {
      const want = asking[index] as Want;
      return { row, step: { type: "claim", by: want.worker }, actor: want.worker, leaseMs: want.leaseMs, want };
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
async function rowsFor(
  tx: Query,
  { engine }: Deps,
  run: string | undefined,
  wanted: number,
  room: Map<string, number>,
): Promise<StoredTask[]> {
  const found: StoredTask[] = [];
  for (;;) {
    const full = [...room].filter(([, left]) => left <= 0).map(([name]) => name);
    if (run !== undefined && full.includes(run)) return found;
    const limit = wanted - found.length;
    const seen = new Set(found.map((row) => row.id));
    const rows = await readyTasks(tx, engine, { run, limit: limit + seen.size, without: full, locked: true });
    const before = full.length;
    for (const row of rows) {
      if (seen.has(row.id) || found.length === wanted) continue;
      const left = row.run === null ? undefined : room.get(row.run);
      if (left !== undefined && left <= 0) continue;
      if (row.run !== null && left !== undefined) room.set(row.run, left - 1);
      found.push(row);
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
    rows.map((row) => ({ row, step, actor: row.holder ?? "nobody" })),
  );
}

/** Saves what the steps make of the tasks, with their events, and tells the tasks behind them. */
async function take(tx: Query, { engine, now }: Deps, wanted: Taken[]): Promise<Result<StoredTask>[]> {
  if (wanted.length === 0) return [];
  const at = now().toISOString();
  const decided = wanted.map((taken) => ({ ...taken, next: transition(fromRow(taken.row), taken.step) }));
  const changes = decided.flatMap(({ row, step, actor, next, leaseMs = 0, underClaim = false }): Change[] => {
    if (!next.ok) return [];
    const to = { ...next.value, result: JSON.stringify(next.value.result) };
    const lease = to.holder === null ? null : Math.round(leaseMs);
    return [{ row, to, leaseMs: lease, underClaim, event: eventOf({ ...row, ...to }, step, actor, at) }];
  });
  const saved = await saveTasks(tx, engine, changes);
  await tellOthers(
    tx,
    engine,
    wanted.flatMap(({ row }) => {
      const after = saved.get(row.num);
      return after ? { ...after, from: row.state as State } : [];
    }),
  );
  return decided.map(({ row, next }) => {
    const after = saved.get(row.num);
    if (!next.ok) return next;
    return after ? ok(after.row) : refuse("conflict", `task ${row.id} changed while you were at it`);
  });
}

/** What is needed to take the same step again, and where it led. */
function eventOf(row: StoredTask, { type, ...said }: Step, actor: string, at: string) {
  const { state, attempt, epoch, holder, run } = row;
  const data = { ...said, state, attempt, epoch, holder, run };
  return { at, actor, kind: `task-${type}`, subject: `task:${row.id}`, data };
}

async function tellOthers(tx: Query, engine: Database["engine"], changes: (Saved & { from: State })[]) {
  const completed = changes.filter(({ row, awaited }) => awaited && row.state === "completed").map(({ row }) => row.id);
  if (completed.length > 0) await freeDependents(tx, engine, completed);
  const undone = changes.filter(({ from }) => from === "completed").map(({ row }) => row.id);
  if (undone.length > 0) await waitAgain(tx, engine, undone);
  for (const { from, row } of changes) {
    const change = isLost(row.state as State) ? 1 : isLost(from) ? -1 : 0;
    if (change === 0) continue;
    await lockShape(tx, engine);
    await tellDescendants(tx, row.id, change);
  }
}

export const noTask = (id: string) => refuse("not_found", `there is no task ${id}; see: scriptorium task list`);
