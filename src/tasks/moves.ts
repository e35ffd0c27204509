import { ok, type Result, refuse } from "../kernel/result.ts";
import type { NewClaim } from "../store/claim-secret.ts";
import type { Database, Query } from "../store/database.ts";
import { checkClaim, heldBy, type NamedClaim } from "../store/fence.ts";
import { noSuch } from "../store/no-such.ts";
import { type ClaimEffect, saveAndClaim } from "../store/queries/claim-at-once.ts";
import { expiredTasks, readyTasks, roomOfRuns, type Situation } from "../store/queries/claims.ts";
import { lockTasks } from "../store/queries/tasks.ts";
import { affectsDependents, applySteps, changeOf, type TaskStep, taskAfter } from "./apply-steps.ts";
import { fromRow, states, type Task } from "./task.ts";
import { type Step, transition } from "./transition.ts";

/** A request to move one task by one step. */
export type Move = {
  id: string;
  actor: string;
  /** Chooses the step once the task is read, or refuses. `clock` is the store's time, for the fence. */
  decide(task: Task, clock: number): Result<Step>;
  /** For steps that begin a claim. */
  claim?: NewClaim;
  /** The task as it was last read. If its row has not changed since, it is not read again. */
  known?: Task | undefined;
};

/** A worker's request for any ready task, of one run or of all. */
export type ClaimRequest = { worker: string; run: string | undefined; claim: NewClaim };

export type MoveDeps = { engine: Database["engine"]; now(): Date };

const expiredPerTransaction = 50;
/** Passed to `decide` for a task that is not read again: the predicate of the UPDATE checks its lease and secret. */
const checkedByTheStore = Number.NEGATIVE_INFINITY;

/** A step under the claim, or without one a step of a task that has no holder. */
export const fencedStep = (id: string, step: Step, actor: string, under: NamedClaim = {}): Move => ({
  id,
  actor,
  decide(task, clock) {
    const allowed = checkClaim(task, clock, under);
    return allowed.ok ? ok(step) : allowed;
  },
});

/** A claim on this task and no other: to work on it or, once there is output, to verify it. */
export const claimOf = (id: string, worker: string, claim: NewClaim): Move => ({
  id,
  actor: worker,
  claim,
  decide(task, clock) {
    const held = heldBy(task, clock);
    if (task.holder !== null && held.alive)
      return refuse("conflict", `${held.holder} has claimed task ${id} until ${held.until}`, held);
    return ok({ type: task.state === "worker_completed" ? "verify" : "claim", by: worker });
  },
});

/** Moves one task in the caller's transaction. */
export async function moveOne(tx: Query, deps: MoveDeps, one: Move): Promise<Result<Task>> {
  const [moved] = await move(tx, deps, [one]);
  return moved as Result<Task>;
}

/** Moves tasks in the caller's transaction; each move succeeds or is refused by itself. */
export async function move(tx: Query, deps: MoveDeps, moves: Move[]): Promise<Result<Task>[]> {
  const answers = new Map<Move, Result<Task>>();
  const known = decidedUnread(moves);
  const saved = await applySteps(tx, deps, known);
  known.forEach(({ move }, index) => {
    if (saved[index]?.ok) answers.set(move, saved[index]);
  });
  // The rest changed since it was known: read it to say why the move is refused.
  for (const round of roundsOf(moves.filter((move) => !answers.has(move))))
    for (const [move, answer] of await moveAfterRead(tx, deps, round)) answers.set(move, answer);
  return moves.map((move) => answers.get(move) as Result<Task>);
}

/** The steps that can be decided from `known`, without reading the row. */
function decidedUnread(moves: Move[]): (TaskStep & { move: Move })[] {
  const [first = new Map<string, Move>()] = roundsOf(moves.filter(({ known }) => known));
  return [...first.values()].flatMap((move) => {
    const { known: task, actor, claim } = move;
    const step = task && move.decide(task, checkedByTheStore);
    return task && step?.ok ? { task, step: step.value, actor, claim, move, underClaim: task.holder !== null } : [];
  });
}

async function moveAfterRead(tx: Query, deps: MoveDeps, round: Map<string, Move>): Promise<Map<Move, Result<Task>>> {
  const answers = new Map<Move, Result<Task>>();
  const rows = new Map((await lockTasks(tx, deps.engine, [...round.keys()])).map((row) => [row.id, row]));
  const steps: (TaskStep & { move: Move })[] = [];
  for (const [id, move] of round) {
    const row = rows.get(id);
    const task = row && fromRow(row);
    const step = task ? move.decide(task, Number(row.now)) : await noSuch(tx, "task", id);
    if (task && step.ok) steps.push({ task, step: step.value, actor: move.actor, claim: move.claim, move });
    else if (!step.ok) answers.set(move, step);
  }
  const admitted = await withinLimits(tx, deps, steps);
  for (const { move, task } of steps)
    answers.set(
      move,
      refuse("conflict", `run ${task.run} is at its concurrency limit; try again when one of its tasks ends`),
    );
  const saved = await applySteps(tx, deps, admitted);
  admitted.forEach(({ move }, index) => {
    answers.set(move, saved[index] as Result<Task>);
  });
  return answers;
}

