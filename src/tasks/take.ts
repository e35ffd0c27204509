import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database, Query } from "../store/database.ts";
import type { WrittenEvent } from "../store/events.ts";
import { type Change, type Lease, saveTasks } from "../store/queries/claims.ts";
import { waitAgain } from "../store/queries/descendants.ts";
import { freeDependents, lockShape, tellDescendants } from "../store/queries/tasks.ts";
import { isLost, type State, type Task } from "./task.ts";
import { type Next, type Step, transition } from "./transition.ts";

/** A step that is about to be taken with a task as it was read. */
export type Taken = {
  task: Task;
  step: Step;
  actor: string;
  /** For steps that begin to hold the task. */
  leaseMs?: number | undefined;
  /** The task is known from the claim and was not read again. */
  underClaim?: boolean;
};

/** Saves what the steps make of the tasks, with their events, and tells the tasks behind them. */
export async function take(
  tx: Query,
  { engine, now }: { engine: Database["engine"]; now(): Date },
  wanted: Taken[],
): Promise<Result<Task>[]> {
  if (wanted.length === 0) return [];
  const at = now().toISOString();
  const decided = wanted.map((taken) => ({ taken, next: transition(taken.task, taken.step) }));
  const changes = decided.flatMap(({ taken, next }) => (next.ok ? changeOf(taken, next.value, at) : []));
  const leases = await saveTasks(tx, engine, changes);
  const answers = decided.map(({ taken: { task }, next }): Result<Task> => {
    if (!next.ok) return next;
    const lease = leases.get(task.num);
    if (!lease) return refuse("conflict", `task ${task.id} changed while you were at it`);
    return ok(afterwards(task, next.value, lease, at));
  });
  await tellOthers(
    tx,
    engine,
    answers.flatMap((answer, index) => (answer.ok ? { before: wanted[index]?.task as Task, after: answer.value } : [])),
  );
  return answers;
}

export function changeOf(taken: Taken, next: Next, at: string): Change {
  const { task, leaseMs = 0, underClaim = false } = taken;
  const { num, version, epoch, awaited, blockersLeft } = task;
  return {
    row: { num, version, epoch, awaited: awaited ? 1 : 0, blockers_left: blockersLeft },
    to: { ...next, result: JSON.stringify(next.result) },
    leaseMs: next.holder === null ? null : Math.round(leaseMs),
    underClaim,
    event: eventOf(taken, next, at),
  };
}

/** Written out: to spread two objects into one costs more than SQLite takes to save it. */
export const afterwards = (task: Task, next: Next, lease: Lease, at: string): Task => ({
  ...task,
  state: next.state,
  attempt: next.attempt,
  epoch: next.epoch,
  holder: next.holder,
  result: next.result,
  version: task.version + 1,
  claimedAt: lease.claimed_at,
  leaseUntil: lease.lease_until,
  updatedAt: at,
});

/** What is needed to take the same step again, and where it led. */
function eventOf({ task: { id, run }, step, actor }: Taken, next: Next, at: string): WrittenEvent {
  const { state, attempt, epoch, holder } = next;
  const data = JSON.stringify({ state, attempt, epoch, holder, run, ...step, type: undefined });
  return { at, actor, kind: `task-${step.type}`, subject: `task:${id}`, data };
}

const losing = (from: State, to: State) => Number(isLost(to)) - Number(isLost(from));

/** Whether tasks behind it have to learn of the step. */
export const bearsOnOthers = (task: Task, to: State): boolean =>
  losing(task.state, to) !== 0 || (task.awaited && to === "completed");

async function tellOthers(tx: Query, engine: Database["engine"], changes: { before: Task; after: Task }[]) {
  const completed = changes.flatMap(({ after }) => (after.awaited && after.state === "completed" ? after.id : []));
  if (completed.length > 0) await freeDependents(tx, engine, completed);
  const undone = changes.flatMap(({ before, after }) => (before.state === "completed" ? after.id : []));
  if (undone.length > 0) await waitAgain(tx, engine, undone);
  for (const { before, after } of changes) {
    const change = losing(before.state, after.state);
    if (change === 0) continue;
    await lockShape(tx, engine);
    await tellDescendants(tx, after.id, change > 0 ? 1 : -1);
  }
}
