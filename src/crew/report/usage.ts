import * as z from "zod";
import { operation, people } from "../../kernel/operation.ts";
import { ok } from "../../kernel/result.ts";
import { noSuch } from "../../store/no-such.ts";
import { tallyOf } from "../../store/queries/attempts.ts";
import { contextsOf, type StoredContext } from "../../store/queries/contexts.ts";
import { workersOf } from "../../store/queries/figures.ts";
import { tasksOfRun } from "../../store/queries/runs.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { known } from "../record/facts.ts";

const used = {
  tokens: z.number().nullable().describe("Input and output tokens; null if the agents do not report them"),
  usd: z.number().nullable().describe("null if the price is unknown"),
  ms: z.number().describe("Sum of the working time of its agents"),
};

/** The data of the usage charts. */
export const runUsage = operation({
  name: "run_usage",
  summary: "Show tokens, cost and time of a run by task, by model and by worker.",
  effect: "reads",
  reads: ["run", "task", "attempt"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/runs/{id}/usage" },
  input: z.object({ id: z.string().max(64).describe("Id of the run, such as run-…") }),
  output: z.object({
    tasks: z.array(
      z.object({ number: z.string(), title: z.string(), attempts: z.int(), score: z.int().nullable(), ...used }),
    ),
    others: z.object(used).describe("Planner, reporter and other agents without a task"),
    models: z
      .array(z.object({ model: z.string().nullable(), runner: z.string(), agents: z.int(), ...used }))
      .describe("By model and runner; a null model is the default of its runner"),
    workers: z.array(
      z.object({ name: z.string(), claims: z.int(), conflicts: z.int(), idle_ms: z.number(), busy_ms: z.number() }),
    ),
  }),
  async run(app: CrewApp, { id }) {
    if (!(await app.runs.find(id))) return noSuch(app.db.read, "run", id);
    const query = app.db.read;
    const [tasks, tally, contexts, workers] = await Promise.all([
      tasksOfRun(query, id),
      tallyOf(query, id),
      contextsOf(query, { run: id }),
      workersOf(query, id),
    ]);
    const contextsBy = groups(contexts, ({ task_id }) => task_id);
    return ok({
      tasks: tasks.map(({ number, task }) => ({
        number,
        title: task.title,
        attempts: tally.attempts.get(task.id) ?? 0,
        score: tally.scores.get(task.id) ?? null,
        ...sumOf(contextsBy.get(task.id) ?? []),
      })),
      others: sumOf(contextsBy.get(null) ?? []),
      models: [...groups(contexts, ({ runner, model }) => JSON.stringify([runner, model])).values()].map((rows) => ({
        model: rows[0]?.model ?? null,
        runner: rows[0]?.runner ?? "",
        agents: rows.length,
        ...sumOf(rows),
      })),
      workers: workers.map(({ name, claims, conflicts, idle_ms, busy_ms }) => ({
        name,
        claims,
        conflicts,
        idle_ms,
        busy_ms,
      })),
    });
  },
});

function groups<Row, Key>(rows: Row[], keyOf: (row: Row) => Key): Map<Key, Row[]> {
  const found = new Map<Key, Row[]>();
  for (const row of rows) {
    const members = found.get(keyOf(row));
    if (members) members.push(row);
    else found.set(keyOf(row), [row]);
  }
  return found;
}

const sumOf = (rows: StoredContext[]) => ({
  tokens: known(rows.flatMap((row) => [row.input_tokens, row.output_tokens])),
  usd: known(rows.map((row) => row.cost_usd)),
  ms: rows.reduce((sum, row) => sum + (row.ended_at ? Date.parse(row.ended_at) - Date.parse(row.started_at) : 0), 0),
});
