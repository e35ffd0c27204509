import { createHash } from "node:crypto";
import { ok, type Result, refuse } from "../result.ts";
import type { AttemptRow, VerdictRow } from "../store/crew-tables.ts";
import type { Query } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import { attemptsOf, checksOf, runTask, verdictsOf } from "../store/runs.ts";
import { lockTasks } from "../store/tasks.ts";
import type { Task } from "../tasks/task.ts";
import { type CrewDeps, tasksWithin } from "./deps.ts";
import { type ErrorContext, errorContext, failureOf } from "./failure.ts";
import { openTopics } from "./topics.ts";
import { type CheckResult, type Claim, type Judged, judge, type Said, topicCriteria } from "./verdict.ts";

/** What a write is made under: the claim on a task. A newer claim makes it refusable. */
export type Fence = { task: string; epoch: number };

/** What an agent used; null is not known. */
export type Spent = {
  durationMs: number;
  inputTokens: number | null;
  outputTokens: number | null;
  toolCalls: number | null;
  messages: number | null;
  contextTokens: number | null;
  costUsd: number | null;
};

export type Output = { output: string; claims: Claim[]; decisions: string[]; cites: string[] };

/** What became of the files, as git tells it. */
export type Deliverable = { hash: string; filesChanged: string[]; branch: string | null; commit: string | null };

export const longestOutput = 50_000;
export const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

/**
 * Every phase of an attempt, recorded by the system in the transaction that moves the task (O5). An
 * agent only ever adds its output or its verdict; what those lead to is decided here.
 */
