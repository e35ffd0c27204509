import type { Query } from "../database.ts";
import type { StoredTask } from "./tasks.ts";

/** The text of a task; its version rises, so that a claim on the old row fails. */
export const saveReplanned = (
  tx: Query,
  id: string,
  { title, description, maxRetries }: { title: string; description: string; maxRetries: number },
  at: string,
) =>
  tx
    .updateTable("tasks")
    .set((x) => ({ title, description, max_retries: maxRetries, version: x("version", "+", 1), updated_at: at }))
    .where("id", "=", id)
    .execute();

export async function replaceDependencies(tx: Query, id: string, dependsOn: readonly string[]): Promise<void> {
  await tx.deleteFrom("task_dependencies").where("task_id", "=", id).execute();
  if (dependsOn.length === 0) return;
  const rows = dependsOn.map((depends_on) => ({ task_id: id, depends_on }));
  await tx.insertInto("task_dependencies").values(rows).execute();
}

export async function markAwaited(tx: Query, ids: string[]): Promise<void> {
  if (ids.length > 0) await tx.updateTable("tasks").set({ awaited: 1 }).where("id", "in", ids).execute();
}

export const deleteTasks = (tx: Query, ids: string[]) => tx.deleteFrom("tasks").where("id", "in", ids).execute();

export const saveBlockers = (tx: Query, id: string, counts: Pick<StoredTask, "blockers_left" | "lost_blockers">) =>
  tx.updateTable("tasks").set(counts).where("id", "=", id).execute();

/** The tasks of a run and the dependencies among them. */
export async function dependenciesWithin(
  tx: Query,
  run: string,
): Promise<{ tasks: StoredTask[]; dependencies: { task_id: string; depends_on: string }[] }> {
  const tasks = await tx.selectFrom("tasks").selectAll().where("run", "=", run).execute();
  const dependencies = await tx
    .selectFrom("task_dependencies")
    .innerJoin("tasks", "tasks.id", "task_dependencies.task_id")
    .select(["task_dependencies.task_id", "task_dependencies.depends_on"])
    .where("tasks.run", "=", run)
    .execute();
  return { tasks, dependencies };
}
