import { issueText } from "../../kernel/issue-text.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { PlanChangeRow } from "../../store/crew-tables.ts";
import { parseJsonOr } from "../../store/json.ts";
import { byNumber, type Plan, type PlanTask, plan as planSchema } from "./plan.ts";
import { type PlanChange, planChange, type Standing } from "./plan-change.ts";

/** A task that was split: tasks that depended on it depend on all of its parts. */
export type Split = { task: string; into: string[] };

/**
 * The plan after a replan, or every reason why it is not one. A task that has been started keeps its number, so that
 * its attempts stay with it: it becomes one of its own parts.
 */
export function replanned(
  before: Plan,
  { tasks, splits }: { tasks: PlanTask[]; splits: Split[] },
  { wanted, standing }: { wanted: readonly string[]; standing: readonly Standing[] },
): Result<{ plan: Plan; change: PlanChange }> {
  const problems = splits.flatMap((split) => whyNotSplit(split, tasks));
  if (problems.length > 0) return refuse("invalid", problems.join("\n"), { problems });
  const wired = tasks.map((task) => withParts(task, splits)).sort(byNumber);
  const read = planSchema.safeParse({ ...before, tasks: wired }, { reportInput: true });
  if (!read.success) {
    const errors = read.error.issues.map((issue) => {
      const [first, index, ...field] = issue.path;
      const task = first === "tasks" && typeof index === "number" ? wired[index] : undefined;
      const place = task ? `task ${task.number}${field.length > 0 ? `, ${field.map(String).join(".")}` : ""}` : first;
      return `${String(place ?? "plan")}: ${issueText(issue)}`;
    });
    return refuse("invalid", errors.join("\n"), { errors });
  }
  const change = planChange(before, read.data, standing);
  if (!change.ok) return change;
  const changed = new Set(change.value.changed.map(({ number }) => number));
  const same = wanted.filter((number) => !changed.has(number));
  if (same.length > 0)
    return refuse("invalid", same.map((number) => `task ${number} is not changed: rewrite it, or split it`).join("\n"));
  return ok({ plan: read.data, change: change.value });
}

function whyNotSplit({ task, into }: Split, tasks: PlanTask[]): string[] {
  if (task === "0") return ["task 0 cannot be split: rewrite it"];
  const unknown = [task, ...into].filter((number) => !tasks.some((one) => one.number === number));
  if (unknown.length > 0) return [`split of task ${task}: task ${unknown.join(", ")} does not exist`];
  return into.includes(task)
    ? []
    : [`split of task ${task}: it has been started and keeps its number; make it one of the parts`];
}

function withParts(task: PlanTask, splits: Split[]): PlanTask {
  const before = new Set(task.depends_on);
  for (const { task: split, into } of splits)
    if (before.has(split) && !into.includes(task.number)) for (const part of into) before.add(part);
  return { ...task, depends_on: [...before] };
}

/** A change of a plan that the planner proposes; `wanted` are the numbers of the tasks that it replans. */
export type StoredPlanChange = Omit<PlanChangeRow, "tasks" | "draft" | "plan"> & {
  wanted: string[];
  draft: PlanTask[];
  plan: Plan | null;
};

export const planChangeFrom = ({ tasks, draft, plan, ...row }: PlanChangeRow): StoredPlanChange => ({
  ...row,
  wanted: parseJsonOr<string[]>(tasks, []),
  draft: parseJsonOr<PlanTask[]>(draft, []),
  plan: plan === null ? null : (planSchema.safeParse(parseJsonOr(plan, undefined)).data ?? null),
});
