import type { AttemptRow, ContextRow, RunWorkersRow, VerdictRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";
import { parseColumns } from "../json-columns.ts";

/** The rows that the figures of O15 are computed from. */
export type FigureRows = {
  contexts: Pick<ContextRow, "part" | "started_at" | "ended_at" | "repeat_characters" | "removed_characters">[];
  attempts: (Pick<AttemptRow, "task_id" | "run_id" | "phase"> & { cites: string[] })[];
  verdicts: (Pick<VerdictRow, "task_id" | "run_id" | "outcome" | "voided_at"> & { caused_by: string[] })[];
  tasks: { task_id: string; run_id: string; number: string; state: string }[];
  /** Answers of tools, and what `recall` returned outside of them. */
  calls: { run_id: string; retrieved: string[] }[];
  plans: { run: string; cites: string[] }[];
  questions: number;
  workers: Pick<RunWorkersRow, "claims" | "conflicts" | "claim_p50_ms" | "claim_p99_ms" | "idle_ms" | "busy_ms">[];
};

const maxCalls = 50_000;

/** Of one run, or of all. */
export async function figureRows(query: Query, run: string | undefined): Promise<FigureRows> {
  const only = run !== undefined;
  const is = run ?? "";
  const [contexts, attempts, verdicts, tasks, calls, recalled, plans, questions, workers] = await Promise.all([
    query
      .selectFrom("contexts")
      .select(["part", "started_at", "ended_at", "repeat_characters", "removed_characters"])
      .$if(only, (q) => q.where("run_id", "=", is))
      .execute(),
    query
      .selectFrom("attempts")
      .select(["task_id", "run_id", "phase", "cites"])
      .$if(only, (q) => q.where("run_id", "=", is))
      .execute(),
    query
      .selectFrom("verdicts")
      .select(["task_id", "run_id", "outcome", "voided_at", "caused_by"])
      .$if(only, (q) => q.where("run_id", "=", is))
      .execute(),
    query
      .selectFrom("run_tasks")
      .innerJoin("tasks", "tasks.id", "run_tasks.task_id")
      .select(["run_tasks.task_id", "run_tasks.run_id", "run_tasks.number", "tasks.state"])
      .$if(only, (q) => q.where("run_tasks.run_id", "=", is))
      .execute(),
    query
      .selectFrom("tool_calls")
      .select(["run_id", "retrieved"])
      .where("retrieved", "!=", "[]")
      .$if(only, (q) => q.where("run_id", "=", is))
      .orderBy("at", "desc")
      .limit(maxCalls)
      .execute(),
    query
      .selectFrom("events")
      .innerJoin("run_tasks", (join) =>
        join.on((x) => x.eb(x.ref("events.subject"), "=", x.eb(x.val("task:"), "||", x.ref("run_tasks.task_id")))),
      )
      .select(["run_tasks.run_id", "events.data"])
      .where("events.kind", "=", "passages-recalled")
      .$if(only, (q) => q.where("run_tasks.run_id", "=", is))
      .orderBy("events.at", "desc")
      .limit(maxCalls)
      .execute(),
    query
      .selectFrom("runs")
      .select(["id", "plan"])
      .where("plan", "is not", null)
      .$if(only, (q) => q.where("id", "=", is))
      .execute(),
    query
      .selectFrom("questions")
      .select((select) => select.fn.countAll<number>().as("count"))
      .$if(only, (q) => q.where("run_id", "=", is))
      .executeTakeFirstOrThrow(),
    query
      .selectFrom("run_workers")
      .select(["claims", "conflicts", "claim_p50_ms", "claim_p99_ms", "idle_ms", "busy_ms"])
      .$if(only, (q) => q.where("run_id", "=", is))
      .execute(),
  ]);
  return {
    contexts,
    attempts: attempts.map((row) => parseColumns(row, { cites: [] as string[] })),
    verdicts: verdicts.map((row) => parseColumns(row, { caused_by: [] as string[] })),
    tasks,
    calls: [
      ...calls.map((row) => parseColumns(row, { retrieved: [] as string[] })),
      ...recalled.map((row) => {
        const { data } = parseColumns(row, { data: {} as { refs?: string[] } });
        return { run_id: row.run_id, retrieved: data.refs ?? [] };
      }),
    ],
    plans: plans.map((row) => {
      const { plan } = parseColumns(row, { plan: {} as { cites?: string[] } });
      return { run: row.id, cites: plan.cites ?? [] };
    }),
    questions: Number(questions.count),
    workers,
  };
}

export const workersOf = (query: Query, run: string): Promise<RunWorkersRow[]> =>
  query.selectFrom("run_workers").selectAll().where("run_id", "=", run).orderBy("started_at").execute();

export const insertWorkers = (tx: Query, row: RunWorkersRow) => tx.insertInto("run_workers").values(row).execute();
