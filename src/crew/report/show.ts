import * as z from "zod";
import { ok, type Result } from "../../kernel/result.ts";
import { snakeKeys } from "../../kernel/wire.ts";
import { noSuch } from "../../store/no-such.ts";
import { tallyOf } from "../../store/queries/attempts.ts";
import { contextsOf } from "../../store/queries/contexts.ts";
import { waitingGates } from "../../store/queries/gates.ts";
import { questionsOf } from "../../store/queries/questions.ts";
import { type StoredRunTask, tasksOfRun } from "../../store/queries/runs.ts";
import { setupsOf } from "../../store/queries/setups.ts";
import { fromRow, shownState } from "../../tasks/task.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { known } from "../record/facts.ts";
import { currentChange } from "../record/plan-changes.ts";
import { readDraft } from "../record/plan-draft.ts";
import { stopCauses } from "../rules/run.ts";

const state = z.enum(["planning", "planned", "running", "stopped", "completed", "failed", "cancelled"]);

export const runLine = z.object({
  id: z.string(),
  state,
  title: z.string(),
  created_at: z.string(),
  created_by: z.string(),
  ended_at: z.string().nullable(),
});

export const question = z.object({
  id: z.string(),
  task: z.string(),
  question: z.string(),
  asked_by: z.string().describe("The agent that asks"),
  at: z.string(),
  answer: z.string().nullable(),
  answered_by: z.string().nullable().describe("A person's name, or pm-… for the planner"),
  passed_on: z.string().nullable().describe("Why the planner left it to a person"),
});

const setup = z.object({
  commands: z.array(z.array(z.string())),
  origin: z.string().describe("The lockfile that asked for it, or the plan"),
  task: z.string().nullable().describe("Number of the task whose deliverable needs a setup of its own"),
  state: z.enum(["running", "installed", "reused", "failed"]),
  duration_ms: z.number().nullable(),
  bytes: z.number().nullable().describe("Size of what it installed"),
  files: z.number().nullable(),
  error: z.string().nullable(),
});

/** How much may be spent on the run; null is without limit. */
export const budget = z.object({ tokens: z.number().nullable(), usd: z.number().nullable() });

/** Of a stopped run. */
export const stoppedBy = z
  .enum(stopCauses)
  .nullable()
  .describe("Of a stopped run: person (paused), budget (it needs a larger one) or other; null if it is not stopped");

const schema = runLine.extend({
  budget,
  request: z.string(),
  brief: z.string().nullable().describe("Specification or findings that the plan is made from"),
  reason: z.string().nullable(),
  stopped_by: stoppedBy,
  started_at: z.string().nullable(),
  chain: z.string(),
  tasks: z.array(
    z.object({
      id: z.string(),
      number: z.string(),
      title: z.string(),
      state: z.string(),
      attempts: z.int(),
      max_retries: z.int(),
      score: z.int().nullable(),
      depends_on: z.array(z.string()),
      holder: z.string().nullable(),
      gate: z.enum(["person"]).nullable().describe("Who approves its result before it is merged"),
      waits_for_approval: z.boolean(),
      asks: z.boolean().describe("True if it only asks a person and has no worker"),
      deliverable: z.enum(["files", "text"]),
    }),
  ),
  used: z.object({
    agents: z.int(),
    input_tokens: z.number().nullable(),
    output_tokens: z.number().nullable(),
    cost_usd: z.number().nullable().describe("Null when no price is known"),
    tool_calls: z.number().nullable(),
  }),
  questions: z.array(question),
  setups: z.array(setup).describe("How its dependencies were installed, oldest first"),
  draft: z
    .array(z.object({ number: z.string(), title: z.string(), depends_on: z.array(z.string()) }))
    .optional()
    .describe("Tasks that the planner has submitted so far, while there is no plan"),
  plan_change: z
    .object({ id: z.string(), state: z.enum(["drafting", "open"]), tasks: z.array(z.string()) })
    .optional()
    .describe("The change of the plan that the planner writes, or that waits for a decision"),
  failures: z
    .array(
      z.object({
        id: z.string(),
        number: z.string(),
        title: z.string(),
        cause: z.string(),
        output: z.string().nullable().describe("End of what the failed check printed"),
        advice: z.array(z.string()),
      }),
    )
    .describe("Failed tasks: what failed, and what to do about it"),
});

