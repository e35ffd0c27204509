import * as z from "zod";
import { nameOf } from "../../kernel/caller.ts";
import { collaborators, operation, people } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { confirmChange, diffOfChange, findChange, rejectChange } from "../record/plan-changes.ts";
import { taskNumber } from "../rules/plan.ts";
import type { StoredPlanChange } from "../rules/replan.ts";

const changeId = z.string().max(64).describe("Id of the plan change, such as change-…");

const planChange = z.object({
  id: z.string(),
  run: z.string(),
  state: z.enum(["drafting", "open", "confirmed", "rejected", "superseded", "failed"]),
  tasks: z.array(z.string()).describe("Numbers of the tasks that it replans"),
  message: z.string().nullable().describe("The instruction of the person who asked for it"),
  reason: z.string().nullable().describe("The planner's explanation, or why there is no proposal"),
  diff: z.string().describe("The change of the plan's file; empty unless it waits for a decision"),
  requested_by: z.string(),
  requested_at: z.string(),
  decided_by: z.string().nullable(),
  note: z.string().nullable(),
});

async function shown(app: CrewApp, change: StoredPlanChange): Promise<z.infer<typeof planChange>> {
  const { id, run_id, state, wanted, message, reason, requested_by, requested_at, decided_by, note } = change;
  const run = await app.runs.find(run_id);
  const diff = state === "open" && run ? diffOfChange(run, change) : "";
  return {
    ...{ id, run: run_id, state, tasks: wanted, message, reason, diff },
    ...{ requested_by, requested_at, decided_by, note },
  };
}

export const replanRun = operation({
  name: "replan_run",
  summary:
    "Have the planner change the plan for failed tasks of a stopped or failed run; a person confirms the change.",
  effect: "writes",
  touches: ["run"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/runs/{id}/replan" },
  input: z.object({
    id: z.string().max(64).describe("Id of the run, such as run-…"),
    tasks: z
      .array(taskNumber)
      .max(100)
      .default([])
      .describe("Numbers of tasks that are not accepted; left out, all that failed"),
    message: z.string().trim().min(1).max(4000).optional().describe("What the planner should do differently"),
  }),
  output: z.object({
    run: z.string(),
    change_id: z.string(),
    change: planChange.optional().describe("The proposal; left out while it is written in the background"),
  }),
  async run(app: CrewApp, { id, tasks, message }, caller) {
    const started = await app.host.replan(id, { tasks, message: message ?? null, by: nameOf(caller) });
    if (!started.ok) return started;
    const { change, ended } = started.value;
    if (app.host.background) return ok({ run: id, change_id: change });
    const made = await ended;
    return made.ok ? ok({ run: id, change_id: change, change: await shown(app, made.value) }) : made;
  },
});

export const showPlanChange = operation({
  name: "show_plan_change",
  summary: "Show a change of a plan that the planner proposes, as a diff.",
  effect: "reads",
  reads: ["run"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/plan-changes/{id}" },
  input: z.object({ id: changeId }),
  output: planChange,
  async run(app: CrewApp, { id }): Promise<Result<z.infer<typeof planChange>>> {
    const change = await findChange(app, id);
    return change ? ok(await shown(app, change)) : refuse("not_found", `plan change ${id} does not exist`);
  },
});

export const confirmPlanChange = operation({
  name: "confirm_plan_change",
  summary: "Confirm a proposed change of a plan: the plan is changed and its failed tasks are reopened.",
  effect: "writes",
  touches: ["run", "task"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/plan-changes/{id}/confirm" },
  decision: true,
  input: z.object({ id: changeId }),
  output: z.object({
    id: z.string(),
    run: z.string(),
    diff: z.string().describe("The change of the plan's file"),
    reopened: z.array(z.string()).describe("Numbers of failed tasks that run again when the run is resumed"),
  }),
  async run(app: CrewApp, { id }, caller) {
    const done = await confirmChange(app, id, nameOf(caller));
    return done.ok ? ok({ id, run: done.value.run.id, diff: done.value.diff, reopened: done.value.reopened }) : done;
  },
});

export const rejectPlanChange = operation({
  name: "reject_plan_change",
  summary: "Reject a proposed change of a plan; the plan stays as it is.",
  effect: "writes",
  touches: ["run"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/plan-changes/{id}/reject" },
  decision: true,
  input: z.object({ id: changeId, note: z.string().trim().min(1).max(2000).optional().describe("The reason") }),
  output: z.object({ id: z.string(), run: z.string() }),
  async run(app: CrewApp, { id, note }, caller) {
    const done = await rejectChange(app, id, note ?? null, nameOf(caller));
    return done.ok ? ok({ id, run: done.value.run_id }) : done;
  },
});
