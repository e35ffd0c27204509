import { ok, type Result, refuse } from "../../../kernel/result.ts";
import { snakeKeys } from "../../../kernel/wire.ts";
import type { ErrorContext, GateRow } from "../../../store/crew-tables.ts";
import { keepWrites, type Query } from "../../../store/database.ts";
import { type Attempt, attemptsOf, markLearnt, updateAttempt } from "../../../store/queries/attempts.ts";
import { contextsOf } from "../../../store/queries/contexts.ts";
import { gatesOf } from "../../../store/queries/gates.ts";
import { saveFailure } from "../../../store/queries/runs.ts";
import { findTask } from "../../../store/queries/tasks.ts";
import { checksOfTask, markVoid, type Verdict, verdictsOf } from "../../../store/queries/verdicts.ts";
import { fencedStep, moveOne } from "../../../tasks/moves.ts";
import { wordsFor } from "../../../tasks/state-words.ts";
import { fromRow, type Task } from "../../../tasks/task.ts";
import type { Step } from "../../../tasks/transition.ts";
import { errorContext, failureOf } from "../../rules/failure.ts";
import { type CrewDeps, moving } from "../deps.ts";
import { known } from "../facts.ts";
import { attemptLedger } from "./ledger.ts";

/** The end of an attempt that was judged or stopped. */
export function endingRecord(deps: CrewDeps) {
  const { db } = deps;
  const { stamp, event } = attemptLedger(deps);

  const step = (tx: Query, id: string, wanted: Step, actor: string) =>
    moveOne(tx, moving(deps), fencedStep(id, wanted, actor));

  /** Completes a task that passed. A verdict holds only for the content that it was given on. */
  async function acceptWithin(
    tx: Query,
    { id, epoch, hash }: { id: string; epoch?: number; hash: string },
    actor: string,
  ): Promise<Result<Task>> {
    const verdict = (await verdictsOf(tx, { task: id })).at(-1);
    if (verdict?.outcome !== "PASS" || verdict.voided_at !== null || verdict.epoch !== (epoch ?? verdict.epoch))
      return refuse("conflict", `task ${id} has no passing verdict`);
    if (verdict.deliverable_hash !== hash)
      return voidVerdict(tx, id, verdict, "the deliverable changed after its verdict", actor);
    const accepted = await step(tx, id, { type: "accept" }, actor);
    if (!accepted.ok) return accepted;
    const attempts = await attemptsOf(tx, { task: id });
    const data = { final_score: verdict.score, passed_on_attempt: verdict.attempt, totals: totals(attempts) };
    await event(tx, actor, "attempt-accepted", id, data);
    return accepted;
  }

  /** Fails an attempt that passed but cannot be accepted, e.g. because it does not merge. */
  async function refuseAccepted(
    { task_id: id, epoch }: Pick<Attempt, "task_id" | "epoch">,
    reason: string,
    actor: string,
  ): Promise<Result<Task>> {
    return db.write(async (tx) => {
      const verdict = (await verdictsOf(tx, { task: id })).at(-1);
      const task = await findTask(tx, id);
      // Two processes may find the same conflict; the second must not void the verdict of a newer attempt.
      if (verdict?.epoch !== epoch || task?.state !== "qc_passed")
        return refuse("conflict", `attempt ${epoch} of task ${id} is not waiting for acceptance`);
      return voidVerdict(tx, id, verdict, reason, actor);
    });
  }

  async function voidVerdict(
    tx: Query,
    id: string,
    verdict: Verdict,
    reason: string,
    actor: string,
  ): Promise<Result<Task>> {
    await markVoid(tx, verdict.id, reason, stamp());
    await updateAttempt(tx, id, verdict.epoch, { phase: "qc_failed" });
    await event(tx, actor, "verdict-voided", id, { verdict_id: verdict.id, reason });
    if ((await findTask(tx, id))?.state === "qc_passed")
      await step(tx, id, { type: "reject", score: 0, feedback: reason }, actor);
    return keepWrites(refuse("conflict", `task ${id}: ${reason}; its verdict is void`, { voided: verdict.id }));
  }

  /** After a failed attempt: prepares the next one with the error context, or gives up with a failure report. */
  async function settle(id: string, actor: string): Promise<Result<{ task: Task; error: ErrorContext }>> {
    return db.write(async (tx): Promise<Result<{ task: Task; error: ErrorContext }>> => {
      const row = await findTask(tx, id);
      const task = row && fromRow(row);
      if (task?.state !== "qc_failed")
        return refuse(
          "conflict",
          `task ${id} is ${task ? wordsFor(task.state) : "missing"}; only a failed attempt can be settled`,
        );
      const attempts = await attemptsOf(tx, { task: id });
      const verdicts = await verdictsOf(tx, { task: id });
      const last = attempts.findLast((attempt) => attempt.phase === "qc_failed");
      if (!last) return refuse("not_found", `task ${id} has no failed attempt`);
      const checks = await checksOfTask(tx, id);
      const error = errorContext(
        last,
        verdicts.findLast((verdict) => verdict.epoch === last.epoch),
        checks.filter(({ epoch }) => epoch === last.epoch),
      );
      await updateAttempt(tx, id, last.epoch, { error_context: error });
      const reason = error.summary;
      const returned = returnedSince(attempts, await gatesOf(tx, id));
      if (task.attempt - returned <= task.maxRetries) {
        const free = returned > 0 ? { returned } : {};
        const next = await step(tx, id, { type: "retry", reason, ...free }, actor);
        if (!next.ok) return next;
        await event(tx, actor, "attempt-retry-prepared", id, {
          next: task.attempt + 1,
          reason,
          error: snakeKeys(error),
        });
        return ok({ task: next.value, error });
      }
      const lost = await step(tx, id, { type: "give_up", reason }, actor);
      if (!lost.ok) return lost;
      const failure = failureOf({ attempts, verdicts, checks, contexts: await contextsOf(tx, { task: id }) });
      await saveFailure(tx, id, failure);
      await event(tx, actor, "attempt-given-up", id, snakeKeys(failure));
      return ok({ task: lost.value, error });
    });
  }

  return {
    accept: (id: string, hash: string, actor: string) => db.write((tx) => acceptWithin(tx, { id, hash }, actor)),
    /** `accept` in an open transaction, of the attempt of this epoch. */
    acceptWithin,
    refuseAccepted,
    settle,
    /** The lessons of the task are in the wiki. */
    markLearnt: (task: string) => db.write((tx) => markLearnt(tx, task, stamp())),
  };
}

/** Attempts since the task was last opened that a person returned at its gate: they use up no retry. */
function returnedSince(attempts: Attempt[], gates: GateRow[]): number {
  const first = attempts.findLast(({ attempt }) => attempt === 1)?.epoch ?? 0;
  return gates.filter(({ epoch, decision }) => decision === "returned" && epoch >= first).length;
}

const totals = (attempts: Attempt[]) => ({
  attempts: attempts.filter((row) => row.phase !== "abandoned").length,
  duration_ms: attempts.reduce((sum, row) => sum + (row.duration_ms ?? 0), 0),
  input_tokens: known(attempts.map((row) => row.input_tokens)),
  output_tokens: known(attempts.map((row) => row.output_tokens)),
  tool_calls: known(attempts.map((row) => row.tool_calls)),
  cost_usd: known(attempts.map((row) => row.cost_usd)),
});
