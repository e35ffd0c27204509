import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Query } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import { checkClaim, recordingRefused } from "../../store/fence.ts";
import { noSuch } from "../../store/no-such.ts";
import { findQuestion, findSameQuestion, insertQuestion, saveAnswer } from "../../store/queries/questions.ts";
import { runTask } from "../../store/queries/runs.ts";
import { lockTasks } from "../../store/queries/tasks.ts";
import { fromRow } from "../../tasks/task.ts";
import type { CrewApp } from "./crew-app.ts";
import type { Fence } from "./facts.ts";

type QuestionState = { id: string; status: "asked" | "answered"; answer: string | null };

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
    return ok({ id: row.id, status: "asked", answer: null });
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

const stateOf = (row: { id: string; answer: string | null }): QuestionState => ({
  id: row.id,
  status: row.answer === null ? "asked" : "answered",
  answer: row.answer,
});
