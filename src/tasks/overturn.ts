import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Query } from "../store/database.ts";
import { noSuch } from "../store/no-such.ts";
import { descendantsOf } from "../store/queries/descendants.ts";
import { lockShape, lockTasks } from "../store/queries/tasks.ts";
import { type Move, type MoveDeps, move } from "./moves.ts";
import { wordsFor } from "./state-words.ts";
import { fromRow, isLost, shownState, type Task } from "./task.ts";
import type { Step } from "./transition.ts";

/** The tasks that an overturned task affects. */
export type Fallout = {
  task: Task;
  /** Completed with its output: to be done again. */
  stale: Task[];
  /** In progress with its output: their work is stopped. */
  stopped: Task[];
  /** Not started. */
  waiting: Task[];
};

/** The tasks that would be affected if this one were overturned; changes nothing. */
export async function falloutOf(tx: Query, { engine }: MoveDeps, id: string): Promise<Result<Fallout>> {
  const [task, ...behind] = await lockWithDescendants(tx, engine, id);
  if (!task) return noSuch(tx, "task", id);
  if (task.state !== "completed")
    return refuse("conflict", `task ${id} is ${wordsFor(shownState(task))}; only a completed task can be overturned`);
  const open = behind.filter((other) => !isLost(other.state));
  return ok({
    task,
    stale: open.filter(({ state }) => state === "completed"),
    stopped: open.filter(({ state }) => state !== "completed" && state !== "pending"),
    waiting: open.filter(({ state }) => state === "pending"),
  });
}

/**
 * Withdraws the acceptance of a completed task (T8): it becomes failed, completed tasks that used its
 * output become stale, and tasks in progress that use it are stopped whoever holds them.
 */
export async function overturn(
  tx: Query,
  deps: MoveDeps,
  id: string,
  reason: string,
  actor: string,
): Promise<Result<Fallout>> {
  const fallout = await falloutOf(tx, deps, id);
  if (!fallout.ok) return fallout;
  const { task, stale, stopped } = fallout.value;
  const why = `its input, task ${id} (${task.title}), was overturned: ${reason}`;
  await moveAll(tx, deps, actor, [
    [task, { type: "overturn", reason }],
    ...[...stale, ...stopped].map((other): [Task, Step] => [other, { type: "overturn", reason: why, because: id }]),
  ]);
  return fallout;
}

/** Reopens a failed or cancelled task together with the stale tasks behind it. */
export async function reopen(
  tx: Query,
  deps: MoveDeps,
  id: string,
  actor: string,
): Promise<Result<{ task: Task; also: Task[] }>> {
  const [task, ...behind] = await lockWithDescendants(tx, deps.engine, id);
  if (!task) return noSuch(tx, "task", id);
  const also = behind.filter((other) => shownState(other) === "stale");
  const [opened] = await moveAll(
    tx,
    deps,
    actor,
    [task, ...also].map((other) => [other, { type: "reopen" }]),
  );
  return opened?.ok ? ok({ task: opened.value, also }) : (opened ?? noSuch(tx, "task", id));
}

/** The task and all its descendants, the task first, locked until the transaction ends. */
async function lockWithDescendants(tx: Query, engine: MoveDeps["engine"], id: string): Promise<Task[]> {
  await lockShape(tx, engine);
  const rows = await lockTasks(tx, engine, [id, ...(await descendantsOf(tx, id))]);
  const tasks = rows.map(fromRow);
  const first = tasks.find((task) => task.id === id);
  return first ? [first, ...tasks.filter((task) => task !== first)] : [];
}

const moveAll = (tx: Query, deps: MoveDeps, actor: string, steps: [Task, Step][]): Promise<Result<Task>[]> =>
  move(
    tx,
    deps,
    steps.map(([{ id }, step]): Move => ({ id, actor, decide: () => ok(step) })),
  );
