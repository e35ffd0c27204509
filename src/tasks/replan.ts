import type { Query } from "../store/database.ts";
import { appendEvents } from "../store/events.ts";
import {
  deleteTasks,
  dependenciesWithin,
  markAwaited,
  replaceDependencies,
  saveBlockers,
  saveReplanned,
} from "../store/queries/replan.ts";
import type { StoredTask } from "../store/queries/tasks.ts";
import type { MoveDeps } from "./moves.ts";
import { isLost, type State } from "./task.ts";

/** The new text of a task that is neither completed nor in progress. */
export type Replanned = { id: string; title: string; description: string; maxRetries: number; dependsOn: string[] };

/**
 * Changes and removes tasks of a run, in the caller's transaction, which holds the lock on dependencies (`lockShape`)
 * and on every task of the run. The new dependencies must be acyclic.
 */
export async function replanTasks(
  tx: Query,
  { engine, now }: MoveDeps,
  { run, changed, removed }: { run: string; changed: Replanned[]; removed: string[] },
  by: string,
): Promise<void> {
  const at = now().toISOString();
  for (const { id, dependsOn, ...words } of changed) {
    await saveReplanned(tx, id, words, at);
    await replaceDependencies(tx, id, dependsOn);
    await markAwaited(tx, dependsOn);
  }
  if (removed.length > 0) await deleteTasks(tx, removed);
  await countBlockers(tx, run);
  await appendEvents(tx, engine, [
    ...changed.map(({ id, title, description, maxRetries: max_retries, dependsOn: depends_on }) => ({
      ...{ at, actor: by, kind: "task-replanned" as const, subject: `task:${id}` },
      data: { title, description, max_retries, depends_on },
    })),
    ...removed.map((id) => ({ at, actor: by, kind: "task-removed" as const, subject: `task:${id}`, data: {} })),
  ]);
}

/** Counts the open dependencies and lost ancestors of every task of the run again. */
async function countBlockers(tx: Query, run: string): Promise<void> {
  const { tasks, dependencies } = await dependenciesWithin(tx, run);
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const before = grouped(dependencies);
  const directly = (id: string) => (before.get(id) ?? []).map(({ depends_on }) => depends_on);
  for (const task of tasks) {
    const open = directly(task.id).filter((other) => byId.get(other)?.state !== "completed").length;
    const lost = ancestors(task.id, directly).filter((other) => isLost((byId.get(other) as StoredTask).state as State));
    if (open !== task.blockers_left || lost.length !== task.lost_blockers)
      await saveBlockers(tx, task.id, { blockers_left: open, lost_blockers: lost.length });
  }
}

function ancestors(id: string, directly: (id: string) => string[]): string[] {
  const seen = new Set<string>();
  const open = directly(id);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...directly(next));
  }
  return [...seen];
}

function grouped<T extends { task_id: string }>(rows: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) groups.set(row.task_id, [...(groups.get(row.task_id) ?? []), row]);
  return groups;
}
