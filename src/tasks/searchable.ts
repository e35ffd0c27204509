import { everyone } from "../kernel/operation.ts";
import type { Kind } from "../search/kinds.ts";
import type { Database } from "../store/database.ts";
import { findTask, taskIds } from "../store/queries/tasks.ts";
import { fromRow } from "./task.ts";

/** Tasks by description and result. Attempts and verdicts of a run's tasks are kinds of their own. */
export const taskKind = (db: Database): Kind => ({
  name: "task",
  readers: everyone,
  all: () => taskIds(db.read),
  async read(id) {
    const row = await findTask(db.read, id);
    if (!row) return undefined;
    const task = fromRow(row);
    const fields = task.run === null ? [...inAttempts, ...inTasks] : inTasks;
    const text = [task.title, task.description, ...sections(task.result, fields)].filter(Boolean).join("\n\n");
    const found = { title: task.title, text, author: task.holder ?? task.createdBy, at: task.updatedAt };
    return task.run === null ? found : { ...found, run: task.run };
  },
});

const inAttempts = ["output", "feedback", "issues", "requiredFixes"];
const inTasks = ["failureReport", "summary"];

function sections(result: Record<string, unknown>, fields: string[]): string[] {
  return fields.flatMap((name) => {
    const value = result[name];
    if (typeof value === "string") return [`## ${name}\n\n${value}`];
    return Array.isArray(value) && value.length > 0
      ? [`## ${name}\n\n${value.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("\n")}`]
      : [];
  });
}
