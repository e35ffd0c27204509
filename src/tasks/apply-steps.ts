import type { EventKind } from "../kernel/event-kinds.ts";
import { ok, type Result } from "../kernel/result.ts";
import type { Database, Query } from "../store/database.ts";
import type { WrittenEvent } from "../store/events.ts";
import { type Change, type Lease, saveTasks } from "../store/queries/claims.ts";
import { waitAgain } from "../store/queries/descendants.ts";
import { freeDependents, lockShape, tellDescendants } from "../store/queries/tasks.ts";
import { changedMeanwhile } from "./holder.ts";
import { isLost, type State, type Task } from "./task.ts";
import { type Next, type Step, transition } from "./transition.ts";

/** A step and the task, as it was read, that it applies to. */
export type TaskStep = {
  task: Task;
  step: Step;
  actor: string;
  /** For steps that begin a claim. */
  leaseMs?: number | undefined;
  /** The task comes from the claim cache and was not read again. */
  underClaim?: boolean;
};

/** Saves the tasks after their steps, with one event each, and updates the counters of dependent tasks. */
export async function applySteps(
  tx: Query,
  { engine, now }: { engine: Database["engine"]; now(): Date },
  steps: TaskStep[],
): Promise<Result<Task>[]> {
  if (steps.length === 0) return [];
  const at = now().toISOString();
  const decided = steps.map((step) => ({ step, next: transition(step.task, step.step) }));
  const changes = decided.flatMap(({ step, next }) => (next.ok ? changeOf(step, next.value, at) : []));
  const leases = await saveTasks(tx, engine, changes);
  const answers = decided.map(({ step: { task }, next }): Result<Task> => {
    if (!next.ok) return next;
    const lease = leases.get(task.num);
    if (!lease) return changedMeanwhile(task.id);
    return ok(taskAfter(task, next.value, lease, at));
  });
  await updateDependents(
    tx,
    engine,
    answers.flatMap((answer, index) => (answer.ok ? { before: steps[index]?.task as Task, after: answer.value } : [])),
  );
  return answers;
}

export function changeOf(step: TaskStep, next: Next, at: string): Change {
  const { task, leaseMs = 0, underClaim = false } = step;
  const { num, version, epoch, awaited, blockersLeft } = task;
  return {
    row: { num, version, epoch, awaited: awaited ? 1 : 0, blockers_left: blockersLeft },
    to: { ...next, result: JSON.stringify(next.result) },
    leaseMs: next.holder === null ? null : Math.round(leaseMs),
    underClaim,
    event: eventOf(step, next, at),
  };
}

/** Assigns each field by name: spreading two objects into one takes longer than SQLite takes to save the row. */
export const taskAfter = (task: Task, next: Next, lease: Lease, at: string): Task => ({
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

/** Contains the step itself, so that a replay of the log can apply it again, and the state it led to. */
function eventOf({ task: { id, run }, step, actor }: TaskStep, next: Next, at: string): WrittenEvent {
  const { state, attempt, epoch, holder } = next;
  const data = JSON.stringify({ state, attempt, epoch, holder, run, ...step, type: undefined });
  const kind: EventKind = `task-${step.type}`;
  return { at, actor, kind, subject: `task:${id}`, data };
}

const losing = (from: State, to: State) => Number(isLost(to)) - Number(isLost(from));

/** True if the counters of dependent tasks change with this step. */
export const affectsDependents = (task: Task, to: State): boolean =>
  losing(task.state, to) !== 0 || (task.awaited && to === "completed");

async function updateDependents(tx: Query, engine: Database["engine"], changes: { before: Task; after: Task }[]) {
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
