import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { QuestionRow } from "../../store/crew-tables.ts";
import type { Query } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import { checkClaim, recordingRefused } from "../../store/fence.ts";
import { noSuch } from "../../store/no-such.ts";
import {
  findQuestion,
  findSameQuestion,
  insertQuestion,
  passOnQuestion,
  saveAnswer,
} from "../../store/queries/questions.ts";
import { runTask } from "../../store/queries/runs.ts";
import { lockTasks } from "../../store/queries/tasks.ts";
import { fromRow } from "../../tasks/task.ts";
import type { CrewApp } from "./crew-app.ts";
import type { Fence } from "./facts.ts";

type QuestionState = {
  id: string;
  status: "asked" | "answered";
  answer: string | null;
  answered_by: string | null;
};

/** Asks a question under the claim on its task, or reads the answer to one. The same question twice is one question. */
export async function askQuestion(
  app: CrewApp,
  fence: Fence,
  { question, id }: { question: string | undefined; id: string | undefined },
  actor: string,
): Promise<Result<QuestionState>> {
  if (id !== undefined) {
    const found = await findQuestion(app.db.read, id);
    return found?.task_id === fence.task ? ok(stateOf(found)) : noSuch(app.db.read, "question", id);
  }
  if (question === undefined) return refuse("invalid", "question: missing; expected your question");
  const save = async (tx: Query): Promise<Result<QuestionState>> => {
    const [task] = await lockTasks(tx, app.db.engine, [fence.task]);
    const detail = await runTask(tx, fence.task);
    if (!task || !detail) return refuse("not_found", `task ${fence.task} does not exist or does not belong to a run`);
    const allowed = checkClaim(fromRow(task), Number(task.now), fence);
    if (!allowed.ok) return allowed;
    const before = await findSameQuestion(tx, fence.task, question);
    if (before) return ok(stateOf(before));
    const at = app.now().toISOString();
    const row = {
      id: app.newId("question"),
      run_id: detail.run_id,
      task_id: fence.task,
      epoch: fence.epoch,
      asked_by: actor,
      question,
      at,
    };
    await insertQuestion(tx, row);
    await appendEvent(tx, {
      at,
      actor,
      kind: "question-asked",
      subject: `task:${fence.task}`,
      data: { id: row.id, run: row.run_id, question },
    });
    return ok({ id: row.id, status: "asked", answer: null, answered_by: null });
  };
  return recordingRefused(app, { name: actor, ...fence }, "ask", () => app.db.write(save));
}

export async function answer(
  app: CrewApp,
  given: { id: string; answer: string },
  actor: string,
): Promise<Result<{ id: string; task: string }>> {
  return app.db.write(async (tx): Promise<Result<{ id: string; task: string }>> => {
    const found = await findQuestion(tx, given.id);
    if (!found) return noSuch(tx, "question", given.id);
    if (found.answer !== null)
      return refuse("conflict", `${found.answered_by} has already answered question ${given.id}`, {
        answer: found.answer,
      });
    const at = app.now().toISOString();
    await saveAnswer(tx, given.id, given.answer, actor, at);
    await appendEvent(tx, { at, actor, kind: "question-answered", subject: `task:${found.task_id}`, data: given });
    return ok({ id: given.id, task: found.task_id });
  });
}

/** Leaves a question to a person, who finds it in the inbox with the reason. */
export const passOn = ({ db, now }: CrewApp, id: string, reason: string, actor: string): Promise<boolean> =>
  db.write(async (tx) => {
    const found = await findQuestion(tx, id);
    if (!found || !(await passOnQuestion(tx, id, reason.slice(0, 1000)))) return false;
    const data = { id, reason: reason.slice(0, 1000) };
    await appendEvent(tx, {
      at: now().toISOString(),
      actor,
      kind: "question-passed-on",
      subject: `task:${found.task_id}`,
      data,
    });
    return true;
  });

const stateOf = (row: Pick<QuestionRow, "id" | "answer" | "answered_by">): QuestionState => ({
  id: row.id,
  status: row.answer === null ? "asked" : "answered",
  answer: row.answer,
  answered_by: row.answered_by,
});