/** A run as people look at it while it goes on. */
export const runDetails = {
  schema,
  async of(app: CrewApp, id: string): Promise<Result<z.infer<typeof schema>>> {
    const run = await app.runs.find(id);
    if (!run) return noSuch(app.db.read, "run", id);
    const query = app.db.read;
    const [tasks, tally, contexts, questions, gates, setups] = await Promise.all([
      tasksOfRun(query, id),
      tallyOf(query, id),
      contextsOf(query, { run: id }),
      questionsOf(query, { run: id }),
      waitingGates(query, id),
      setupsOf(query, id),
    ]);
    const waiting = new Set(gates.map(({ task_id }) => task_id));
    const change = await currentChange(app, id);
    const numbers = new Map(tasks.map((row) => [row.task_id, row.number]));
    const dependsOn = new Map(run.plan?.tasks.map((task) => [task.number, task.depends_on]));
    const { state, title, createdAt, createdBy, endedAt, request, brief, reason, startedAt } = run;
    return ok({
      ...snakeKeys({ id, state, title, createdAt, createdBy, endedAt, request, brief, reason, startedAt }),
      stopped_by: run.stoppedBy,
      chain: app.runs.chainPath(id),
      budget: { tokens: run.budgetTokens, usd: run.budgetUsd },
      tasks: tasks.map(({ number, task, gate, on_reject, deliverable }) => ({
        id: task.id,
        number,
        title: task.title,
        state: shownState(fromRow(task)),
        attempts: tally.attempts.get(task.id) ?? 0,
        max_retries: task.max_retries,
        score: tally.scores.get(task.id) ?? null,
        depends_on: dependsOn.get(number) ?? [],
        holder: task.holder,
        gate,
        waits_for_approval: waiting.has(task.id),
        asks: on_reject !== null,
        deliverable,
      })),
      used: {
        agents: contexts.length,
        input_tokens: known(contexts.map((row) => row.input_tokens)),
        output_tokens: known(contexts.map((row) => row.output_tokens)),
        cost_usd: known(contexts.map((row) => row.cost_usd)),
        tool_calls: known(contexts.map((row) => row.tool_calls)),
      },
      ...(run.plan === null
        ? {
            draft: (await readDraft(app, id)).map(({ number, title, depends_on }) => ({
              number,
              title,
              depends_on,
            })),
          }
        : {}),
      ...(change
        ? { plan_change: { id: change.id, state: change.state as "drafting" | "open", tasks: change.wanted } }
        : {}),
      setups: setups.map(({ task_id, commands, origin, state, started_at, ended_at, bytes, files, error }) => ({
        ...{ commands, origin, state, bytes, files, error },
        task: task_id === null ? null : (numbers.get(task_id) ?? task_id),
        duration_ms: ended_at === null ? null : Date.parse(ended_at) - Date.parse(started_at),
      })),
      failures: tasks.flatMap(failureLine),
      questions: questions.map(({ id, task_id, question, asked_by, at, answer, answered_by, passed_on }) => ({
        ...{ id, task: numbers.get(task_id) ?? task_id, question, asked_by, at, answer, answered_by, passed_on },
      })),
    });
  },
};

function failureLine({ number, task, failure }: StoredRunTask): z.infer<typeof schema>["failures"] {
  if (failure === null || shownState(fromRow(task)) !== "failed") return [];
  const [first] = failure.rootCauses;
  const cause = first?.cause ?? "no cause was recorded";
  return [
    { id: task.id, number, title: task.title, cause, output: first?.output ?? null, advice: failure.recommendations },
  ];
}
