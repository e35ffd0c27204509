import { ok, type Result, refuse } from "../../../kernel/result.ts";
import { snakeKeys } from "../../../kernel/wire.ts";
import type { Query } from "../../../store/database.ts";
import { checkClaim, recordingRefused } from "../../../store/fence.ts";
import { noSuch } from "../../../store/no-such.ts";
import { abandonEarlierAttempts, findAttempt, insertAttempt, updateAttempt } from "../../../store/queries/attempts.ts";
import { runTask } from "../../../store/queries/runs.ts";
import { lockTasks } from "../../../store/queries/tasks.ts";
import { fencedStep, moveOne } from "../../../tasks/moves.ts";
import { fromRow, type Task } from "../../../tasks/task.ts";
import { longestOutput } from "../../../tasks/transition.ts";
import { type CrewDeps, moving } from "../deps.ts";
import type { Deliverable, Fence, Output, Spent } from "../facts.ts";
import { attemptLedger, late, spentColumns } from "./ledger.ts";

/** The worker's side of an attempt. */
export function workRecord(deps: CrewDeps) {
  const { db } = deps;
  const { stamp, event } = attemptLedger(deps);

  /**
   * Starts the attempt right after the claim, and marks attempts that an earlier claim left unfinished as abandoned.
   * `actor` is the caller if that is not the worker itself; a refusal is recorded under its name.
   */
  async function begin(
    fence: Fence,
    worker: string,
    actor = worker,
  ): Promise<Result<{ attempt: number; retryReason: string | null }>> {
    const { task: id, epoch } = fence;
    return recordingRefused(deps, { name: actor, ...fence }, "begin", () =>
      db.write(async (tx) => {
        const held = await lockWorking(tx, fence);
        if (!held.ok) return held;
        const detail = await runTask(tx, id);
        if (!detail) return refuse("not_found", `task ${id} does not belong to a run`);
        const at = stamp();
        await abandonEarlierAttempts(tx, id, epoch, at);
        const { attempt, result } = held.value;
        const isRetry = attempt > 1;
        const retryReason = isRetry && typeof result.reason === "string" ? result.reason : null;
        await insertAttempt(tx, {
          task_id: id,
          epoch,
          run_id: detail.run_id,
          attempt,
          worker,
          retry_reason: retryReason,
          started_at: at,
        });
        const data = { attempt, epoch, is_retry: isRetry, retry_reason: retryReason };
        await event(tx, worker, "attempt-started", id, data);
        return ok({ attempt, retryReason });
      }),
    );
  }

  /** Locks the task of a worker's claim. The claim of a verifier must not begin or replace a worker's attempt. */
  async function lockWorking(tx: Query, fence: Fence): Promise<Result<Task>> {
    const [row] = await lockTasks(tx, db.engine, [fence.task]);
    if (!row) return noSuch(tx, "task", fence.task);
    const task = fromRow(row);
    const allowed = checkClaim(task, Number(row.now), fence);
    if (!allowed.ok) return allowed;
    return task.state === "worker_executing" ? ok(task) : late(fence);
  }

  /** Stores the worker's output. Until the work is over the worker may submit again; the last output counts. */
  async function submitOutput(fence: Fence, said: Output, actor: string): Promise<Result<{ attempt: number }>> {
    return recordingRefused(deps, { name: actor, ...fence }, "output", () =>
      db.write(async (tx) => {
        const held = await lockWorking(tx, fence);
        if (!held.ok) return held;
        const attempt = await findAttempt(tx, fence.task, fence.epoch);
        if (!attempt) return late(fence);
        await updateAttempt(tx, fence.task, fence.epoch, {
          output: said.output.slice(0, longestOutput),
          output_characters: said.output.length,
          claims: said.statements,
          decisions: said.decisions,
          cites: said.cites,
        });
        await event(tx, actor, "output-submitted", fence.task, {
          attempt: attempt.attempt,
          characters: said.output.length,
          ...(said.doubted?.length ? { doubted: said.doubted } : {}),
        });
        return ok({ attempt: attempt.attempt });
      }),
    );
  }

  /** Ends the work: output and files get one hash, and the verdict will hold for that hash only. */
  async function completeWork(fence: Fence, made: Deliverable, spent: Spent, actor: string): Promise<Result<Task>> {
    return recordingRefused(deps, { name: actor, ...fence }, "submit", () =>
      db.write(async (tx) => {
        const attempt = await findAttempt(tx, fence.task, fence.epoch);
        if (!attempt) return late(fence);
        if (attempt.output === null)
          return refuse("conflict", `task ${fence.task}: no output was submitted, so there is nothing to verify`);
        const step = { type: "submit" as const, output: attempt.output };
        const moved = await moveOne(tx, moving(deps), fencedStep(fence.task, step, actor, fence));
        if (!moved.ok) return moved;
        await updateAttempt(tx, fence.task, fence.epoch, {
          ...spentColumns(spent),
          phase: "worker_completed",
          worker_ended_at: stamp(),
          deliverable_hash: made.hash,
          files_changed: made.filesChanged,
          branch: made.branch,
          commit_id: made.commit,
        });
        await event(tx, actor, "attempt-worker-completed", fence.task, {
          attempt: attempt.attempt,
          ...snakeKeys(made),
          ...spentColumns(spent),
        });
        return moved;
      }),
    );
  }

  /** Fails an attempt whose worker was stopped or delivered nothing; its unfinished work goes to the next attempt. */
  async function failWork(
    fence: Fence,
    why: { reason: string; partial: string },
    spent: Spent,
    actor: string,
  ): Promise<Result<Task>> {
    return recordingRefused(deps, { name: actor, ...fence }, "fail", () =>
      db.write(async (tx) => {
        const attempt = await findAttempt(tx, fence.task, fence.epoch);
        if (!attempt) return late(fence);
        const { reason } = why;
        const partial = (why.partial || (attempt.output ?? "")).slice(0, longestOutput);
        const step = { type: "fail" as const, reason, output: partial };
        const failed = await moveOne(tx, moving(deps), fencedStep(fence.task, step, actor, fence));
        if (!failed.ok) return failed;
        const at = stamp();
        await updateAttempt(tx, fence.task, fence.epoch, {
          ...spentColumns(spent),
          phase: "qc_failed",
          partial,
          stopped_because: reason,
          worker_ended_at: at,
          ended_at: at,
        });
        await event(tx, actor, "attempt-worker-failed", fence.task, { attempt: attempt.attempt, reason, ...spent });
        return failed;
      }),
    );
  }

  return { begin, submitOutput, completeWork, failWork };
}
