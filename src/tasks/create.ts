import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database, Query } from "../store/database.ts";
import { appendEvents } from "../store/events.ts";
import { noSuch } from "../store/no-such.ts";
import { insertTasks, lockShape, lockTasks, lostAncestors, type NewTaskRow } from "../store/queries/tasks.ts";
import { fromRow, isLost, type State, type Task } from "./task.ts";
import { findCycle, inOrder } from "./topological-order.ts";

export type NewTask = {
  title: string;
  description: string;
  /** Ids of tasks that exist, or keys of others in the same list. */
  dependsOn: string[];
  priority: number;
  run: string | null;
  maxRetries: number;
  /** The name by which others in the same list depend on it. */
  key?: string;
};

type Deps = { engine: Database["engine"]; now(): Date; newId(prefix: string): string };
type PlannedTask = { name: string; dependsOn: string[]; wanted: NewTask; id: string };

/** One point of priority equals one minute of waiting, so that a low priority delays a task but cannot starve it. */
export const turnAt = (createdAt: string, priority: number) => Date.parse(createdAt) - priority * 60_000;

/** Creates all of them or none, in the caller's transaction. */
export async function createTasks(tx: Query, deps: Deps, list: NewTask[], by: string): Promise<Result<Task[]>> {
  const planned = list.map((wanted): PlannedTask => {
    const id = deps.newId("task");
    return { name: wanted.key ?? id, dependsOn: [...new Set(wanted.dependsOn)], wanted, id };
  });
  const names = new Set(planned.map(({ name }) => name));
  if (names.size < planned.length) {
    const double = planned.find(({ name }, at) => planned.findIndex((other) => other.name === name) < at);
    return refuse("invalid", `two tasks have the key ${double?.name}`);
  }
  const cycle = findCycle(planned);
  if (cycle) return refuse("invalid", `depends_on has a cycle: ${cycle.join(" → ")}`, { cycle });

  const outside = [...new Set(planned.flatMap(({ dependsOn }) => dependsOn))].filter((name) => !names.has(name));
  const existing = await dependenciesAt(tx, deps.engine, outside);
  const unknown = outside.filter((id) => !existing.has(id));
  if (unknown[0] !== undefined) {
    const { message, details } = (await noSuch(tx, "task", unknown[0])).problem;
    return refuse("invalid", `depends_on: ${message}`, details);
  }
  return ok(await insert(tx, deps, planned, existing, by));
}

/** The state of a task as far as its dependents count it: whether they wait for it, and what they can never get. */
type Dependency = { id: string; open: boolean; lost: Set<string> };

async function dependenciesAt(tx: Query, engine: Database["engine"], ids: string[]): Promise<Map<string, Dependency>> {
  if (ids.length === 0) return new Map();
  await lockShape(tx, engine);
  const found: [string, Dependency][] = [];
  for (const { id, state } of await lockTasks(tx, engine, ids)) {
    const lost = new Set((await lostAncestors(tx, id, Number.MAX_SAFE_INTEGER)).map((other) => other.id));
    if (isLost(state as State)) lost.add(id);
    found.push([id, { id, open: state !== "completed", lost }]);
  }
  return new Map(found);
}

async function insert(
  tx: Query,
  { engine, now }: Deps,
  planned: PlannedTask[],
  dependencies: Map<string, Dependency>,
  by: string,
): Promise<Task[]> {
  const at = now().toISOString();
  const made = new Map<string, NewTaskRow & { dependsOn: string[] }>();
  for (const { name, dependsOn, wanted, id } of inOrder(planned)) {
    const before = dependsOn.map((other) => dependencies.get(other) as Dependency);
    const lost = new Set(before.flatMap((other) => [...other.lost]));
    dependencies.set(name, { id, open: true, lost });
    made.set(id, {
      id,
      run: wanted.run,
      title: wanted.title,
      description: wanted.description,
      state: "pending",
      priority: wanted.priority,
      turn_at: turnAt(at, wanted.priority),
      attempt: 0,
      max_retries: wanted.maxRetries,
      blockers_left: before.filter((other) => other.open).length,
      lost_blockers: lost.size,
      epoch: 0,
      holder: null,
      claimed_at: null,
      lease_until: null,
      secret_hash: null,
      result: "{}",
      version: 1,
      created_at: at,
      created_by: by,
      updated_at: at,
      dependsOn: before.map((other) => other.id),
    });
  }
  // Inserted in the given order: tasks of equal priority are claimed in the order of their numbers.
  const rows = planned.map(({ id }) => made.get(id) as NewTaskRow & { dependsOn: string[] });
  const numbers = await insertTasks(
    tx,
    engine,
    rows.map(({ dependsOn: _, ...row }) => row),
    rows.flatMap(({ id, dependsOn }) => dependsOn.map((depends_on) => ({ task_id: id, depends_on }))),
  );
  await appendEvents(
    tx,
    engine,
    rows.map(({ id, run, title, description, dependsOn, priority, max_retries, state }) => ({
      at,
      actor: by,
      kind: "task-created",
      subject: `task:${id}`,
      data: { run, title, description, depends_on: dependsOn, priority, max_retries, state },
    })),
  );
  const awaited = new Set(rows.flatMap(({ dependsOn }) => dependsOn));
  return rows.map((row) => fromRow({ ...row, num: numbers.get(row.id) ?? 0, awaited: awaited.has(row.id) ? 1 : 0 }));
}
