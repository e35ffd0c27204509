import { readFile } from "node:fs/promises";
import * as z from "zod";
import { nameOf } from "../../kernel/caller.ts";
import { collaborators, operation, people } from "../../kernel/operation.ts";
import { ok, refuse } from "../../kernel/result.ts";
import { noSuch } from "../../store/no-such.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { readChain, writeChain } from "../rules/chain-file.ts";

const id = z.string().max(64).describe("Id of the run, such as run-…");

export const showPlan = operation({
  name: "show_plan",
  summary: "Read the plan of a run as editable markdown.",
  effect: "reads",
  reads: ["run"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/runs/{id}/plan" },
  input: z.object({ id }),
  output: z.object({
    id: z.string(),
    file: z.string(),
    plan_hash: z.string().nullable(),
    content: z.string(),
    editable: z.boolean(),
  }),
  async run(app: CrewApp, { id }) {
    const run = await app.runs.find(id);
    if (!run) return noSuch(app.db.read, "run", id);
    if (!run.plan) return refuse("conflict", `run ${id} has no plan; it is ${run.state}`);
    const file = app.runs.chainPath(id);
    const editable = ["planned", "running", "stopped", "failed"].includes(run.state);
    const kept = editable ? await readFile(file, "utf8").catch(() => undefined) : undefined;
    return ok({
      id,
      file,
      plan_hash: run.planHash,
      content: kept ?? writeChain({ run: id, request: run.request, plan: run.plan }),
      editable,
    });
  },
});

export const savePlan = operation({
  name: "save_plan",
  summary:
    "Save the plan of a run. Tasks that are completed or in progress cannot be changed. Errors are reported with line numbers; nothing is saved until the plan is valid.",
  effect: "writes",
  touches: ["run", "task"],
  callers: collaborators,
  group: "runs",
  http: { method: "put", path: "/runs/{id}/plan" },
  input: z.object({
    id,
    content: z.string().min(1).max(2_000_000).describe("The entire chain-output.md"),
    base_hash: z.string().max(100).optional().describe("The plan_hash from show_plan; a newer plan is a conflict"),
  }),
  output: z.object({
    id: z.string(),
    plan_hash: z.string().nullable(),
    tasks: z.array(z.object({ id: z.string(), number: z.string(), title: z.string() })),
    diff: z.string().describe("What changed in the plan of a run that has started"),
  }),
  async run(app: CrewApp, { id, content, base_hash }, caller) {
    const chain = readChain(content);
    if (!chain.ok) return chain;
    if (chain.value.run !== id)
      return refuse("invalid", `the text is the plan of run ${chain.value.run}, not of ${id}`);
    const adopted = await app.runs.adopt(id, chain.value.plan, nameOf(caller), base_hash);
    return adopted.ok
      ? ok({ id, plan_hash: adopted.value.run.planHash, tasks: adopted.value.tasks, diff: adopted.value.diff })
      : adopted;
  },
});
