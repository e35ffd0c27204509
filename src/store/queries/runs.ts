import type { Selectable } from "kysely";
import type {
  AttemptRow,
  CheckResultRow,
  ContextRow,
  PreambleRow,
  QuestionRow,
  RunRow,
  RunTaskRow,
  ToolCallRow,
  VerdictRow,
} from "../crew-tables.ts";
import type { Database, Query } from "../database.ts";
import type { StoredTask } from "./tasks.ts";

export const findRun = (query: Query, id: string): Promise<RunRow | undefined> =>
  query.selectFrom("runs").selectAll().where("id", "=", id).executeTakeFirst();

/** Reads a run and locks its row until the transaction ends; SQLite has one writer and needs no lock. */
export const lockRun = (tx: Query, engine: Database["engine"], id: string): Promise<RunRow | undefined> =>
  tx
    .selectFrom("runs")
    .selectAll()
    .where("id", "=", id)
    .$if(engine === "postgres", (q) => q.forNoKeyUpdate())
    .executeTakeFirst();

/** Newest first, from after the run named. */
export const listRuns = async (query: Query, limit: number, after?: string): Promise<RunRow[]> => {
  const from = after === undefined ? undefined : await findRun(query, after);
  return query
    .selectFrom("runs")
    .selectAll()
    .$if(from !== undefined, (q) =>
      q.where((x) =>
        x.or([
          x("created_at", "<", from?.created_at ?? ""),
          x.and([x("created_at", "=", from?.created_at ?? ""), x("id", "<", from?.id ?? "")]),
        ]),
      ),
    )
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
};

export const insertRun = (tx: Query, row: RunRow) => tx.insertInto("runs").values(row).execute();

/** Saves over the version that was read; false when someone else saved first. */
export async function saveRun(
  tx: Query,
  read: Pick<RunRow, "id" | "version">,
  change: Partial<RunRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("runs")
    .set({ ...change, version: read.version + 1 })
    .where("id", "=", read.id)
    .where("version", "=", read.version)
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}

export type StoredRunTask = RunTaskRow & { task: StoredTask };

/** The tasks of a run as planned and as they stand, in the order of the plan. */
export async function tasksOfRun(query: Query, run: string): Promise<StoredRunTask[]> {
  const [details, tasks] = await Promise.all([
    query.selectFrom("run_tasks").selectAll().where("run_id", "=", run).execute(),
    query.selectFrom("tasks").selectAll().where("run", "=", run).orderBy("num").execute(),
  ]);
  const found = new Map(details.map((row) => [row.task_id, row]));
  return tasks.flatMap((task) => {
    const detail = found.get(task.id);
    return detail ? [{ ...detail, task: task as StoredTask }] : [];
  });
}

export const runTask = (query: Query, task: string): Promise<RunTaskRow | undefined> =>
  query.selectFrom("run_tasks").selectAll().where("task_id", "=", task).executeTakeFirst();

type OfTask = { task: string } | { run: string };
const column = (of: OfTask) => ("task" in of ? (["task_id", of.task] as const) : (["run_id", of.run] as const));

export const attemptsOf = (query: Query, of: OfTask): Promise<AttemptRow[]> =>
  query.selectFrom("attempts").selectAll().where(column(of)[0], "=", column(of)[1]).orderBy("epoch").execute();

/** How often each task of a run was attempted and what score it got last, without the texts they brought. */
export async function tallyOf(
  query: Query,
  run: string,
): Promise<{ attempts: Map<string, number>; scores: Map<string, number> }> {
  const [attempts, verdicts] = await Promise.all([
    query
      .selectFrom("attempts")
      .select((x) => ["task_id", x.fn.countAll<number>().as("count")])
      .where("run_id", "=", run)
      .where("phase", "<>", "abandoned")
      .groupBy("task_id")
      .execute(),
    query
      .selectFrom("verdicts")
      .select(["task_id", "score"])
      .where("run_id", "=", run)
      .orderBy("at")
      .orderBy("id")
      .execute(),
  ]);
  return {
    attempts: new Map(attempts.map((row) => [row.task_id, Number(row.count)])),
    scores: new Map(verdicts.map((row) => [row.task_id, row.score])),
  };
}

/** Tasks that have ended and of which the book says nothing yet. */
export const unlearnt = async (query: Query, run: string | undefined): Promise<string[]> => {
  const rows = await query
    .selectFrom("attempts")
    .innerJoin("tasks", "tasks.id", "attempts.task_id")
    .select("attempts.task_id")
    .distinct()
    .where("attempts.learnt_at", "is", null)
    .where("attempts.phase", "in", ["qc_passed", "qc_failed"])
    .where("tasks.state", "in", ["completed", "failed"])
    .$if(run !== undefined, (q) => q.where("attempts.run_id", "=", run ?? ""))
    .execute();
  return rows.map((row) => row.task_id);
};

export const verdictsOf = (query: Query, of: OfTask): Promise<VerdictRow[]> =>
  query
    .selectFrom("verdicts")
    .selectAll()
    .where(column(of)[0], "=", column(of)[1])
    .orderBy("at")
    .orderBy("id")
    .execute();

export const contextsOf = (query: Query, of: OfTask): Promise<ContextRow[]> =>
  query.selectFrom("contexts").selectAll().where(column(of)[0], "=", column(of)[1]).orderBy("started_at").execute();

export const questionsOf = (query: Query, of: OfTask): Promise<QuestionRow[]> =>
  query.selectFrom("questions").selectAll().where(column(of)[0], "=", column(of)[1]).orderBy("at").execute();

type Waiting = { run: RunRow; questions: { id: string; task: string; question: string; answer: null }[] };

/** Runs that cannot go on without a person: they stopped, or an agent asks something. Newest first. */
export async function runsThatWait(query: Query): Promise<Waiting[]> {
  const [runs, asked] = await Promise.all([
    query
      .selectFrom("runs")
      .selectAll()
      .where("state", "in", ["running", "stopped"])
      .orderBy("created_at", "desc")
      .orderBy("id", "desc")
      .execute(),
    query
      .selectFrom("questions")
      .innerJoin("runs", "runs.id", "questions.run_id")
      .innerJoin("run_tasks", "run_tasks.task_id", "questions.task_id")
      .select(["questions.id", "questions.run_id", "questions.question", "run_tasks.number"])
      .where("questions.answer", "is", null)
      .where("runs.state", "in", ["running", "stopped"])
      .orderBy("questions.at")
      .execute(),
  ]);
  return runs
    .map((run) => ({
      run,
      questions: asked
        .filter(({ run_id }) => run_id === run.id)
        .map(({ id, number, question }) => ({ id, task: number, question, answer: null })),
    }))
    .filter(({ run, questions }) => run.state === "stopped" || questions.length > 0);
}

export const toolCallsOf = (query: Query, of: OfTask): Promise<ToolCallRow[]> =>
  query.selectFrom("tool_calls").selectAll().where(column(of)[0], "=", column(of)[1]).orderBy("at").execute();

export const checksOf = (query: Query, task: string, epoch: number): Promise<CheckResultRow[]> =>
  query
    .selectFrom("check_results")
    .selectAll()
    .where("task_id", "=", task)
    .where("epoch", "=", epoch)
    .orderBy("criterion")
    .execute();

export const findPreamble = (query: Query, hash: string): Promise<Selectable<PreambleRow> | undefined> =>
  query.selectFrom("preambles").selectAll().where("hash", "=", hash).executeTakeFirst();
