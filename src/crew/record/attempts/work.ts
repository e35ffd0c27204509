import { ok, type Result, refuse } from "../../../kernel/result.ts";
import { snakeKeys } from "../../../kernel/wire.ts";
import { recordingLate } from "../../../store/fence.ts";
import { parseJsonOr } from "../../../store/json.ts";
import { runTask } from "../../../store/queries/runs.ts";
import { lockTasks } from "../../../store/queries/tasks.ts";
import type { Task } from "../../../tasks/task.ts";
import type { Said } from "../../rules/verdict.ts";
import { type CrewDeps, tasksWithin } from "../deps.ts";
import { bySystem, type Deliverable, type Fence, hashOf, type Output, type Spent } from "../facts.ts";
import { attemptLedger, cut, late, spentColumns } from "./ledger.ts";
import { keepVerdict } from "./verification.ts";

/** The worker's side of an attempt. */
export function workRecord(deps: CrewDeps) {
  const { db } = deps;
  const { stamp, event, update, under } = attemptLedger(deps);

  /** Right after a claim: whatever an earlier holder left unfinished is marked as such. */
  async function begin(
    { task: id, epoch }: Fence,
    worker: string,
  ): Promise<Result<{ attempt: number; retryReason: string | null }>> {
    return db.write(async (tx) => {
      const [task] = await lockTasks(tx, db.engine, [id]);
      const detail = await runTask(tx, id);
      if (!task || !detail) return refuse("not_found", `there is no task ${id} of a run`);
      if (task.epoch !== epoch || task.holder === null) return late(id, epoch);
      const at = stamp();
      await tx
        .updateTable("attempts")
        .set({ phase: "abandoned", ended_at: at })
        .where("task_id", "=", id)
        .where("phase", "=", "worker_executing")
        .where("epoch", "<", epoch)
        .execute();
      const reason = parseJsonOr<{ reason?: unknown }>(task.result, {}).reason;
      const retryReason = task.attempt > 1 && typeof reason === "string" ? reason : null;
      await tx
        .insertInto("attempts")
        .values({
          ...untouched,
          task_id: id,
          epoch,
          run_id: detail.run_id,
          attempt: task.attempt,
          worker,
          is_retry: task.attempt > 1 ? 1 : 0,
          retry_reason: retryReason,
          started_at: at,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      const data = { attempt: task.attempt, epoch, is_retry: task.attempt > 1, retry_reason: retryReason };
      await event(tx, worker, "attempt-started", id, data);
      return ok({ attempt: task.attempt, retryReason });
    });
  }

  /** What the worker says it made. It can say so again until its work is over; the last word counts. */
  async function submitOutput(fence: Fence, said: Output, actor: string): Promise<Result<{ attempt: number }>> {
    return db.write(async (tx) => {
      const [task] = await lockTasks(tx, db.engine, [fence.task]);
      if (!task) return refuse("not_found", `there is no task ${fence.task}`);
      const attempt = await under(tx, fence);
      if (task.epoch !== fence.epoch || task.state !== "worker_executing" || !attempt)
        return late(fence.task, fence.epoch);
      await update(tx, fence, {
        output: cut(said.output),
        output_characters: said.output.length,
        claims: JSON.stringify(said.statements),
        decisions: JSON.stringify(said.decisions),
        cites: JSON.stringify(said.cites),
      });
      await event(tx, actor, "output-submitted", fence.task, {
        attempt: attempt.attempt,
        characters: said.output.length,
      });
      return ok({ attempt: attempt.attempt });
    });
  }

  /** The worker is done: its output and what git says of its files, under one hash that a verdict will be bound to. */
  async function completeWork(fence: Fence, made: Deliverable, spent: Spent, actor: string): Promise<Result<Task>> {
    return recordingLate(deps, { name: actor, ...fence }, "submit", () =>
      db.write(async (tx) => {
        const attempt = await under(tx, fence);
        if (!attempt) return late(fence.task, fence.epoch);
        if (attempt.output === null)
          return refuse("conflict", `task ${fence.task}: nothing was submitted, so there is nothing to verify`);
        const moved = await tasksWithin(tx, deps).step(
          fence.task,
          { type: "submit", output: attempt.output },
          actor,
          fence.epoch,
        );
        if (!moved.ok) return moved;
        const change = {
          phase: "worker_completed" as const,
          worker_ended_at: stamp(),
          ...deliverableColumns(made),
          ...spentColumns(spent),
        };
        await update(tx, fence, change);
        await event(tx, actor, "attempt-worker-completed", fence.task, {
          attempt: attempt.attempt,
          ...snakeKeys(made),
          ...spentColumns(spent),
        });
        return moved;
      }),
    );
  }

  /** The worker was stopped, or ended with nothing: the attempt has failed, and what there is of it goes to the next one. */
  async function failWork(
    fence: Fence,
    why: { reason: string; partial: string },
    spent: Spent,
    actor: string,
  ): Promise<Result<Task>> {
    return recordingLate(deps, { name: actor, ...fence }, "fail", () =>
      db.write(async (tx) => {
        const attempt = await under(tx, fence);
        if (!attempt) return late(fence.task, fence.epoch);
        const tasks = tasksWithin(tx, deps);
        const partial = cut(why.partial || (attempt.output ?? ""));
        const submitted = await tasks.step(fence.task, { type: "submit", output: partial }, actor, fence.epoch);
        if (!submitted.ok) return submitted;
        const locked = await tasks.lock(fence.task, bySystem);
        if (!locked.ok || !("epoch" in locked.value)) throw new Error(`task ${fence.task} could not be judged`);
        const at = stamp();
        const hash = hashOf(partial);
        await update(tx, fence, {
          ...spentColumns(spent),
          phase: "qc_failed",
          partial,
          stopped_because: why.reason,
          worker_ended_at: at,
          ended_at: at,
          verifier: bySystem,
          qc_epoch: locked.value.epoch,
          deliverable_hash: hash,
        });
        const said: Said = {
          verdict: "FAIL",
          score: 0,
          feedback: why.reason,
          issues: [why.reason],
          requiredFixes: [],
          evidence: [],
        };
        const given = {
          attempt: { ...attempt, deliverable_hash: hash },
          said,
          judged: { outcome: "FAIL" as const, objections: [why.reason] },
          causedBy: [],
        };
        await keepVerdict(tx, deps, given, bySystem);
        return tasks.step(fence.task, { type: "reject", score: 0, feedback: why.reason }, bySystem, locked.value.epoch);
      }),
    );
  }

  return { begin, submitOutput, completeWork, failWork };
}

const untouched = {
  ...{ phase: "worker_executing" as const, output: null, output_characters: null, deliverable_hash: null },
  ...{
    claims: "[]",
    decisions: "[]",
    cites: "[]",
    files_changed: "[]",
    branch: null,
    commit_id: null,
    worker_ended_at: null,
  },
  ...{ duration_ms: null, input_tokens: null, output_tokens: null, tool_calls: null, messages: null },
  ...{ context_tokens: null, cost_usd: null, stopped_because: null, partial: null, verifier: null, topics: "[]" },
  ...{ qc_epoch: null, qc_started_at: null, ended_at: null, error_context: null, learnt_at: null },
};

const deliverableColumns = (made: Deliverable) => ({
  deliverable_hash: made.hash,
  files_changed: JSON.stringify(made.filesChanged),
  branch: made.branch,
  commit_id: made.commit,
});
