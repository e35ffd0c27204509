import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { SteeringMessageRow } from "../../store/crew-tables.ts";
import { appendEvent } from "../../store/events.ts";
import { noSuch } from "../../store/no-such.ts";
import { runTask } from "../../store/queries/runs.ts";
import { insertSteering, markDelivered, undeliveredSteering } from "../../store/queries/steering.ts";
import { findTask } from "../../store/queries/tasks.ts";
import { wordsFor } from "../../tasks/state-words.ts";
import { fromRow, isOver } from "../../tasks/task.ts";
import type { CrewApp } from "./crew-app.ts";

export type Sent = { id: string; run: string; reaches: "worker" | "next_attempt" };

/** Records a person's message to the worker of a task. A task that nobody works on keeps it for its next attempt. */
export async function sendSteering(app: CrewApp, given: { task: string; content: string }, actor: string) {
  const { task: id, content } = given;
  return app.db.write(async (tx): Promise<Result<Sent>> => {
    const [row, detail] = await Promise.all([findTask(tx, id), runTask(tx, id)]);
    if (!row) return noSuch(tx, "task", id);
    if (!detail) return refuse("invalid", `task ${id} does not belong to a run, so no agent of ours works on it`);
    const { state } = fromRow(row);
    if (isOver(state))
      return refuse("conflict", `task ${id} is ${wordsFor(state)}; no worker will read the message`, { state });
    const sent_at = app.now().toISOString();
    const message = { id: app.newId("message"), run_id: detail.run_id, task_id: id, content, sent_by: actor, sent_at };
    await insertSteering(tx, message);
    const data = { id: message.id, run: detail.run_id, content };
    await appendEvent(tx, { at: sent_at, actor, kind: "steering-sent", subject: `task:${id}`, data });
    const reaches = state === "worker_executing" ? "worker" : "next_attempt";
    return ok({ id: message.id, run: detail.run_id, reaches });
  });
}

type Delivery = { task: string; epoch: number; how: NonNullable<SteeringMessageRow["delivered"]>; agent: string };

/** Hands the waiting messages of a task over; each is handed over once. */
export async function takeSteering(app: CrewApp, { task, epoch, how, agent }: Delivery): Promise<SteeringMessageRow[]> {
  if ((await undeliveredSteering(app.db.read, task)).length === 0) return [];
  return app.db.write(async (tx) => {
    const delivered_at = app.now().toISOString();
    const taken: SteeringMessageRow[] = [];
    for (const message of await undeliveredSteering(tx, task)) {
      if (!(await markDelivered(tx, message.id, { delivered: how, delivered_at, epoch }))) continue;
      taken.push(message);
      const data = { id: message.id, epoch, delivered: how };
      await appendEvent(tx, {
        ...{ at: delivered_at, actor: agent, kind: "steering-delivered" as const },
        ...{ subject: `task:${task}`, data },
      });
    }
    return taken;
  });
}
