import { everyone } from "../kernel/operation.ts";
import type { Kind } from "../search/kinds.ts";
import type { Database } from "../store/database.ts";
import { parseJsonOr } from "../store/json.ts";

/** Tasks by what they ask for and what came of them. Of a run's tasks, attempts and verdicts are found by themselves. */
export const taskKind = (db: Database): Kind => ({
  name: "task",
  readers: everyone,
  all: async () => (await db.read.selectFrom("tasks").select("id").execute()).map((row) => row.id),
  async read(id) {
    const task = await db.read.selectFrom("tasks").selectAll().where("id", "=", id).executeTakeFirst();
    if (!task) return undefined;
    const told = task.run === null ? [...inAttempts, ...ofAll] : ofAll;
    const text = [task.title, task.description, ...outcome(parseJsonOr(task.result, {}), told)]
      .filter(Boolean)
      .join("\n\n");
    const about = { title: task.title, text, author: task.holder ?? task.created_by, at: task.updated_at };
    return task.run === null ? about : { ...about, run: task.run };
  },
});

const inAttempts = ["output", "feedback", "issues", "requiredFixes"];
const ofAll = ["failureReport", "summary"];

function outcome(result: Record<string, unknown>, told: string[]): string[] {
  return told.flatMap((name) => {
    const value = result[name];
    if (typeof value === "string") return [`## ${name}\n\n${value}`];
    return Array.isArray(value) && value.length > 0
      ? [`## ${name}\n\n${value.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("\n")}`]
      : [];
  });
}