export function crewRecord(deps: CrewDeps) {
  const { db, now, newId } = deps;
  const stamp = () => now().toISOString();

  const event = (tx: Query, actor: string, kind: string, task: string, data: Record<string, unknown>) =>
    appendEvent(tx, { at: stamp(), actor, kind, subject: `task:${task}`, data });

  const update = (tx: Query, { task, epoch }: Fence, change: Partial<AttemptRow>) =>
    tx.updateTable("attempts").set(change).where("task_id", "=", task).where("epoch", "=", epoch).execute();

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
      const reason = JSON.parse(task.result).reason;
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
      const data = { attempt: task.attempt, epoch, isRetry: task.attempt > 1, retryReason };
      await event(tx, worker, "attempt-started", id, data);
      return ok({ attempt: task.attempt, retryReason });
    });
  }

  /** What the worker says it made. It can say so again until its work is over; the last word counts. */
  async function submitOutput(fence: Fence, said: Output, actor: string): Promise<Result<{ attempt: number }>> {
    return db.write(async (tx) => {
      const [task] = await lockTasks(tx, db.engine, [fence.task]);
      if (!task) return refuse("not_found", `there is no task ${fence.task}`);
      const [attempt] = await mine(tx, fence);
      if (task.epoch !== fence.epoch || task.state !== "worker_executing" || !attempt)
        return late(fence.task, fence.epoch);
      await update(tx, fence, {
        output: cut(said.output),
        output_characters: said.output.length,
        claims: JSON.stringify(said.claims),
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
    return db.write(async (tx) => {
      const [attempt] = await mine(tx, fence);
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
      await event(tx, actor, "attempt-worker-completed", fence.task, { attempt: attempt.attempt, ...made, ...spent });
      return moved;
    });
  }

  /** The worker was stopped, or ended with nothing: the attempt has failed, and what there is of it goes to the next one. */
  async function failWork(
    fence: Fence,
    why: { reason: string; partial: string },
    spent: Spent,
    actor: string,
  ): Promise<Result<Task>> {
    return db.write(async (tx) => {
      const [attempt] = await mine(tx, fence);
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
      await keepVerdict(tx, given, bySystem);
      return tasks.step(fence.task, { type: "reject", score: 0, feedback: why.reason }, bySystem, locked.value.epoch);
    });
  }

  /** A verifier takes the task: never the one who did the work. */
  async function claimQc(
    id: string,
    verifier: string,
    ms?: number,
  ): Promise<Result<{ epoch: number; attempt: AttemptRow }>> {
    return db.write(async (tx) => {
      const attempt = (await attemptsOf(tx, { task: id })).findLast((row) => row.phase !== "abandoned");
      if (!attempt) return refuse("not_found", `task ${id} has no attempt to verify`);
      if (attempt.worker === verifier)
        return refuse("denied", `${verifier} did the work on task ${id} and cannot verify it; another agent does`);
      const locked = await tasksWithin(tx, deps).lock(id, verifier, ms);
      if (!locked.ok) return locked;
      if (!("epoch" in locked.value))
        return refuse("conflict", `task ${id} is held by ${locked.value.holder}`, locked.value);
      if (locked.value.task.state !== "qc_executing")
        return refuse("conflict", `task ${id} is not ready to be verified`);
      const { epoch } = locked.value;
      const topics = JSON.stringify(await openTopics(tx, attempt));
      const change = { phase: "qc_executing" as const, verifier, qc_epoch: epoch, qc_started_at: stamp(), topics };
      await update(tx, { task: id, epoch: attempt.epoch }, change);
      await event(tx, verifier, "attempt-qc-started", id, {
        attempt: attempt.attempt,
        epoch,
        deliverable: attempt.deliverable_hash,
      });
      return ok({ epoch, attempt: { ...attempt, ...change } });
    });
  }

  /** What the system found when it ran the plan's checks on the deliverable with this hash. */
  async function recordChecks(
    { task, epoch }: Fence,
    results: (CheckResult & { durationMs: number })[],
    actor: string,
  ): Promise<void> {
    if (results.length === 0) return;
    const at = stamp();
    const rows = results.map((one) => ({
      task_id: task,
      epoch,
      criterion: one.criterion,
      deliverable_hash: one.deliverableHash,
      passed: one.passed ? 1 : 0,
      detail: one.detail,
      duration_ms: Math.round(one.durationMs),
      at,
    }));
    await db.write(async (tx) => {
      await tx
        .insertInto("check_results")
        .values(rows)
        .onConflict((conflict) =>
          conflict.columns(["task_id", "epoch", "criterion", "deliverable_hash"]).doUpdateSet((x) => ({
            passed: x.ref("excluded.passed"),
            detail: x.ref("excluded.detail"),
            duration_ms: x.ref("excluded.duration_ms"),
            at: x.ref("excluded.at"),
          })),
        )
        .execute();
      await event(tx, actor, "checks-run", task, {
        epoch,
        results: results.map(({ criterion, passed }) => ({ criterion, passed })),
      });
    });
  }

  /** A verdict under the verifier's claim. The rules decide what it amounts to; the verifier is told. */
  async function submitVerdict(
    fence: Fence,
    said: Said,
    causedBy: string[],
    verifier: string,
  ): Promise<Result<Judged & { task: Task }>> {
    return db.write(async (tx) => {
      const attempt = (await attemptsOf(tx, { task: fence.task })).find(
        (row) => row.qc_epoch === fence.epoch && row.phase === "qc_executing",
      );
      const detail = await runTask(tx, fence.task);
      if (!attempt || !detail) return late(fence.task, fence.epoch);
      const checks = (await checksOf(tx, fence.task, attempt.epoch)).map(checkFrom);
      const judged = judge({
        said,
        checks,
        criteria: [...JSON.parse(detail.criteria), ...topicCriteria(JSON.parse(attempt.topics))],
        judgedHash: attempt.deliverable_hash ?? "",
        currentHash: attempt.deliverable_hash ?? "",
        deliverable: detail.deliverable,
        output: attempt.output ?? "",
        worker: attempt.worker,
        verifier,
      });
      const word = { score: said.score, feedback: said.feedback };
      const passes = judged.outcome === "PASS";
      const moved = await tasksWithin(tx, deps).step(
        fence.task,
        { type: passes ? "pass" : "reject", ...word },
        verifier,
        fence.epoch,
      );
      if (!moved.ok) return moved;
      await keepVerdict(tx, { attempt, said, judged, causedBy }, verifier);
      await update(
        tx,
        { task: fence.task, epoch: attempt.epoch },
        { phase: passes ? "qc_passed" : "qc_failed", ended_at: stamp() },
      );
      return ok({ ...judged, task: moved.value });
    });
  }

  async function keepVerdict(
    tx: Query,
    given: { attempt: AttemptRow; said: Said; judged: Judged; causedBy: string[] },
    verifier: string,
  ) {
    const { attempt, said, judged, causedBy } = given;
    const row: VerdictRow = {
      ...{
        id: newId("verdict"),
        run_id: attempt.run_id,
        task_id: attempt.task_id,
        epoch: attempt.epoch,
        attempt: attempt.attempt,
      },
      ...{ deliverable_hash: attempt.deliverable_hash ?? "", verifier, said: said.verdict, outcome: judged.outcome },
      ...{ score: said.score, feedback: said.feedback, issues: JSON.stringify(said.issues) },
      ...{ required_fixes: JSON.stringify(said.requiredFixes), evidence: JSON.stringify(said.evidence) },
      ...{ caused_by: JSON.stringify(causedBy), objections: JSON.stringify(judged.objections) },
      ...{ at: stamp(), voided_at: null, void_reason: null },
    };
    await tx.insertInto("verdicts").values(row).execute();
    await event(tx, verifier, "verdict-given", attempt.task_id, {
      ...said,
      ...judged,
      attempt: attempt.attempt,
      deliverable: row.deliverable_hash,
      causedBy,
    });
  }

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
  async function refuseAccepted(id: string, reason: string, actor: string): Promise<Result<Task>> {
    return db.write(async (tx) => {
      const verdict = (await verdictsOf(tx, { task: id })).at(-1);
      if (!verdict) return refuse("conflict", `task ${id} has no verdict`);
      const voided = await voidVerdict(tx, id, verdict, reason, actor);
      return tasksWithin(tx, deps)
        .find(id)
        .then((task) => (task?.state === "qc_failed" ? ok(task) : voided));
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
    return refuse("conflict", `task ${id}: ${reason}; its verdict is void`, { voided: verdict.id });
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

  return {
    begin,
    submitOutput,
    completeWork,
    failWork,
    claimQc,
    recordChecks,
    submitVerdict,
    accept,
    refuseAccepted,
    settle,
  };
}

export type CrewRecord = ReturnType<typeof crewRecord>;

/** Who judges what no agent needs to look at. */
export const bySystem = "scriptorium";

const late = (id: string, epoch: number) =>
  refuse("conflict", `task ${id}: epoch ${epoch} holds it no longer, or not for this; nothing was written`, {
    late: true,
  });

const mine = (tx: Query, { task, epoch }: Fence) =>
  tx.selectFrom("attempts").selectAll().where("task_id", "=", task).where("epoch", "=", epoch).execute();

const cut = (text: string) => text.slice(0, longestOutput);

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
  ...{ qc_epoch: null, qc_started_at: null, ended_at: null, error_context: null },
};

const deliverableColumns = (made: Deliverable) => ({
  deliverable_hash: made.hash,
  files_changed: JSON.stringify(made.filesChanged),
  branch: made.branch,
  commit_id: made.commit,
});

const spentColumns = (spent: Spent) => ({
  duration_ms: Math.round(spent.durationMs),
  input_tokens: spent.inputTokens,
  output_tokens: spent.outputTokens,
  tool_calls: spent.toolCalls,
  messages: spent.messages,
  context_tokens: spent.contextTokens,
  cost_usd: spent.costUsd,
});

const checkFrom = (row: {
  criterion: number;
  passed: number;
  detail: string;
  deliverable_hash: string;
}): CheckResult => ({
  criterion: row.criterion,
  passed: row.passed === 1,
  detail: row.detail,
  deliverableHash: row.deliverable_hash,
});

const totals = (attempts: AttemptRow[]) => ({
  attempts: attempts.filter((row) => row.phase !== "abandoned").length,
  durationMs: attempts.reduce((sum, row) => sum + (row.duration_ms ?? 0), 0),
  inputTokens: known(attempts.map((row) => row.input_tokens)),
  outputTokens: known(attempts.map((row) => row.output_tokens)),
  toolCalls: known(attempts.map((row) => row.tool_calls)),
  costUsd: known(attempts.map((row) => row.cost_usd)),
});

/** The sum of what is known; null when nothing is. */
export const known = (values: (number | null)[]): number | null => {
  const there = values.filter((value) => value !== null);
  return there.length === 0 ? null : there.reduce((sum, value) => sum + value, 0);
};
