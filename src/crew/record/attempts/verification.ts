import { ok, type Result, refuse } from "../../../kernel/result.ts";
import { snakeKeys } from "../../../kernel/wire.ts";
import { newClaim } from "../../../store/claim-secret.ts";
import type { CheckResultRow } from "../../../store/crew-tables.ts";
import type { Query } from "../../../store/database.ts";
import { holdClaim, recordingRefused } from "../../../store/fence.ts";
import { type Attempt, attemptsOf, lastAttempt, updateAttempt } from "../../../store/queries/attempts.ts";
import { runTask } from "../../../store/queries/runs.ts";
import { checksOf, insertVerdict, saveChecks } from "../../../store/queries/verdicts.ts";
import { claimOf, fencedStep, freeExpired, moveOne } from "../../../tasks/moves.ts";
import type { Task } from "../../../tasks/task.ts";
import { type CheckResult, type Judged, judge, type Said, topicCriteria } from "../../rules/verdict.ts";
import { type CrewDeps, moving } from "../deps.ts";
import type { Fence } from "../facts.ts";
import { openTopics } from "../open-topics.ts";
import { attemptLedger, late } from "./ledger.ts";

/** The verifier's side of an attempt. */
export function verificationRecord(deps: CrewDeps) {
  const { db, claims } = deps;
  const { stamp, event } = attemptLedger(deps);

  /** Claims a task for a verifier, who must not be its worker. */
  async function claimQc(
    id: string,
    verifier: string,
    leaseMs = claims.leaseMs,
  ): Promise<Result<{ epoch: number; secret: string; attempt: Attempt }>> {
    return db.write(async (tx) => {
      const attempt = await lastAttempt(tx, id);
      if (!attempt) return refuse("not_found", `task ${id} has no attempt to verify`);
      if (attempt.worker === verifier)
        return refuse("denied", `${verifier} did the work on task ${id} and may not verify it`);
      await freeExpired(tx, moving(deps));
      const { secret, claim } = newClaim(leaseMs);
      const claimed = await moveOne(tx, moving(deps), claimOf(id, verifier, claim));
      if (!claimed.ok) return claimed;
      if (claimed.value.state !== "qc_executing") return refuse("conflict", `task ${id} is not ready to be verified`);
      const { epoch } = claimed.value;
      const change = {
        phase: "qc_executing" as const,
        verifier,
        qc_epoch: epoch,
        qc_started_at: stamp(),
        topics: await openTopics(tx, attempt),
      };
      await updateAttempt(tx, id, attempt.epoch, change);
      await event(tx, verifier, "attempt-qc-started", id, {
        attempt: attempt.attempt,
        epoch,
        deliverable: attempt.deliverable_hash,
      });
      return ok({ epoch, secret, attempt: { ...attempt, ...change } });
    });
  }

  /** Stores the results of the plan's checks on an attempt, under the verifier's claim. */
  async function recordChecks(
    fence: Fence,
    { task_id: task, epoch }: Attempt,
    results: (CheckResult & { durationMs: number })[],
    actor: string,
  ): Promise<Result<true>> {
    if (results.length === 0) return ok(true);
    const at = stamp();
    const rows = results.map(
      (one): CheckResultRow => ({
        task_id: task,
        epoch,
        criterion: one.criterion,
        deliverable_hash: one.deliverableHash,
        passed: one.passed ? 1 : 0,
        detail: one.detail,
        duration_ms: Math.round(one.durationMs),
        at,
      }),
    );
    const claimant = { name: actor, ...fence };
    return recordingRefused(deps, claimant, "checks", () =>
      db.write(async (tx) => {
        const held = await holdClaim(tx, db.engine, claimant);
        if (!held.ok) return held;
        await saveChecks(tx, rows);
        await event(tx, actor, "checks-run", task, {
          epoch,
          results: results.map(({ criterion, passed }) => ({ criterion, passed })),
        });
        return ok(true as const);
      }),
    );
  }

  /** Stores a verdict under the verifier's claim; the rules decide whether it is a PASS. */
  async function submitVerdict(
    fence: Fence,
    said: Said,
    causedBy: string[],
    verifier: string,
  ): Promise<Result<Judged & { task: Task }>> {
    return recordingRefused(deps, { name: verifier, ...fence }, "verdict", () =>
      db.write(async (tx) => {
        const attempt = (await attemptsOf(tx, { task: fence.task })).find(
          (row) => row.qc_epoch === fence.epoch && row.phase === "qc_executing",
        );
        const detail = await runTask(tx, fence.task);
        if (!attempt || !detail) return late(fence);
        const checks = (await checksOf(tx, fence.task, attempt.epoch)).map(checkFrom);
        const judged = judge({
          said,
          checks,
          criteria: [...detail.criteria, ...topicCriteria(attempt.topics)],
          deliverableHash: attempt.deliverable_hash ?? "",
          deliverable: detail.deliverable,
          output: attempt.output ?? "",
          worker: attempt.worker,
          verifier,
        });
        const passes = judged.outcome === "PASS";
        const { score, feedback } = said;
        const step = { type: passes ? ("pass" as const) : ("reject" as const), score, feedback };
        const moved = await moveOne(tx, moving(deps), fencedStep(fence.task, step, verifier, fence));
        if (!moved.ok) return moved;
        await storeVerdict(tx, attempt, { said, judged, causedBy }, verifier);
        const phase = passes ? "qc_passed" : "qc_failed";
        await updateAttempt(tx, fence.task, attempt.epoch, { phase, ended_at: stamp() });
        return ok({ ...judged, task: moved.value });
      }),
    );
  }

  async function storeVerdict(
    tx: Query,
    attempt: Attempt,
    { said, judged, causedBy }: { said: Said; judged: Judged; causedBy: string[] },
    verifier: string,
  ): Promise<void> {
    const deliverable = attempt.deliverable_hash ?? "";
    await insertVerdict(tx, {
      id: deps.newId("verdict"),
      run_id: attempt.run_id,
      task_id: attempt.task_id,
      epoch: attempt.epoch,
      attempt: attempt.attempt,
      deliverable_hash: deliverable,
      verifier,
      said: said.verdict,
      outcome: judged.outcome,
      score: said.score,
      feedback: said.feedback,
      issues: said.issues,
      required_fixes: said.requiredFixes,
      evidence: said.evidence,
      caused_by: causedBy,
      objections: judged.objections,
      at: stamp(),
      voided_at: null,
      void_reason: null,
    });
    await event(tx, verifier, "verdict-given", attempt.task_id, {
      ...snakeKeys(said),
      ...judged,
      attempt: attempt.attempt,
      deliverable,
      caused_by: causedBy,
    });
  }

  return { claimQc, recordChecks, submitVerdict };
}

const checkFrom = (row: CheckResultRow): CheckResult => ({
  criterion: row.criterion,
  passed: row.passed === 1,
  detail: row.detail,
  deliverableHash: row.deliverable_hash,
});
