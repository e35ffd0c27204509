import { fenced } from "../../kernel/fenced.ts";
import type { PlanTask } from "./plan.ts";
import { attemptTexts, type FailureRecord, failureFacts } from "./report-context.ts";

export type ReplanRecord = {
  request: string;
  title: string;
  summary: string;
  /** All tasks of the plan, as they stand. */
  tasks: { task: PlanTask; state: string; output: string; files: string[] }[];
  /** The tasks to replan; without a record if nobody has tried it. */
  failed: { task: PlanTask; record: FailureRecord | undefined; reports: { by: string; text: string }[] }[];
  message: string | null;
  /** Numbers of tasks that the planner changed before it was interrupted. */
  changed: string[];
};

const mostRequirements = 1500;
const mostFailures = 60_000;

/** The plan, what of it is accepted, and why tasks failed; for the planner that changes it. */
export const replanContext = ({ request, title, summary, tasks, failed, message, changed }: ReplanRecord): string =>
  [
    `# Replan: ${title}`,
    `Request:\n${data("the person", cut(request, 6000))}`,
    ...(message === null ? [] : [`What the person says about the new plan:\n${data("the person", message)}`]),
    ...(summary === "" ? [] : [`Summary of the plan:\n${data("the plan", cut(summary, 3000))}`]),
    `# Tasks of the plan\n\n${tasks.map(taskText).join("\n\n")}`,
    cut(`# Tasks to replan\n\n${failed.map(failureText).join("\n\n")}`, mostFailures),
    ...(changed.length === 0
      ? []
      : [`# So far\n\nAn earlier planner was interrupted. It changed: ${changed.join(", ")}. Continue from there.`]),
  ].join("\n\n");

function taskText({ task, state, output, files }: ReplanRecord["tasks"][number]): string {
  return [
    `## ${task.number}: ${task.title} (${state})`,
    `Depends on: ${task.depends_on.join(", ") || "0"}. Deliverable: ${task.deliverable}.`,
    ...(files.length === 0 ? [] : [`Files: ${files.slice(0, 30).join(", ")}`]),
    ...(state === "completed"
      ? [data("the worker", cut(output, 600))]
      : [data("the plan", cut(task.requirements, mostRequirements))]),
  ].join("\n");
}

function failureText({ task, record, reports }: ReplanRecord["failed"][number]): string {
  return [
    `## ${task.number}: ${task.title}`,
    `The task as it was planned:\n${data("the plan", JSON.stringify(task))}`,
    ...(record
      ? [
          failureFacts(record),
          ...attemptTexts(record.history),
          ...(record.diffStat === "" ? [] : [`Changes of the last attempt:\n${data("git", record.diffStat)}`]),
        ]
      : ["Nobody has tried it."]),
    ...reports.map(({ by, text }) => `Report of the ${by}, which is an opinion:\n${data("an agent", cut(text, 6000))}`),
  ].join("\n\n");
}

const data = (from: string, text: string) => fenced(`data from ${from}`, text);
const cut = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, most)}\n… (${text.length - most} characters left out)`;
