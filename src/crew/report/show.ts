import * as z from "zod";
import { ok, type Result } from "../../kernel/result.ts";
import { snakeKeys } from "../../kernel/wire.ts";
import { noSuch } from "../../store/no-such.ts";
import { tallyOf } from "../../store/queries/attempts.ts";
import { contextsOf } from "../../store/queries/contexts.ts";
import { questionsOf } from "../../store/queries/questions.ts";
import { tasksOfRun } from "../../store/queries/runs.ts";
import { fromRow, shownState } from "../../tasks/task.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { known } from "../record/facts.ts";

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
  answer: z.string().nullable(),
});

/** How much may be spent on the run; null is without limit. */
export const budget = z.object({ tokens: z.number().nullable(), usd: z.number().nullable() });

const schema = runLine.extend({
  budget,
  request: z.string(),
  reason: z.string().nullable(),
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
});

/** A run as people look at it while it goes on. */
export const runDetails = {
  schema,
  async of(app: CrewApp, id: string): Promise<Result<z.infer<typeof schema>>> {
    const run = await app.runs.find(id);
    if (!run) return noSuch(app.db.read, "run", id);
    const query = app.db.read;
    const [tasks, tally, contexts, questions] = await Promise.all([
      tasksOfRun(query, id),
      tallyOf(query, id),
      contextsOf(query, { run: id }),
      questionsOf(query, { run: id }),
    ]);
    const numbers = new Map(tasks.map((row) => [row.task_id, row.number]));
    const dependsOn = new Map(run.plan?.tasks.map((task) => [task.number, task.depends_on]));
    const { state, title, createdAt, createdBy, endedAt, request, reason, startedAt } = run;
    return ok({
      ...snakeKeys({ id, state, title, createdAt, createdBy, endedAt, request, reason, startedAt }),
      chain: app.runs.chainPath(id),
      budget: { tokens: run.budgetTokens, usd: run.budgetUsd },
      tasks: tasks.map(({ number, task }) => ({
        id: task.id,
        number,
        title: task.title,
        state: shownState(fromRow(task)),
        attempts: tally.attempts.get(task.id) ?? 0,
        max_retries: task.max_retries,
        score: tally.scores.get(task.id) ?? null,
        depends_on: dependsOn.get(number) ?? [],
        holder: task.holder,
      })),
      used: {
        agents: contexts.length,
        input_tokens: known(contexts.map((row) => row.input_tokens)),
        output_tokens: known(contexts.map((row) => row.output_tokens)),
        cost_usd: known(contexts.map((row) => row.cost_usd)),
        tool_calls: known(contexts.map((row) => row.tool_calls)),
      },
      questions: questions.map(({ id, task_id, question, answer }) => ({
        id,
        task: numbers.get(task_id) ?? task_id,
        question,
        answer,
      })),
    });
  },
};
