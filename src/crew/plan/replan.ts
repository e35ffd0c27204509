import * as z from "zod";
import { type Operation, operation } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { agentReportsOf } from "../../store/queries/agent-reports.ts";
import { attemptsOf } from "../../store/queries/attempts.ts";
import { tasksOfRun } from "../../store/queries/runs.ts";
import { fromRow, shownState } from "../../tasks/task.ts";
import { replanInstructions } from "../agent/planner-prompts.ts";
import type { Staff } from "../agent/staff.ts";
import { keepCarrying } from "../record/carrier.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { failureRecord } from "../record/failure-record.ts";
import {
  carriedChange,
  draftChange,
  failChange,
  findChange,
  freeChange,
  proposeChange,
} from "../record/plan-changes.ts";
import { reportKinds, sectionsText } from "../rules/agent-report.ts";
import { type PlanTask, taskNumber } from "../rules/plan.ts";
import type { StoredPlanChange } from "../rules/replan.ts";
import { type ReplanRecord, replanContext } from "../rules/replan-context.ts";
import { refuseUnlessOutage } from "./carry-plan.ts";
import { addPlanTasks, plannerOf } from "./draft-tools.ts";
import { crewFacts, runPlanner } from "./planner.ts";

/** Has the planner propose a change of the plan for tasks that failed (W7). The plan changes when a person confirms. */
export async function replanRun(
  crew: Staff,
  change: StoredPlanChange,
  { signal, serving }: { signal: AbortSignal; serving: boolean },
): Promise<Result<StoredPlanChange>> {
  const { app } = crew;
  const lease = keepCarrying(app, carriedChange(change));
  try {
    const done = await propose(crew, change, AbortSignal.any([signal, lease.lost])).catch(
      refuseUnlessOutage(app, { change: change.id }),
    );
    const after = await findChange(app, change.id);
    if (after?.state === "open") return ok(after);
    const reason = done.ok ? "the planner ended without a proposal" : done.problem.message;
    // The next server continues it.
    if (signal.aborted && serving) await lease.handOver();
    else if (signal.aborted) await freeChange(app, change);
    else if (!lease.lost.aborted) await failChange(app, change, reason);
    return refuse("refused", `run ${change.run_id} could not be replanned: ${reason}`, { change: change.id });
  } finally {
    lease.end();
  }
}

async function propose(crew: Staff, change: StoredPlanChange, signal: AbortSignal): Promise<Result<true>> {
  const { app } = crew;
  const { run_id: run } = change;
  const record = await recordFor(app, change);
  if (!record.ok) return record;
  const commit = (await app.packs.acceptedHere(run)) ?? (await app.git.head()).commit;
  const planning = {
    ...{ run, commit, delivers: "propose_plan", tools: toolsFor(change) },
    ...{ system: replanInstructions(await crewFacts(crew)), prompt: replanContext(record.value) },
  };
  return runPlanner(crew, planning, signal);
}

async function recordFor(app: CrewApp, change: StoredPlanChange): Promise<Result<ReplanRecord>> {
  const { run_id: id, wanted, message, draft } = change;
  const run = await app.runs.find(id);
  if (!run?.plan) return refuse("conflict", `run ${id} has no plan that can be read`);
  const query = app.db.read;
  const [rows, attempts, reports] = [
    await tasksOfRun(query, id),
    await attemptsOf(query, { run: id }),
    await agentReportsOf(query, { run: id }),
  ];
  const planned = new Map(run.plan.tasks.map((task) => [task.number, task]));
  const failed: ReplanRecord["failed"] = [];
  for (const { number, task_id } of rows.filter((row) => wanted.includes(row.number))) {
    const own = reports.filter((one) => one.task_id === task_id && one.content);
    failed.push({
      task: planned.get(number) as PlanTask,
      record: (await failureRecord(app, task_id))?.record,
      reports: own.slice(-2).map(({ kind, content }) => ({
        by: reportKinds[kind].part === "pm" ? "planner" : "verifier",
        text: sectionsText(content ?? {}),
      })),
    });
  }
  const before = new Map(run.plan.tasks.map((task) => [task.number, JSON.stringify(task)]));
  return ok({
    ...{ request: run.request, title: run.plan.title, summary: run.plan.summary, message, failed },
    tasks: rows.flatMap(({ number, task_id, task }) => {
      const plan = planned.get(number);
      const last = attempts.findLast((one) => one.task_id === task_id && one.phase === "qc_passed");
      const state = shownState(fromRow(task));
      return plan ? [{ task: plan, state, output: last?.output ?? "", files: last?.files_changed ?? [] }] : [];
    }),
    changed: draft.filter((task) => before.get(task.number) !== JSON.stringify(task)).map(({ number }) => number),
  });
}

const toolsFor = (change: StoredPlanChange) =>
  [
    addPlanTasks((app, _, tasks) => draftChange(app, change, tasks)),
    proposePlan(change),
  ] as unknown as Operation<CrewApp>[];

const proposePlan = (change: StoredPlanChange) =>
  operation({
    name: "propose_plan",
    summary: "Check the changed plan and propose it to a person.",
    guidance:
      "Refused with every contradiction: correct those tasks with add_plan_tasks and call it again. " +
      'Example: {"reason": "Task 1.2 did two things; its parser is now 1.5", "splits": [{"task": "1.2", "into": ["1.2", "1.5"]}]}',
    effect: "writes",
    touches: ["run"],
    callers: ["agent"],
    group: "crew",
    input: z.object({
      reason: z
        .string()
        .trim()
        .min(1, "expected the reason")
        .max(4000)
        .describe("Why the tasks failed, and why the change helps; the person reads it"),
      splits: z
        .array(
          z.object({
            task: taskNumber.describe("The task that was split"),
            into: z
              .array(taskNumber)
              .min(2, "expected at least two parts")
              .max(20)
              .describe("Its parts, itself included"),
          }),
        )
        .max(50)
        .default([])
        .describe("Tasks that depended on the split task will depend on all of its parts"),
    }),
    output: z.object({ status: z.literal("proposed"), tasks: z.int(), message: z.string() }),
    async run(app: CrewApp, { reason, splits }, caller) {
      const planner = plannerOf(caller);
      if (!planner.ok) return planner;
      const proposed = await proposeChange(app, change, { reason, splits }, planner.value.agent);
      return proposed.ok
        ? ok({ status: "proposed" as const, tasks: proposed.value.tasks, message: "recorded; you are done, stop here" })
        : proposed;
    },
  });
