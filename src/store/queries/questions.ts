import type { QuestionRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";
import { byTaskOrRun, type OfTask } from "./attempts.ts";

export function questionsOf(query: Query, of: OfTask): Promise<QuestionRow[]> {
  const [column, value] = byTaskOrRun(of);
  return query.selectFrom("questions").selectAll().where(column, "=", value).orderBy("at").execute();
}

export const findQuestion = (query: Query, id: string): Promise<QuestionRow | undefined> =>
  query.selectFrom("questions").selectAll().where("id", "=", id).executeTakeFirst();

/** The same question on the same task. */
export const findSameQuestion = (query: Query, task: string, question: string): Promise<QuestionRow | undefined> =>
  query
    .selectFrom("questions")
    .selectAll()
    .where("task_id", "=", task)
    .where("question", "=", question)
    .executeTakeFirst();

export const insertQuestion = (
  tx: Query,
  row: Omit<QuestionRow, "answer" | "answered_by" | "answered_at" | "passed_on">,
) =>
  tx
    .insertInto("questions")
    .values({ ...row, answer: null, answered_by: null, answered_at: null, passed_on: null })
    .execute();

export const saveAnswer = (tx: Query, id: string, answer: string, by: string, at: string) =>
  tx.updateTable("questions").set({ answer, answered_by: by, answered_at: at }).where("id", "=", id).execute();

/** Open questions of a run that the planner has not seen, oldest first. */
export const unseenQuestions = (query: Query, run: string): Promise<QuestionRow[]> =>
  query
    .selectFrom("questions")
    .selectAll()
    .where("run_id", "=", run)
    .where("answer", "is", null)
    .where("passed_on", "is", null)
    .orderBy("at")
    .orderBy("id")
    .execute();

/** Leaves a question to a person, unless it has been answered. */
export async function passOnQuestion(tx: Query, id: string, reason: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("questions")
    .set({ passed_on: reason })
    .where("id", "=", id)
    .where("answer", "is", null)
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}
