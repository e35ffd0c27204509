import type { AttemptRow, ErrorContext, RefusedVerdict, Statement } from "../crew-tables.ts";
import type { Query } from "../database.ts";
import { type Parsed, parseColumns, stringifyColumns } from "../json-columns.ts";

type Json = {
  claims: Statement[];
  decisions: string[];
  cites: string[];
  files_changed: string[];
  topics: string[];
  error_context: ErrorContext | null;
  refused_verdicts: RefusedVerdict[];
};
const empty: Json = {
  claims: [],
  decisions: [],
  cites: [],
  files_changed: [],
  topics: [],
  error_context: null,
  refused_verdicts: [],
};

export type Attempt = Parsed<AttemptRow, Json>;
const fromRow = (row: AttemptRow): Attempt => parseColumns(row, empty);

export type OfTask = { task: string } | { run: string };
/** The column and value that select the rows of one task or one run. */
export const byTaskOrRun = (of: OfTask) =>
  "task" in of ? (["task_id", of.task] as const) : (["run_id", of.run] as const);

/** In the order of their claims. */
export async function attemptsOf(query: Query, of: OfTask): Promise<Attempt[]> {
  const [column, value] = byTaskOrRun(of);
  const rows = await query.selectFrom("attempts").selectAll().where(column, "=", value).orderBy("epoch").execute();
  return rows.map(fromRow);
}

export async function findAttempt(query: Query, task: string, epoch: number): Promise<Attempt | undefined> {
  const row = await query
    .selectFrom("attempts")
    .selectAll()
    .where("task_id", "=", task)
    .where("epoch", "=", epoch)
    .executeTakeFirst();
  return row && fromRow(row);
}

/** The newest attempt that was not abandoned. */
export async function lastAttempt(query: Query, task: string): Promise<Attempt | undefined> {
  const row = await query
    .selectFrom("attempts")
    .selectAll()
    .where("task_id", "=", task)
    .where("phase", "<>", "abandoned")
    .orderBy("epoch", "desc")
    .limit(1)
    .executeTakeFirst();
  return row && fromRow(row);
}

export type NewAttempt = Pick<
  AttemptRow,
  "task_id" | "epoch" | "run_id" | "attempt" | "worker" | "retry_reason" | "started_at"
>;

/** Starts an attempt; a second start under the same claim changes nothing. */
export const insertAttempt = (tx: Query, attempt: NewAttempt) =>
  tx
    .insertInto("attempts")
    .values({
      ...attempt,
      phase: "worker_executing",
      is_retry: attempt.attempt > 1 ? 1 : 0,
      output: null,
      output_characters: null,
      deliverable_hash: null,
      claims: "[]",
      decisions: "[]",
      cites: "[]",
      files_changed: "[]",
      branch: null,
      commit_id: null,
      worker_ended_at: null,
      duration_ms: null,
      input_tokens: null,
      output_tokens: null,
      tool_calls: null,
      messages: null,
      context_tokens: null,
      cost_usd: null,
      stopped_because: null,
      partial: null,
      verifier: null,
      topics: "[]",
      qc_epoch: null,
      qc_started_at: null,
      ended_at: null,
      error_context: null,
      learnt_at: null,
      refused_verdicts: "[]",
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();

export const updateAttempt = (tx: Query, task: string, epoch: number, change: Partial<Attempt>) =>
  tx
    .updateTable("attempts")
    .set(stringifyColumns<AttemptRow, Json>(change, empty))
    .where("task_id", "=", task)
    .where("epoch", "=", epoch)
    .execute();

/** Attempts of earlier claims that were still in progress when their claim ended. */
export const abandonEarlierAttempts = (tx: Query, task: string, epoch: number, at: string) =>
  tx
    .updateTable("attempts")
    .set({ phase: "abandoned", ended_at: at })
    .where("task_id", "=", task)
    .where("phase", "=", "worker_executing")
    .where("epoch", "<", epoch)
    .execute();

/** All attempts of a task but those that failed. */
export const abandonAttempts = (tx: Query, task: string, at: string) =>
  tx
    .updateTable("attempts")
    .set({ phase: "abandoned", ended_at: at })
    .where("task_id", "=", task)
    .where("phase", "not in", ["qc_failed", "abandoned"])
    .execute();

export const markLearnt = (tx: Query, task: string, at: string) =>
  tx
    .updateTable("attempts")
    .set({ learnt_at: at })
    .where("task_id", "=", task)
    .where("learnt_at", "is", null)
    .execute();

/** Ids of tasks that ended and whose lessons are not in the wiki yet. */
export async function unlearntTasks(query: Query, run: string | undefined): Promise<string[]> {
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
}

/** The number of attempts and the last score of each task of a run, without the texts. */
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

/** Attempts that submitted an output, for the search index. */
export const attemptsWithOutput = (query: Query): Promise<{ task_id: string; epoch: number }[]> =>
  query.selectFrom("attempts").select(["task_id", "epoch"]).where("output", "is not", null).execute();

/** An attempt with the title of its task. */
export async function titledAttempt(
  query: Query,
  task: string,
  epoch: number,
): Promise<(Attempt & { title: string }) | undefined> {
  const row = await query
    .selectFrom("attempts")
    .innerJoin("tasks", "tasks.id", "attempts.task_id")
    .selectAll("attempts")
    .select("tasks.title")
    .where("attempts.task_id", "=", task)
    .where("attempts.epoch", "=", epoch)
    .executeTakeFirst();
  return row && { ...fromRow(row), title: row.title };
}

/** Phases that the newest attempt may have while its task is in a state; see `crew/record/attempts.ts`. */
const phasesIn: Record<string, AttemptRow["phase"][]> = {
  worker_completed: ["worker_completed", "qc_executing"],
  qc_executing: ["qc_executing"],
  qc_passed: ["qc_passed"],
  qc_failed: ["qc_failed"],
  preparing_retry: ["qc_failed", "worker_executing"],
  completed: ["qc_passed"],
};

type Mismatch = { task: string; state: string; phase: AttemptRow["phase"] };

/** Tasks whose newest attempt has a phase or an output that contradicts the task. */
export async function contradictoryAttempts(query: Query): Promise<Mismatch[]> {
  const rows = await query
    .selectFrom("attempts")
    .innerJoin("tasks", "tasks.id", "attempts.task_id")
    .select(["tasks.id", "tasks.state", "tasks.result", "attempts.phase", "attempts.output"])
    .where("attempts.phase", "<>", "abandoned")
    .where("tasks.state", "in", Object.keys(phasesIn))
    .orderBy("attempts.epoch")
    .execute();
  const newest = new Map(rows.map((row) => [row.id, row]));
  return [...newest.values()].flatMap(({ id: task, state, result, phase, output }) => {
    const { output: told } = parseColumns({ result }, { result: {} as { output?: unknown } }).result;
    const isDelivered = phase !== "worker_executing" && phase !== "qc_failed";
    const agrees = phasesIn[state]?.includes(phase) && (!isDelivered || told === output);
    return agrees ? [] : [{ task, state, phase }];
  });
}
