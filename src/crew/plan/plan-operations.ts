import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import * as z from "zod";
import { nameOf } from "../../kernel/caller.ts";
import { collaborators, operation, people } from "../../kernel/operation.ts";
import { ok, refuse } from "../../kernel/result.ts";
import { noSuch } from "../../store/no-such.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { planFile, readChain } from "../rules/chain-file.ts";
import type { Plan } from "../rules/plan.ts";
import type { Run } from "../rules/run.ts";
import { currentBudget } from "../rules/run-budget.ts";

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
    text_hash: z.string().describe("Names this text; pass it to save_plan as `base_hash`"),
    editable: z.boolean(),
    defaults: z
      .object({ workers: z.int(), budget_tokens: z.number().nullable(), budget_usd: z.number().nullable() })
      .describe("What execute_run takes where its input leaves it out"),
  }),
  async run(app: CrewApp, { id }) {
    const run = await app.runs.find(id);
    if (!run) return noSuch(app.db.read, "run", id);
    if (!run.plan) return refuse("conflict", `run ${id} has no plan; it is ${run.state}`);
    const { workers, budget } = app.config.crew;
    const { tokens, usd } = currentBudget(run, budget);
    const content = await planText(app, run, run.plan);
    return ok({
      id,
      file: app.runs.chainPath(id),
      plan_hash: run.planHash,
      content,
      text_hash: textHash(run, content),
      editable: isEditable(run),
      defaults: { workers, budget_tokens: tokens, budget_usd: usd },
    });
  },
});

const isEditable = ({ state }: Run) => ["planned", "running", "stopped", "failed"].includes(state);

/** The plan file with the edits of whoever opened it in an editor, or the plan as it is stored. */
async function planText(app: CrewApp, run: Run, plan: Plan): Promise<string> {
  const file = app.runs.chainPath(run.id);
  const edited = isEditable(run) ? await readFile(file, "utf8").catch(() => undefined) : undefined;
  return edited ?? planFile(run, plan);
}

/**
 * Names the stored plan and the text of its file. The file is written after the transaction: its text alone would let
 * a second save, made in between, replace the first one.
 */
const textHash = ({ planHash }: Run, text: string) => createHash("sha256").update(`${planHash}\n${text}`).digest("hex");

const content = z.string().min(1).max(2_000_000).describe("The entire chain-output.md");

const planProblem = z.object({ line: z.int(), message: z.string() });

export const checkPlan = operation({
  name: "check_plan",
  summary: "Check an edited plan without saving it; lists its errors by line.",
  effect: "reads",
  reads: [],
  callers: people,
  group: "runs",
  http: { method: "post", path: "/runs/{id}/plan/check" },
  input: z.object({ id, content }),
  output: z.object({
    problems: z.array(planProblem).describe("Empty if the plan is valid"),
    tasks: z
      .array(
        z.object({
          number: z.string(),
          title: z.string(),
          depends_on: z.array(z.string()),
          deliverable: z.enum(["files", "text"]),
        }),
      )
      .describe("The tasks of a valid plan, without their texts"),
  }),
  async run(app: CrewApp, { id, content }) {
    if (!(await app.runs.find(id))) return noSuch(app.db.read, "run", id);
    const chain = readChain(content);
    if (!chain.ok)
      return ok({ problems: (chain.problem.details?.problems ?? []) as z.infer<typeof planProblem>[], tasks: [] });
    const { run, plan } = chain.value;
    return ok({
      problems: run === id ? [] : [{ line: 1, message: otherRun(run, id) }],
      tasks: plan.tasks.map(({ number, title, depends_on, deliverable }) => ({
        ...{ number, title, depends_on, deliverable },
      })),
    });
  },
});

const otherRun = (named: string, id: string) => `the text is the plan of run ${named}, not of ${id}`;

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
    content,
    base_hash: z
      .string()
      .max(100)
      .describe(
        "text_hash from show_plan; if the plan or its file changed since, the answer is a conflict with the latest text",
      ),
  }),
  output: z.object({
    id: z.string(),
    plan_hash: z.string().nullable(),
    content: z.string().describe("The plan as it was written to its file"),
    text_hash: z.string().describe("Names this text, for the next save"),
    tasks: z.array(z.object({ id: z.string(), number: z.string(), title: z.string() })),
    diff: z.string().describe("What changed in the plan of a run that has started"),
  }),
  async run(app: CrewApp, { id, content, base_hash }, caller) {
    const chain = readChain(content);
    if (!chain.ok) return chain;
    if (chain.value.run !== id) return refuse("invalid", otherRun(chain.value.run, id));
    const before = await app.runs.find(id);
    if (!before) return noSuch(app.db.read, "run", id);
    if (!before.plan) return refuse("conflict", `run ${id} has no plan; it is ${before.state}`);
    const latest = await planText(app, before, before.plan);
    if (textHash(before, latest) !== base_hash) return stale(before, latest);
    const adopted = await app.runs.adopt(id, chain.value.plan, nameOf(caller), before.planHash ?? undefined);
    if (!adopted.ok) {
      const now = await app.runs.find(id);
      return now?.plan && now.planHash !== before.planHash ? stale(now, await planText(app, now, now.plan)) : adopted;
    }
    const { run, tasks, diff } = adopted.value;
    const written = planFile(run, chain.value.plan);
    return ok({ id, plan_hash: run.planHash, content: written, text_hash: textHash(run, written), tasks, diff });
  },
});

const stale = (run: Run, latest: string) =>
  refuse("conflict", `the plan of run ${run.id} changed since it was read; nothing was saved`, {
    latestContent: latest,
    text_hash: textHash(run, latest),
    next: [{ operation: "show_run", input: { id: run.id }, to: "read it again" }],
  });
