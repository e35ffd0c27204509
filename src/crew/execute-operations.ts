import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, operation, people } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { noSuch } from "../store/no-such.ts";
import { requestFrom, requestTemplates } from "./plan/request-templates.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { currentBudget, raisesBudget } from "./rules/run-budget.ts";

const runId = z.string().max(64).describe("Id of the run, such as run-…");

export const startRun = operation({
  name: "start_run",
  summary:
    "Plan a request, or continue planning a run that ended without a plan; the plan can be edited before it runs.",
  effect: "writes",
  touches: ["run"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/runs" },
  input: z.object({
    request: z.string().trim().min(1, "expected the request").max(100_000).optional().describe("What should be done"),
    run: runId.optional().describe("Instead of a request: a run without a plan; the tasks in its draft are kept"),
    template: z
      .string()
      .max(64)
      .optional()
      .describe("Name of a template of list_request_templates that makes the request"),
    values: z
      .record(z.string().max(64), z.string().max(50_000))
      .optional()
      .describe("Values for the parameters of the template; `request` is the value of the first one"),
    brief: z.boolean().default(false).describe("First have an agent turn the request into a specification"),
  }),
  output: z.object({
    run: z.string(),
    chain: z.string().optional().describe("File of the plan, once it is planned"),
    tasks: z.array(z.object({ id: z.string(), number: z.string(), title: z.string() })).optional(),
  }),
  async run(app: CrewApp, { request: given, template, values, run, brief }, caller) {
    const by = nameOf(caller);
    if ((given === undefined && template === undefined) === (run === undefined))
      return refuse("invalid", "request: expected the request, or the run to continue, and not both");
    if (values !== undefined && template === undefined)
      return refuse("invalid", "values: expected the template that they are for");
    const filled = template && requestFrom(app.config.root, { template, values: values ?? {}, request: given });
    if (filled && !filled.ok) return filled;
    const request = filled ? filled.value : (given ?? "");
    const started =
      run === undefined ? await app.host.plan(request, { brief, by }) : await app.host.resumePlan(run, { by });
    if (!started.ok) return started;
    return app.host.background ? ok({ run: started.value.run }) : started.value.ended;
  },
});

export const listRequestTemplates = operation({
  name: "list_request_templates",
  summary: "List templates for requests of runs: those of the workspace in runs/templates/, then the bundled ones.",
  effect: "reads",
  reads: ["run"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/request-templates" },
  input: z.object({}),
  output: z.object({
    templates: z.array(
      z.object({
        name: z.string(),
        title: z.string(),
        description: z.string(),
        parameters: z.array(
          z.object({
            name: z.string(),
            label: z.string(),
            hint: z.string().nullable(),
            optional: z.boolean(),
            long: z.boolean().describe("Several lines"),
          }),
        ),
        text: z.string().describe("The request, with {{name}} for each parameter"),
        file: z.string().nullable().describe("The file, if it is the workspace's own"),
      }),
    ),
    problems: z.array(z.string()).describe("What is wrong with files that are not listed"),
  }),
  run: async (app: CrewApp) => ok(requestTemplates(app.config.root)),
});

export const executeRun = operation({
  name: "execute_run",
  summary: "Run a plan, or resume a stopped run; completed tasks are not repeated.",
  effect: "writes",
  touches: ["run", "task"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/runs/{id}/execute" },
  decision: async (app: CrewApp, { id, budget_tokens, budget_usd }) => {
    const run = await app.runs.find(id);
    const asked = { tokens: budget_tokens, usd: budget_usd };
    return run !== undefined && raisesBudget(currentBudget(run, app.config.crew.budget), asked);
  },
  input: z.object({
    id: runId,
    budget_tokens: z
      .int()
      .min(1)
      .nullable()
      .optional()
      .describe("Token budget: the run stops before a call that would exceed it; null removes it"),
    budget_usd: z.number().min(0).nullable().optional().describe("Budget in US dollars; null removes it"),
    workers: z.int().min(1).max(1000).optional().describe("Number of concurrent workers"),
    retry: z
      .union([z.literal("all"), z.array(z.string().min(1).max(64)).min(1).max(1000)])
      .optional()
      .describe(
        "Failed tasks to reopen first, by id or number, or all of them; one that is no longer failed stays as it is",
      ),
  }),
  output: z.object({
    run: z.string(),
    state: z.string().optional().describe("Outcome; left out while it runs in the background"),
    tasks: z.object({ all: z.int(), completed: z.int(), lost: z.int() }).optional(),
    reason: z.string().nullable().optional(),
    report: z.string().nullable().optional().describe("File of the report"),
    branch: z.string().nullable().optional().describe("Branch with the accepted files"),
  }),
  async run(app: CrewApp, { id, budget_tokens, budget_usd, workers, retry }, caller) {
    const run = await app.runs.find(id);
    if (!run) return noSuch(app.db.read, "run", id);
    if (!run.plan || !["planned", "stopped", "running", "failed"].includes(run.state))
      return refuse("conflict", `run ${id} is ${run.state}; only a planned, running or stopped run can be executed`);
    // A server answers before the run has read its plan file; errors in the file belong to this answer.
    const edited = await app.runs.editedPlan(run);
    if (!edited.ok) return edited;
    const budget = { budgetTokens: budget_tokens, budgetUsd: budget_usd };
    const started = await app.host.execute(id, { by: nameOf(caller), workers, retry, ...budget });
    if (!started.ok) return started;
    return app.host.background ? ok({ run: id }) : started.value.ended;
  },
});
