import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { CrewApp } from "./record/crew-app.ts";
import type { RunHost } from "./record/run-host.ts";
import { noRun } from "./record/runs.ts";

const hostOf = (app: CrewApp): Result<RunHost> =>
  app.host
    ? ok(app.host)
    : refuse("refused", "runs are carried out here only while the workspace is served; otherwise: scriptorium execute");

export const startRun = operation({
  name: "start_run",
  summary: "Have a request planned; the plan can be read and changed before it is carried out.",
  effect: "writes",
  touches: ["run"],
  callers: collaborators,
  http: { method: "post", path: "/runs" },
  input: z.object({
    request: z.string().trim().min(1, "say what you want").max(100_000).describe("What you want done"),
    brief: z.boolean().default(false).describe("First let an agent turn the request into a specification"),
  }),
  output: z.object({ run: z.string() }),
  async run(app: CrewApp, { request, brief }, caller) {
    const host = hostOf(app);
    return host.ok ? host.value.plan(request, { brief, by: nameOf(caller) }) : host;
  },
});

export const executeRunHere = operation({
  name: "execute_run",
  summary: "Carry out a plan, or go on with a run that was stopped; what is finished is not done again.",
  effect: "writes",
  touches: ["run", "task"],
  callers: collaborators,
  http: { method: "post", path: "/runs/{id}/execute" },
  input: z.object({
    id: z.string().max(64).describe("The run's id, such as run-…"),
    budget_tokens: z.int().min(1).optional().describe("Stop before a call that would take the run past so many tokens"),
    budget_usd: z.number().min(0).optional().describe("The same in dollars"),
  }),
  output: z.object({ run: z.string() }),
  async run(app: CrewApp, { id, budget_tokens, budget_usd }, caller) {
    const run = await app.runs.find(id);
    if (!run) return noRun(id);
    if (run.state !== "planned" && run.state !== "stopped" && run.state !== "running")
      return refuse("conflict", `run ${id} is ${run.state}; only a planned, running or stopped one can be carried out`);
    const host = hostOf(app);
    if (!host.ok) return host;
    return host.value.carryOut(id, nameOf(caller), { budgetTokens: budget_tokens, budgetUsd: budget_usd });
  },
});
