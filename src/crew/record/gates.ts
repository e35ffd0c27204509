import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { GateRow } from "../../store/crew-tables.ts";
import type { Query } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import {
  deleteUndecidedGates,
  findGate,
  insertGate,
  saveGateDecision,
  type WaitingGate,
  waitingGates,
} from "../../store/queries/gates.ts";
import { findRun, type RunTask, saveFailure } from "../../store/queries/runs.ts";
import { fencedStep, moveOne } from "../../tasks/moves.ts";
import type { Task } from "../../tasks/task.ts";
import { answerText, rejectedQuestion, rejectionReason } from "../rules/question.ts";
import type { CrewApp } from "./crew-app.ts";
import { moving } from "./deps.ts";
import { hashOf } from "./facts.ts";

type Held = Pick<GateRow, "task_id" | "epoch" | "run_id" | "hash" | "base_id" | "commit_id">;

/** Holds the verified result of a task until a person has decided; returns the decision if there is one. */
export async function holdAtGate(app: CrewApp, held: Held): Promise<GateRow> {
  const before = await findGate(app.db.read, held);
  if (before) return before;
  await app.db.write((tx) => reachGate(app, tx, held));
  const row = await findGate(app.db.read, held);
  if (!row) throw new Error(`the gate of task ${held.task_id} was not stored`);
  return row;
}

async function reachGate({ now }: Pick<CrewApp, "now">, tx: Query, held: Held): Promise<void> {
  const { task_id, run_id, epoch, hash } = held;
  const held_at = now().toISOString();
  if (!(await insertGate(tx, { ...held, held_at }))) return;
  const data = { run: run_id, epoch, hash };
  await appendEvent(tx, { at: held_at, actor: "crew", kind: "gate-reached", subject: `task:${task_id}`, data });
}

type Claimed = { epoch: number; secret: string };

/** Asks a person the question of a claimed task, which then waits without a holder. */
export const askPerson = (app: CrewApp, detail: RunTask, { epoch, secret }: Claimed, actor: string) =>
  app.db.write(async (tx): Promise<Result<Task>> => {
    const { task_id, run_id, requirements } = detail;
    const asked = await moveOne(tx, moving(app), fencedStep(task_id, { type: "ask" }, actor, { epoch, secret }));
    if (!asked.ok) return asked;
    await deleteUndecidedGates(tx, task_id);
    await reachGate(app, tx, { task_id, run_id, epoch, hash: hashOf(requirements), base_id: null, commit_id: null });
    return asked;
  });

/** The result or the question of a task that waits for a person. */
export async function waitingAt(app: CrewApp, task: string): Promise<Result<WaitingGate>> {
  const found = (await waitingGates(app.db.read)).find(({ task_id }) => task_id === task);
  return found ? ok(found) : refuse("not_found", `task ${task} does not wait for approval`);
}

export type GateDecision = {
  task: string;
  hash: string;
  decision: "approved" | "returned" | "rejected";
  note: string | null;
};

export async function decideAtGate(
  app: CrewApp,
  { task, hash, decision, note }: GateDecision,
  actor: string,
): Promise<Result<WaitingGate>> {
  const waiting = await waitingAt(app, task);
  if (!waiting.ok) return waiting;
  const { epoch, run_id, number, on_reject } = waiting.value;
  if (decision === "returned" && on_reject !== null)
    return refuse("invalid", `task ${number} asks a question and has no result to return; approve or reject it`);
  if (decision === "rejected" && on_reject === null)
    return refuse("invalid", `task ${number} has a result; approve it, or return it with what must change`);
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
    const decided = { ...waiting.value, ...made };
    const answered = on_reject === null ? ok(true) : await answer(app, tx, decided, actor);
    return answered.ok ? ok(decided) : answered;
  });
}

/** Moves the task of a question as the person decided. */
async function answer(app: CrewApp, tx: Query, gate: WaitingGate, actor: string): Promise<Result<unknown>> {
  const { task_id, run_id, on_reject } = gate;
  const move = (step: Parameters<typeof fencedStep>[1]) => moveOne(tx, moving(app), fencedStep(task_id, step, actor));
  if (gate.decision === "approved") return move({ type: "accept", output: answerText(gate) });
  const reason = rejectionReason(gate);
  if (on_reject === "fail") {
    const failed = await move({ type: "give_up", reason });
    if (failed.ok) await saveFailure(tx, task_id, rejectedQuestion(gate));
    return failed;
  }
  const released = await move({ type: "release", reason });
  const state = (await findRun(tx, run_id))?.state;
  if (!released.ok || (state !== "running" && state !== "stopped")) return released;
  return app.runs.stepWithin(
    tx,
    run_id,
    { type: "stop", reason: `task ${gate.number}: ${reason}`, cause: "other" },
    actor,
    {},
  );
}
