import * as z from "zod";
import type { Caller } from "../../kernel/caller.ts";
import { issueText } from "../../kernel/issue-text.ts";
import { jsonSchema } from "../../kernel/json-schema.ts";
import { type Operation, operation } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { refuseElsewhere } from "../record/elsewhere.ts";
import { changeDraft, readDraft } from "../record/plan-draft.ts";
import { dependenciesOf, type PlanTask, plan, planHead, planTask, taskNumber } from "../rules/plan.ts";

/** The planner that the run started, by its run and name. */
export function plannerOf(caller: Caller): Result<{ run: string; agent: string }> {
  const crew = caller.kind === "agent" ? caller.crew : undefined;
  return crew?.part === "pm"
    ? ok(crew)
    : refuse("denied", "only the planner that was started for this run can do that");
}

/** Checked one by one, so that one invalid task does not refuse the others of the same call. */
const uncheckedTask = z.custom<unknown>().meta(jsonSchema(planTask));

/** Where the tasks of a planner are stored; returns all tasks so far. */
type Draft = (
  app: CrewApp,
  planner: { run: string; agent: string },
  change: { tasks: PlanTask[]; removed: string[] },
) => Promise<Result<PlanTask[]>>;

export const addPlanTasks = (save: Draft) =>
  operation({
    name: "add_plan_tasks",
    summary: "Submit tasks of the plan: one, or several in one call.",
    guidance:
      "Each valid task is saved; an invalid one is refused with its errors, and the others stay. A task with a number that exists replaces it.",
    effect: "writes",
    touches: ["run"],
    callers: ["agent"],
    group: "crew",
    input: z.object({
      tasks: z.array(uncheckedTask).max(100).default([]).describe("Task 0 validates the environment; 1.x do the work"),
      remove: z.array(taskNumber).max(500).default([]).describe("Numbers of tasks to remove"),
    }),
    output: z.object({
      saved: z.array(z.string()),
      refused: z.array(z.object({ task: z.string(), errors: z.array(z.string()) })).optional(),
      total: z.int().describe("Number of tasks so far"),
      undefined: z.array(z.string()).optional().describe("Tasks that others depend on and that do not exist yet"),
    }),
    async run(app: CrewApp, { tasks, remove }, caller) {
      const planner = plannerOf(caller);
      if (!planner.ok) return planner;
      const read = tasks.map((task, i) => ({
        name: nameOf(task, i),
        read: planTask.safeParse(task, { reportInput: true }),
      }));
      const refused = read.flatMap(({ name, read }) =>
        read.success ? [] : { task: name, errors: read.error.issues.map(told) },
      );
      const good = read.flatMap(({ read }) => (read.success ? [read.data] : []));
      if (good.length + remove.length === 0)
        return refuse(
          "invalid",
          refused.map(({ task, errors }) => `${task}: ${errors.join("; ")}`).join("\n") || "tasks: empty",
        );
      const saved = await save(app, planner.value, { tasks: good, removed: remove });
      if (!saved.ok) return saved;
      const missing = undefinedIn(saved.value);
      return ok({
        saved: good.map(({ number }) => number),
        ...(refused.length > 0 ? { refused } : {}),
        total: saved.value.length,
        ...(missing.length > 0 ? { undefined: missing } : {}),
      });
    },
  });

const intoDraft: Draft = async (app, { run, agent }, change) => {
  const saved = await changeDraft(app, run, change, agent);
  return saved.ok ? ok(await readDraft(app, run)) : saved;
};

const finishPlan = operation({
  name: "finish_plan",
  summary: "Check and submit the plan made of the tasks that you submitted.",
  guidance:
    "Refused with every contradiction between tasks: correct those tasks with add_plan_tasks and call it again. In the same answer as add_plan_tasks, set `count`.",
  effect: "writes",
  touches: ["run", "task"],
  callers: ["agent"],
  group: "crew",
  input: planHead.extend({
    count: z.int().min(1).optional().describe("Number of tasks in the plan; refused if another number was saved"),
  }),
  output: z.object({ run: z.string(), tasks: z.int() }),
  async run(app: CrewApp, { count, ...head }, caller) {
    const planner = plannerOf(caller);
    if (!planner.ok) return planner;
    const { run, agent } = planner.value;
    const tasks = await readDraft(app, run);
    if (tasks.length === 0) return refuse("invalid", "there are no tasks yet; submit them with add_plan_tasks");
    if (count !== undefined && count !== tasks.length)
      return refuse(
        "invalid",
        `count: the plan has ${tasks.length} tasks (${tasks.map(({ number }) => number).join(", ")}), not ${count}; submit those that were refused, or correct the count`,
      );
    const whole = wholePlan({ ...head, tasks });
    if (!whole.ok) return whole;
    const adopted = await app.runs.adopt(run, whole.value, agent, undefined, async (_tx, { run: row }) => {
      return refuseElsewhere(run, row.carriedBy) ?? ok(true);
    });
    return adopted.ok ? ok({ run, tasks: adopted.value.tasks.length }) : adopted;
  },
});

/** The plan, or every contradiction in it by the number of its task. */
function wholePlan(wanted: z.input<typeof plan> & { tasks: PlanTask[] }): Result<z.output<typeof plan>> {
  const whole = plan.safeParse(wanted, { reportInput: true });
  if (whole.success) return ok(whole.data);
  const lines = whole.error.issues.map((issue) => {
    const [first, index, ...field] = issue.path;
    const task = first === "tasks" && typeof index === "number" ? wanted.tasks[index] : undefined;
    return task ? `task ${task.number}: ${told({ ...issue, path: field })}` : told(issue);
  });
  return refuse("invalid", lines.join("\n"), { errors: lines });
}

export const draftTools = [addPlanTasks(intoDraft), finishPlan] as unknown as Operation<CrewApp>[];

const told = (issue: z.core.$ZodIssue) =>
  `${issue.path.length > 0 ? `${issue.path.map(String).join(".")}: ` : ""}${issueText(issue)}`;

const nameOf = (task: unknown, index: number) => {
  const number = (task as { number?: unknown } | null)?.number;
  return typeof number === "string" ? `task ${number}` : `tasks.${index}`;
};

function undefinedIn(tasks: PlanTask[]): string[] {
  const known = new Set(tasks.map(({ number }) => number));
  return [...new Set(tasks.flatMap(dependenciesOf))].filter((number) => !known.has(number));
}
