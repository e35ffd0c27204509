import { sql } from "kysely";
import { batches } from "../batches.ts";
import type { Failure, RunRow, RunTaskRow, StoredCriterion } from "../crew-tables.ts";
import type { Database, Query } from "../database.ts";
import { type Parsed, parseColumns, stringifyColumns } from "../json-columns.ts";
import { archivedOf } from "./event-archives.ts";
import { mergeEvents } from "./event-log.ts";
import { findMeta, setMeta } from "./meta.ts";
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

export const runIds = async (query: Query): Promise<string[]> =>
  (await query.selectFrom("runs").select("id").execute()).map(({ id }) => id);

/** Runs in one of these states, oldest first. */
export const runsIn = (query: Query, states: RunRow["state"][]): Promise<{ id: string; ended_at: string | null }[]> =>
  query
    .selectFrom("runs")
    .select(["id", "ended_at"])
    .where("state", "in", states)
    .orderBy("created_at")
    .orderBy("id")
    .execute();

export const taskIdsOf = async (query: Query, run: string): Promise<string[]> =>
  (await query.selectFrom("tasks").select("id").where("run", "=", run).execute()).map(({ id }) => id);

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

type Json = { criteria: StoredCriterion[]; execution: string[]; files: string[]; failure: Failure | null };
const empty: Json = { criteria: [], execution: [], files: [], failure: null };

/** A task of a run as it was planned. */
export type RunTask = Parsed<RunTaskRow, Json>;
export type StoredRunTask = RunTask & { task: StoredTask };

/** The tasks of a run as planned and as they stand, in the order of the plan. */
export async function tasksOfRun(query: Query, run: string): Promise<StoredRunTask[]> {
  const [details, tasks] = await Promise.all([
    query.selectFrom("run_tasks").selectAll().where("run_id", "=", run).execute(),
    query.selectFrom("tasks").selectAll().where("run", "=", run).orderBy("num").execute(),
  ]);
  const found = new Map(details.map((row) => [row.task_id, row]));
  return tasks.flatMap((task) => {
    const detail = found.get(task.id);
    return detail ? [{ ...parseColumns(detail, empty), task: task as StoredTask }] : [];
  });
}

export async function runTask(query: Query, task: string): Promise<RunTask | undefined> {
  const row = await query.selectFrom("run_tasks").selectAll().where("task_id", "=", task).executeTakeFirst();
  return row && parseColumns(row, empty);
}

export async function insertRunTasks(tx: Query, tasks: RunTask[]): Promise<void> {
  const rows = tasks.map((task) => stringifyColumns<RunTaskRow, Json>(task, empty) as RunTaskRow);
  for (const some of batches(rows)) await tx.insertInto("run_tasks").values(some).execute();
}

/** The text of a planned task that a person or the planner changed. */
export const saveRunTask = (tx: Query, task: RunTask) => {
  const { task_id, run_id: _, failure: __, start_epoch: ___, start_since: ____, ...columns } = task;
  return tx
    .updateTable("run_tasks")
    .set(stringifyColumns<RunTaskRow, Json>(columns, empty))
    .where("task_id", "=", task_id)
    .execute();
};

/** Where the next attempt of a task starts: with the files of an attempt, or with epoch 0 of the accepted work. */
export const saveStart = (tx: Query, task: string, start: { start_epoch: number; start_since: number }) =>
  tx.updateTable("run_tasks").set(start).where("task_id", "=", task).execute();

/** Deletes the tasks of a plan that is replaced; a task that was ever claimed stays. */
export const deleteUnstartedTasks = (tx: Query, run: string) =>
  tx.deleteFrom("tasks").where("run", "=", run).where("attempt", "=", 0).execute();

export const saveFailure = (tx: Query, task: string, failure: Failure) =>
  tx
    .updateTable("run_tasks")
    .set({ failure: JSON.stringify(failure) })
    .where("task_id", "=", task)
    .execute();

type OpenQuestion = {
  id: string;
  task: string;
  question: string;
  asked_by: string;
  at: string;
  answer: null;
  answered_by: null;
  passed_on: string | null;
};
type WaitingRun = { run: RunRow; isStalled: boolean; questions: OpenQuestion[] };

