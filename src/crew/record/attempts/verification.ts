import { ok, type Result, refuse } from "../../../kernel/result.ts";
import { snakeKeys } from "../../../kernel/wire.ts";
import { newClaim } from "../../../store/claim-secret.ts";
import type { CheckResultRow } from "../../../store/crew-tables.ts";
import { keepWrites, type Query } from "../../../store/database.ts";
import { holdClaim, recordingRefused } from "../../../store/fence.ts";
import { type Attempt, attemptsOf, lastAttempt, updateAttempt } from "../../../store/queries/attempts.ts";
import { runTask } from "../../../store/queries/runs.ts";
import { checksOf, insertVerdict, saveChecks } from "../../../store/queries/verdicts.ts";
import { claimOf, fencedStep, freeExpired, moveOne } from "../../../tasks/moves.ts";
import type { State } from "../../../tasks/task.ts";
import { type CheckResult, type Judged, judge, type Said, type Seen, topicCriteria } from "../../rules/verdict.ts";
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

  /**
   * Stores a verdict under the verifier's claim; the rules decide whether it is a PASS. A verdict with faults is
   * refused once, so that its verifier can correct it. After that it is stored as void: the task stays with the
   * crew, which asks another verifier, and the worker's attempt is not touched.
   */
  async function submitVerdict(
    fence: Fence,
    { said, causedBy }: { said: Said; causedBy: string[] },
    { name: verifier, context, seen, scratch }: Verifier,
  ): Promise<Result<Judged & { state: State }>> {
    return recordingRefused(deps, { name: verifier, ...fence }, "verdict", () =>
      db.write(async (tx): Promise<Result<Judged & { state: State }>> => {
        const attempt = await verifiedAttempt(tx, fence);
        const detail = await runTask(tx, fence.task);
        if (!attempt || !detail) return late(fence);
        const checks = (await checksOf(tx, fence.task, attempt.epoch)).map(checkFrom);
        const judged = judge({
          said,
          checks,
          criteria: [...detail.criteria, ...topicCriteria(attempt.topics)],
          deliverableHash: attempt.deliverable_hash ?? "",
          deliverable: detail.deliverable,
          filesChanged: attempt.files_changed,
          output: attempt.output ?? "",
          worker: attempt.worker,
          verifier,
          seen,
        });
        if (judged.faults.length === 0)
          return conclude(tx, fence, attempt, { said, judged, causedBy, scratch }, verifier);
        const held = await holdClaim(tx, db.engine, { name: verifier, ...fence });
        if (!held.ok) return held;
        const refused = attempt.refused_verdicts;
        if (refused.some((one) => one.context === context && one.epoch === fence.epoch)) {
          await storeVerdict(tx, attempt, { said, judged, causedBy, scratch }, verifier, voidReason(judged.faults));
          return ok({ ...judged, state: "qc_executing" });
        }
        const { faults } = judged;
        const entry = { context, epoch: fence.epoch, at: stamp(), faults };
        await updateAttempt(tx, fence.task, attempt.epoch, { refused_verdicts: [...refused, entry] });
        await event(tx, verifier, "verdict-refused", fence.task, { attempt: attempt.attempt, faults });
        return keepWrites(refuse("invalid", `${faults.join("; ")}. ${correctOnce}`, { faults }));
      }),
    );
  }

  /** Stores a FAIL that the rules give without asking a verifier. */
  const failByRule = (fence: Fence, said: Said, objections: string[], verifier: string): Promise<Result<Judged>> =>
    recordingRefused(deps, { name: verifier, ...fence }, "verdict", () =>
      db.write(async (tx) => {
        const attempt = await verifiedAttempt(tx, fence);
        if (!attempt) return late(fence);
        const judged: Judged = { outcome: "FAIL", objections, faults: [] };
        return conclude(tx, fence, attempt, { said, judged, causedBy: [], scratch: null }, verifier);
      }),
    );

  const verifiedAttempt = async (tx: Query, { task, epoch }: Fence): Promise<Attempt | undefined> =>
    (await attemptsOf(tx, { task })).find((row) => row.qc_epoch === epoch && row.phase === "qc_executing");

  async function conclude(tx: Query, fence: Fence, attempt: Attempt, given: GivenVerdict, verifier: string) {
    const { said, judged } = given;
    const passes = judged.outcome === "PASS";
    const { score, feedback } = said;
    const step = { type: passes ? ("pass" as const) : ("reject" as const), score, feedback };
    const moved = await moveOne(tx, moving(deps), fencedStep(fence.task, step, verifier, fence));
    if (!moved.ok) return moved;
    await storeVerdict(tx, attempt, given, verifier, null);
    const phase = passes ? "qc_passed" : "qc_failed";
    await updateAttempt(tx, fence.task, attempt.epoch, { phase, ended_at: stamp() });
    return ok({ ...judged, state: moved.value.state });
  }

  async function storeVerdict(
    tx: Query,
    attempt: Attempt,
    { said, judged, causedBy, scratch }: GivenVerdict,
    verifier: string,
    void_reason: string | null,
  ): Promise<void> {
    const deliverable = attempt.deliverable_hash ?? "";
    const id = deps.newId("verdict");
    const at = stamp();
    const objections = [...judged.objections, ...judged.faults];
    await insertVerdict(tx, {
      id,
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
      objections,
      at,
      voided_at: void_reason === null ? null : at,
      void_reason,
      scratch,
    });
    await event(tx, verifier, "verdict-given", attempt.task_id, {
      ...snakeKeys(said),
      outcome: judged.outcome,
      objections,
      attempt: attempt.attempt,
      deliverable,
      caused_by: causedBy,
    });
    if (void_reason !== null)
      await event(tx, verifier, "verdict-voided", attempt.task_id, { verdict_id: id, reason: void_reason });
  }

  return { claimQc, recordChecks, submitVerdict, failByRule };
}

/** The agent that gives a verdict, the record of what it saw, and the files that it wrote, as a patch. */
type Verifier = { name: string; context: string | null; seen: Seen; scratch: string | null };
type GivenVerdict = { said: Said; judged: Judged; causedBy: string[]; scratch: string | null };

const voidReason = (faults: string[]) => `the verifier's evidence is not in the record: ${faults.join("; ")}`;
const correctOnce =
  "Nothing was saved. Correct the evidence and submit the verdict again; if it still cannot be found, the verdict is void and another verifier is asked";

const checkFrom = (row: CheckResultRow): CheckResult => ({
  criterion: row.criterion,
  passed: row.passed === 1,
  detail: row.detail,
  deliverableHash: row.deliverable_hash,
});
