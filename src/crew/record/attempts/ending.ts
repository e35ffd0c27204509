import { ok, type Result, refuse } from "../../../kernel/result.ts";
import type { AttemptRow, VerdictRow } from "../../../store/crew-tables.ts";
import { keepWrites, type Query } from "../../../store/database.ts";
import { attemptsOf, checksOf, verdictsOf } from "../../../store/queries/runs.ts";
import type { Task } from "../../../tasks/task.ts";
import { type ErrorContext, errorContext, failureOf } from "../../rules/failure.ts";
import { type CrewDeps, tasksWithin } from "../deps.ts";
import { type Fence, known } from "../facts.ts";
import { attemptLedger } from "./ledger.ts";

/** What an attempt comes to once it is judged. */
export function endingRecord(deps: CrewDeps) {
  const { db } = deps;
  const { stamp, event, update } = attemptLedger(deps);

  /** The end of a task that passed. The verdict holds for the content it was given on and no other. */
  async function accept(id: string, hash: string, actor: string): Promise<Result<Task>> {
    return db.write(async (tx) => {
      const verdict = (await verdictsOf(tx, { task: id })).at(-1);
      if (verdict?.outcome !== "PASS" || verdict.voided_at !== null)
        return refuse("conflict", `task ${id} has no verdict that lets it pass`);
      if (verdict.deliverable_hash !== hash)
        return voidVerdict(tx, id, verdict, "the deliverable changed after it was judged", actor);
      const accepted = await tasksWithin(tx, deps).step(id, { type: "accept" }, actor);
      if (!accepted.ok) return accepted;
      const attempts = await attemptsOf(tx, { task: id });
      const data = { finalScore: verdict.score, passedOnAttempt: verdict.attempt, totals: totals(attempts) };
      await event(tx, actor, "attempt-accepted", id, data);
      return accepted;
    });
  }

  /** Work that passed cannot be taken over after all, such as when it does not merge: a failed attempt with the reason. */
  async function refuseAccepted({ task: id, epoch }: Fence, reason: string, actor: string): Promise<Result<Task>> {
    return db.write(async (tx) => {
      const verdict = (await verdictsOf(tx, { task: id })).at(-1);
      const task = await tasksWithin(tx, deps).find(id);
      // Two processes may come to the same end: the second finds that it was said, perhaps even a newer attempt.
      if (verdict?.epoch !== epoch || task?.state !== "qc_passed")
        return refuse("conflict", `attempt ${epoch} of task ${id} does not wait to be accepted`);
      return voidVerdict(tx, id, verdict, reason, actor);
    });
  }

  async function voidVerdict(
    tx: Query,
    id: string,
    verdict: VerdictRow,
    reason: string,
    actor: string,
  ): Promise<Result<Task>> {
    const at = stamp();
    await tx.updateTable("verdicts").set({ voided_at: at, void_reason: reason }).where("id", "=", verdict.id).execute();
    await update(tx, { task: id, epoch: verdict.epoch }, { phase: "qc_failed" });
    await event(tx, actor, "verdict-voided", id, { verdict: verdict.id, reason });
    const tasks = tasksWithin(tx, deps);
    if ((await tasks.find(id))?.state === "qc_passed")
      await tasks.step(id, { type: "reject", score: 0, feedback: reason }, actor);
    return keepWrites(refuse("conflict", `task ${id}: ${reason}; its verdict is void`, { voided: verdict.id }));
  }

  /** After a failed attempt: the next one with what this one taught, or the end with a report of why. */
  async function settle(id: string, actor: string): Promise<Result<{ task: Task; error: ErrorContext }>> {
    return db.write(async (tx): Promise<Result<{ task: Task; error: ErrorContext }>> => {
      const tasks = tasksWithin(tx, deps);
      const task = await tasks.find(id);
      if (task?.state !== "qc_failed")
        return refuse("conflict", `task ${id} is ${task?.state ?? "not there"}; only a failed attempt is settled`);
      const attempts = await attemptsOf(tx, { task: id });
      const verdicts = await verdictsOf(tx, { task: id });
      const last = attempts.findLast((row) => row.phase === "qc_failed");
      if (!last) return refuse("conflict", `task ${id} has no failed attempt`);
      const error = errorContext(
        last,
        verdicts.findLast((row) => row.epoch === last.epoch),
        await checksOf(tx, id, last.epoch),
      );
      await update(tx, { task: id, epoch: last.epoch }, { error_context: JSON.stringify(error) });
      const reason = error.summary;
      if (task.attempt <= task.maxRetries) {
        const next = await tasks.step(id, { type: "retry", reason }, actor);
        if (!next.ok) return next;
        await event(tx, actor, "attempt-retry-prepared", id, { next: task.attempt + 1, reason, error });
        return ok({ task: next.value, error });
      }
      const lost = await tasks.step(id, { type: "give_up", reason }, actor);
      if (!lost.ok) return lost;
      const failure = failureOf(attempts, verdicts);
      await tx
        .updateTable("run_tasks")
        .set({ failure: JSON.stringify(failure) })
        .where("task_id", "=", id)
        .execute();
      await event(tx, actor, "attempt-given-up", id, failure);
      return ok({ task: lost.value, error });
    });
  }

  /** What the task taught is in the book. */
  const markLearnt = (task: string) =>
    db.write((tx) =>
      tx
        .updateTable("attempts")
        .set({ learnt_at: stamp() })
        .where("task_id", "=", task)
        .where("learnt_at", "is", null)
        .execute(),
    );

  return { accept, refuseAccepted, settle, markLearnt };
}

const totals = (attempts: AttemptRow[]) => ({
  attempts: attempts.filter((row) => row.phase !== "abandoned").length,
  durationMs: attempts.reduce((sum, row) => sum + (row.duration_ms ?? 0), 0),
  inputTokens: known(attempts.map((row) => row.input_tokens)),
  outputTokens: known(attempts.map((row) => row.output_tokens)),
  toolCalls: known(attempts.map((row) => row.tool_calls)),
  costUsd: known(attempts.map((row) => row.cost_usd)),
});