const closedKey = (run: string) => `run-closed:${run}`;

/** Who started these runs. */
export async function startersOf(query: Query, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await query.selectFrom("runs").select(["id", "created_by"]).where("id", "in", ids).execute();
  return new Map(rows.map(({ id, created_by }) => [id, created_by]));
}

/** Failed runs that nobody has closed since they failed. Newest first. */
export const failedRuns = (query: Query): Promise<RunRow[]> =>
  query
    .selectFrom("runs")
    .selectAll("runs")
    .leftJoin("meta", (join) =>
      join.on("meta.key", "=", sql<string>`${closedKey("")} || runs.id`).onRef("meta.value", "=", "runs.ended_at"),
    )
    .where("runs.state", "=", "failed")
    .where("meta.key", "is", null)
    .orderBy("runs.created_at", "desc")
    .orderBy("runs.id", "desc")
    .limit(mostFailed)
    .execute();

const mostFailed = 50;

/** Closes a failed run until it fails again. False if it is closed. */
export async function closeRun(tx: Query, { id, ended_at }: Pick<RunRow, "id" | "ended_at">): Promise<boolean> {
  const value = ended_at ?? "";
  if ((await findMeta(tx, closedKey(id))) === value) return false;
  await setMeta(tx, closedKey(id), value);
  return true;
}

/**
 * Runs that need a person: stopped, with an open question of an agent, or stalled for the reason that `whyStalled` gives.
 * Newest first.
 */
export async function runsThatWait(
  query: Query,
  whyStalled: (run: RunRow) => string | undefined,
): Promise<WaitingRun[]> {
  const [runs, asked] = await Promise.all([
    query
      .selectFrom("runs")
      .selectAll()
      .where("state", "in", ["planning", "running", "stopped"])
      .orderBy("created_at", "desc")
      .orderBy("id", "desc")
      .execute(),
    query
      .selectFrom("questions")
      .innerJoin("runs", "runs.id", "questions.run_id")
      .innerJoin("run_tasks", "run_tasks.task_id", "questions.task_id")
      .select([
        ...(["questions.id", "questions.run_id", "questions.question", "questions.asked_by", "questions.at"] as const),
        ...(["questions.passed_on", "run_tasks.number"] as const),
      ])
      .where("questions.answer", "is", null)
      .where("runs.state", "in", ["running", "stopped"])
      .orderBy("questions.at")
      .execute(),
  ]);
  return runs
    .map((run) => ({ run, stalled: whyStalled(run) }))
    .map(({ run, stalled }) => ({
      run: stalled === undefined ? run : { ...run, reason: stalled },
      isStalled: stalled !== undefined,
      questions: asked
        .filter(({ run_id }) => run_id === run.id)
        .map(({ id, number, question, asked_by, at, passed_on }) => ({
          ...{ id, task: number, question, asked_by, at, passed_on },
          ...{ answer: null, answered_by: null },
        })),
    }))
    .filter(
      ({ run, isStalled, questions }) =>
        isStalled || questions.length > 0 || (run.state !== "planning" && run.reason !== null),
    );
}

/** When each run last changed its state. */
export async function lastChangesOf(query: Query, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await query
    .selectFrom("events")
    .select(({ fn }) => ["subject", fn.max("at").as("at")])
    .where(
      "subject",
      "in",
      ids.map((id) => `run:${id}`),
    )
    .where("kind", "like", "run-%")
    .groupBy("subject")
    .execute();
  const known = new Set(rows.map(({ subject }) => subject));
  const missing = ids.map((id) => `run:${id}`).filter((subject) => !known.has(subject));
  const archived = await archivedOf(query, { subjects: missing, is: ({ kind }) => kind.startsWith("run-") });
  return new Map([...archived, ...rows].map(({ subject, at }) => [subject.slice("run:".length), at]));
}

export type RecordedMerge = { into: string; accepted: string; commit: string; squash: boolean };

/** Merges of a run's accepted work, oldest first. */
export async function mergesOf(query: Query, run: string): Promise<RecordedMerge[]> {
  return (await mergeEvents(query, run)).map(({ data }) => data as RecordedMerge);
}
