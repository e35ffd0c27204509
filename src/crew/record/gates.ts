import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { GateRow } from "../../store/crew-tables.ts";
import { appendEvent } from "../../store/events.ts";
import { findGate, insertGate, saveGateDecision, type WaitingGate, waitingGates } from "../../store/queries/gates.ts";
import type { CrewApp } from "./crew-app.ts";

type Held = Pick<GateRow, "task_id" | "epoch" | "run_id" | "hash" | "base_id" | "commit_id">;

/** Holds the verified result of a task until a person has decided; returns the decision if there is one. */
export async function holdAtGate(app: CrewApp, held: Held): Promise<GateRow> {
  const before = await findGate(app.db.read, held);
  if (before) return before;
  const { task_id, run_id, epoch, hash } = held;
  const held_at = app.now().toISOString();
  await app.db.write(async (tx) => {
    if (!(await insertGate(tx, { ...held, held_at }))) return;
    const data = { run: run_id, epoch, hash };
    await appendEvent(tx, { at: held_at, actor: "crew", kind: "gate-reached", subject: `task:${task_id}`, data });
  });
  const row = await findGate(app.db.read, held);
  if (!row) throw new Error(`the gate of task ${task_id} was not stored`);
  return row;
}

/** The result of a task that waits for a person. */
export async function waitingAt(app: CrewApp, task: string): Promise<Result<WaitingGate>> {
  const found = (await waitingGates(app.db.read)).find(({ task_id }) => task_id === task);
  return found ? ok(found) : refuse("not_found", `no result of task ${task} waits for approval`);
}

export type GateDecision = { task: string; hash: string; decision: "approved" | "returned"; note: string | null };

export async function decideAtGate(
  app: CrewApp,
  { task, hash, decision, note }: GateDecision,
  actor: string,
): Promise<Result<WaitingGate>> {
  const waiting = await waitingAt(app, task);
  if (!waiting.ok) return waiting;
  const { epoch, run_id } = waiting.value;
  if (waiting.value.hash !== hash)
    return refuse("conflict", `task ${task} has another result than the one you saw; look at it again`);
  const at = app.now().toISOString();
  const made = { decision, note, decided_by: actor, decided_at: at };
  return app.db.write(async (tx): Promise<Result<WaitingGate>> => {
    if (!(await saveGateDecision(tx, { task_id: task, epoch }, made))) {
      const by = (await findGate(tx, { task_id: task, epoch }))?.decided_by ?? "another person";
      return refuse("conflict", `${by} has already decided about task ${task}`);
    }
    const data = { run: run_id, epoch, hash, note };
    await appendEvent(tx, { at, actor, kind: `gate-${decision}`, subject: `task:${task}`, data });
    return ok({ ...waiting.value, ...made });
  });
}
