import type { EventKind } from "../kernel/event-kinds.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { NewClaim } from "../store/claim-secret.ts";
import type { Database, Query } from "../store/database.ts";
import type { WrittenEvent } from "../store/events.ts";
import { type Change, type Lease, saveTasks } from "../store/queries/claims.ts";
import { waitAgain } from "../store/queries/descendants.ts";
import { freeDependents, lockShape, tellDescendants } from "../store/queries/tasks.ts";
import { isLost, type State, type Task } from "./task.ts";
import { type Next, type Step, transition } from "./transition.ts";

/** A step and the task, as it was read, that it applies to. */
export type TaskStep = {
  task: Task;
  step: Step;
  actor: string;
  /** For steps that begin a claim. */
  claim?: NewClaim | undefined;
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
  const answers = decided.map(({ step, next }): Result<Task> => {
    if (!next.ok) return next;
    const lease = leases.get(step.task.num);
    if (!lease) return changedMeanwhile(step.task.id);
    return ok(taskAfter(step, next.value, lease, at));
  });
  await updateDependents(
    tx,
    engine,
    answers.flatMap((answer, index) => (answer.ok ? { before: steps[index]?.task as Task, after: answer.value } : [])),
  );
  return answers;
}

export function changeOf(step: TaskStep, next: Next, at: string): Change {
  const { task, underClaim = false } = step;
  const { num, version, epoch, secretHash, awaited, blockersLeft } = task;
  const claim = begun(step, next);
  return {
    row: { num, version, epoch, secret_hash: secretHash, awaited: awaited ? 1 : 0, blockers_left: blockersLeft },
    to: {
      state: next.state,
      attempt: next.attempt,
      epoch: next.epoch,
      holder: next.holder,
      secret_hash: claim?.secretHash ?? null,
      result: JSON.stringify(next.result),
    },
    leaseMs: claim?.leaseMs ?? null,
    underClaim,
    event: eventOf(step, next, at),
  };
}

/** The claim that a step begins; null for a step that ends one. */
function begun({ claim, step }: TaskStep, { holder }: Next): NewClaim | null {
  if (holder === null) return null;
  if (!claim) throw new Error(`a ${step.type} needs a lease and a secret`);
  return claim;
}

/** Assigns each field by name: spreading two objects into one takes longer than SQLite takes to save the row. */
export const taskAfter = (step: TaskStep, next: Next, lease: Lease, at: string): Task => ({
  ...step.task,
  state: next.state,
  attempt: next.attempt,
  epoch: next.epoch,
  holder: next.holder,
  result: next.result,
  version: step.task.version + 1,
  secretHash: begun(step, next)?.secretHash ?? null,
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

/** The refusal of a write that lost a race. */
export const changedMeanwhile = (id: string) =>
  refuse("conflict", `task ${id} changed since it was read; nothing was saved`, {
    next: [{ operation: "get_task_context", input: { id }, to: "read it again" }],
  });

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
