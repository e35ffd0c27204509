import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database, Query } from "../store/database.ts";
import { descendantsOf } from "../store/queries/descendants.ts";
import { lockShape, lockTasks } from "../store/queries/tasks.ts";
import { type Move, move, noTask } from "./moves.ts";
import { fromRow, isLost, shownState, type Task } from "./task.ts";
import type { Step } from "./transition.ts";

type Deps = { engine: Database["engine"]; now(): Date };

/** What becomes of the tasks behind one that turned out to be wrong. */
export type Fallout = {
  task: Task;
  /** Done with what it made: they are to be done again. */
  stale: Task[];
  /** Begun with it: their work is stopped, and they wait. */
  stopped: Task[];
  /** Not begun: they wait. */
  waiting: Task[];
};

/** Who is concerned, were this task overturned. */
export async function falloutOf(tx: Query, { engine }: Deps, id: string): Promise<Result<Fallout>> {
  const [task, ...behind] = await withThoseBehind(tx, engine, id);
  if (!task) return noTask(id);
  if (task.state !== "completed")
    return refuse("conflict", `task ${id} is ${shownState(task)}; only what was completed can be overturned`);
  const open = behind.filter((other) => !isLost(other.state));
  return ok({
    task,
    stale: open.filter(({ state }) => state === "completed"),
    stopped: open.filter(({ state }) => state !== "completed" && state !== "pending"),
    waiting: open.filter(({ state }) => state === "pending"),
  });
}

/**
 * A verdict that turned out to be wrong (T8): the task has failed after all, what was made from its
 * output is stale, and what is being made from it is stopped, whoever holds it. One transaction.
 */
export async function overturn(
  tx: Query,
  deps: Deps,
  id: string,
  reason: string,
  actor: string,
): Promise<Result<Fallout>> {
  const fallout = await falloutOf(tx, deps, id);
  if (!fallout.ok) return fallout;
  const { task, stale, stopped } = fallout.value;
  const why = `it was made from task ${id} (${task.title}), which was overturned: ${reason}`;
  await takeAll(tx, deps, actor, [
    [task, { type: "overturn", reason }],
    ...[...stale, ...stopped].map((other): [Task, Step] => [other, { type: "overturn", reason: why, because: id }]),
  ]);
  return fallout;
}

/** Opens a lost task again, and with it all that is stale behind it, in one transaction. */
export async function reopen(
  tx: Query,
  deps: Deps,
  id: string,
  actor: string,
): Promise<Result<{ task: Task; also: Task[] }>> {
  const [task, ...behind] = await withThoseBehind(tx, deps.engine, id);
  if (!task) return noTask(id);
  const also = behind.filter((other) => shownState(other) === "stale");
  const [opened] = await takeAll(
    tx,
    deps,
    actor,
    [task, ...also].map((other) => [other, { type: "reopen" }]),
  );
  return opened?.ok ? ok({ task: opened.value, also }) : (opened ?? noTask(id));
}

/** The task first. Until the transaction ends nobody changes them, or puts another behind them. */
async function withThoseBehind(tx: Query, engine: Deps["engine"], id: string): Promise<Task[]> {
  await lockShape(tx, engine);
  const rows = await lockTasks(tx, engine, [id, ...(await descendantsOf(tx, id))]);
  const tasks = rows.map(fromRow);
  const first = tasks.find((task) => task.id === id);
  return first ? [first, ...tasks.filter((task) => task !== first)] : [];
}

const takeAll = (tx: Query, deps: Deps, actor: string, steps: [Task, Step][]): Promise<Result<Task>[]> =>
  move(
    tx,
    deps,
    steps.map(([{ id }, step]): Move => ({ id, actor, decide: () => ok(step) })),
  );