/** All but the claims that would exceed the limit of their run. */
async function withinLimits<T extends TaskStep>(tx: Query, { engine }: MoveDeps, steps: T[]): Promise<T[]> {
  if (!steps.some(({ task, step }) => step.type === "claim" && task.run !== null)) return steps;
  const room = await roomOfRuns(tx, engine, true);
  return steps.filter(({ task: { run }, step }) => {
    const left = step.type === "claim" && run !== null ? room.get(run) : undefined;
    if (run !== null && left !== undefined) room.set(run, left - 1);
    return left === undefined || left > 0;
  });
}

/** Rounds with at most one move per task: two moves of one task in a batch are applied one after the other. */
function roundsOf(moves: Move[]): Map<string, Move>[] {
  const rounds: Map<string, Move>[] = [];
  for (const move of moves) {
    const round = rounds.find((some) => !some.has(move.id));
    if (round) round.set(move.id, move);
    else rounds.push(new Map([[move.id, move]]));
  }
  return rounds;
}

/** Gives each worker the next ready task, while there are any. */
export async function claimReady(
  tx: Query,
  deps: MoveDeps,
  wants: ClaimRequest[],
  { expired, limited }: Omit<Situation, "ready">,
): Promise<(Task | undefined)[]> {
  if (expired) await freeExpired(tx, deps);
  const room = limited ? await roomOfRuns(tx, deps.engine, true) : new Map<string, number>();
  const given = new Map<ClaimRequest, Task>();
  for (const run of new Set(wants.map((want) => want.run))) {
    const asking = wants.filter((want) => want.run === run);
    const tasks = await readyWithinLimits(tx, deps, run, asking.length, room);
    const steps = tasks.map((task, index): TaskStep & { want: ClaimRequest } => {
      const want = asking[index] as ClaimRequest;
      return { task, step: { type: "claim", by: want.worker }, actor: want.worker, claim: want.claim, want };
    });
    const saved = await applySteps(tx, deps, steps);
    steps.forEach(({ want }, index) => {
      const task = saved[index];
      if (task?.ok) given.set(want, task.value);
    });
  }
  return wants.map((want) => given.get(want));
}

/** Ready tasks within the limits of their runs. */
async function readyWithinLimits(
  tx: Query,
  { engine }: MoveDeps,
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

/** Releases tasks whose lease ran out; called before ready tasks are looked up. */
export async function freeExpired(tx: Query, deps: MoveDeps): Promise<void> {
  const rows = await expiredTasks(tx, deps.engine, expiredPerTransaction);
  const step: Step = { type: "release", reason: "the lease expired" };
  await applySteps(
    tx,
    deps,
    rows.map((row) => ({ task: fromRow(row), step, actor: row.holder ?? "nobody" })),
  );
}

/**
 * The common case in one statement: workers end their tasks and claim the next. A move that affects
 * dependent tasks, or whose task changed since it was known, gets no answer here and is left to `move`.
 */
export async function stepAndClaim(
  db: Database,
  { now }: MoveDeps,
  moves: Move[],
  wants: ClaimRequest[],
): Promise<{ moved: Map<Move, Task>; given: (Task | undefined)[] }> {
  const at = now().toISOString();
  const simple = decidedUnread(moves).flatMap((step) => {
    const next = transition(step.task, step.step);
    return next.ok && !affectsDependents(step.task, next.value.state) ? { step, next: next.value } : [];
  });
  const changes = simple.map(({ step, next }) => changeOf(step, next, at));
  const wanting = wants.map(({ worker, claim }) => ({
    holder: worker,
    leaseMs: claim.leaseMs,
    secretHash: claim.secretHash,
  }));
  if (changes.length + wanting.length === 0) return { moved: new Map(), given: [] };
  const asked = { changes, wants: wanting, run: wants[0]?.run, at, effect: claimEffect };
  const { saved, claimed } = await db.write((query) => saveAndClaim(query, asked), { oneStatement: true });
  const moved = new Map<Move, Task>();
  for (const { step, next } of simple) {
    const lease = saved.get(step.task.num);
    if (lease) moved.set(step.move, taskAfter(step, next, lease, at));
  }
  return {
    moved,
    given: claimed.map((row) => row && fromRow(row)),
  };
}

/** Derived from `transition`, so that the SQL that claims cannot disagree with it. */
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
