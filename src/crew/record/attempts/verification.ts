import { ok, type Result, refuse } from "../../../kernel/result.ts";
import type { AttemptRow, VerdictRow } from "../../../store/crew-tables.ts";
import type { Query } from "../../../store/database.ts";
import { recordingLate } from "../../../store/fence.ts";
import { attemptsOf, checksOf, runTask } from "../../../store/queries/runs.ts";
import type { Task } from "../../../tasks/task.ts";
import { type CheckResult, type Judged, judge, type Said, topicCriteria } from "../../rules/verdict.ts";
import { type CrewDeps, tasksWithin } from "../deps.ts";
import type { Fence } from "../facts.ts";
import { openTopics } from "../open-topics.ts";
import { attemptLedger, late } from "./ledger.ts";

/** The verifier's side of an attempt. */
export function verificationRecord(deps: CrewDeps) {
  const { db } = deps;
  const { stamp, event, update } = attemptLedger(deps);

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
    return recordingLate(deps, { name: verifier, ...fence }, "verdict", () =>
      db.write(async (tx) => {
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
        await keepVerdict(tx, deps, { attempt, said, judged, causedBy }, verifier);
        await update(
          tx,
          { task: fence.task, epoch: attempt.epoch },
          { phase: passes ? "qc_passed" : "qc_failed", ended_at: stamp() },
        );
        return ok({ ...judged, task: moved.value });
      }),
    );
  }

  return { claimQc, recordChecks, submitVerdict };
}

export async function keepVerdict(
  tx: Query,
  deps: CrewDeps,
  given: { attempt: AttemptRow; said: Said; judged: Judged; causedBy: string[] },
  verifier: string,
): Promise<void> {
  const { stamp, event } = attemptLedger(deps);
  const { attempt, said, judged, causedBy } = given;
  const row: VerdictRow = {
    ...{
      id: deps.newId("verdict"),
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
