import { ok, type Result, refuse } from "../../kernel/result.ts";
import { appendEvent } from "../../store/events.ts";
import { runTask } from "../../store/queries/runs.ts";
import { lockTasks } from "../../store/queries/tasks.ts";
import type { CrewApp } from "./crew-app.ts";
import type { Fence } from "./facts.ts";

type Asked = { id: string; status: "asked" | "answered"; answer: string | null };

/** A question under the claim on its task, or the answer to one. The same question twice is one question. */
export async function askQuestion(
  app: CrewApp,
  fence: Fence,
  { question, id }: { question: string | undefined; id: string | undefined },
  actor: string,
): Promise<Result<Asked>> {
  if (id !== undefined) {
    const there = await app.db.read
      .selectFrom("questions")
      .selectAll()
      .where("id", "=", id)
      .where("task_id", "=", fence.task)
      .executeTakeFirst();
    return there ? ok(asked(there)) : refuse("not_found", `there is no question ${id} on this task`);
  }
  if (question === undefined) return refuse("invalid", "question: say what you want to know");
  return app.db.write(async (tx): Promise<Result<Asked>> => {
    const [task] = await lockTasks(tx, app.db.engine, [fence.task]);
    const detail = await runTask(tx, fence.task);
    if (!task || !detail) return refuse("not_found", `there is no task ${fence.task} of a run`);
    if (task.epoch !== fence.epoch || task.holder === null)
      return refuse("conflict", `task ${fence.task}: epoch ${fence.epoch} holds it no longer; nothing was written`, {
        late: true,
      });
    const before = await tx
      .selectFrom("questions")
      .selectAll()
      .where("task_id", "=", fence.task)
      .where("question", "=", question)
      .executeTakeFirst();
    if (before) return ok(asked(before));
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
    await tx
      .insertInto("questions")
      .values({ ...row, answer: null, answered_by: null, answered_at: null })
      .execute();
    await appendEvent(tx, {
      at,
      actor,
      kind: "question-asked",
      subject: `task:${fence.task}`,
      data: { id: row.id, run: row.run_id, question },
    });
    return ok({ id: row.id, status: "asked", answer: null });
  });
}

export async function answer(
  app: CrewApp,
  given: { id: string; answer: string },
  actor: string,
): Promise<Result<{ id: string; task: string }>> {
  return app.db.write(async (tx): Promise<Result<{ id: string; task: string }>> => {
    const there = await tx.selectFrom("questions").selectAll().where("id", "=", given.id).executeTakeFirst();
    if (!there) return refuse("not_found", `there is no question ${given.id}`);
    if (there.answer !== null)
      return refuse("conflict", `${there.answered_by} answered question ${given.id} already`, { answer: there.answer });
    const at = app.now().toISOString();
    await tx
      .updateTable("questions")
      .set({ answer: given.answer, answered_by: actor, answered_at: at })
      .where("id", "=", given.id)
      .execute();
    await appendEvent(tx, { at, actor, kind: "question-answered", subject: `task:${there.task_id}`, data: given });
    return ok({ id: given.id, task: there.task_id });
  });
}

const asked = (row: { id: string; answer: string | null }): Asked => ({
  id: row.id,
  status: row.answer === null ? "asked" : "answered",
  answer: row.answer,
});
