import type { Query } from "../../store/database.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { lastAttempt } from "../../store/queries/attempts.ts";
import { type RunTask, runTask } from "../../store/queries/runs.ts";
import type { Task } from "../../tasks/task.ts";
import { returnReason } from "../rules/failure.ts";
import {
  aboutTask,
  deliverableHash,
  done,
  held,
  lost,
  released,
  type StageResult,
  stop,
  unreachable,
} from "./attempt.ts";
import type { Crew } from "./crew.ts";
import { gateOf, gateReason } from "./gate.ts";
import { learn } from "./learn.ts";
import { mergePassed, stopped } from "./merge.ts";
import { isDeliverablesFault, isSetupFailure } from "./setups.ts";
import { heldFilesOf, heldReason, refusedFiles } from "./steering.ts";
import { keepText } from "./text-deliverable.ts";
import { writeFailureReports } from "./write-reports.ts";

/** Merges and accepts an attempt that passed; retries one that failed, or gives up with failure reports. */
export async function conclude(crew: Crew, id: string, actor: string, signal: AbortSignal): Promise<StageResult> {
  const { app } = crew;
  const [detail, task] = await Promise.all([runTask(app.db.read, id), app.tasks.find(id)]);
  if (!detail || !task) return stop(`task ${id} does not belong to a plan`);
  const failed = () => settle(crew, detail, task, actor, signal);
  if (task.state === "qc_passed") return accept(crew, detail, task, { actor, signal }, failed);
  return task.state === "qc_failed" ? failed() : lost;
}

async function accept(
  crew: Crew,
  detail: RunTask,
  task: Task,
  { actor, signal }: { actor: string; signal: AbortSignal },
  failed: () => Promise<StageResult>,
): Promise<StageResult> {
  const { app, trees } = crew;
  const about = aboutTask(detail, task.title);
  const attempt = await lastAttempt(app.db.read, task.id);
  if (attempt?.phase !== "qc_passed") return lost;
  const there = await trees.reach(detail.run_id, [attempt.commit_id]);
  if (!there.ok) return unreachable(there.problem);
  const tip = attempt.branch ? await trees.tip(detail.run_id, attempt.branch, attempt.commit_id) : undefined;
  const hash = deliverableHash(detail, tip?.tree ?? "", attempt.output ?? "");
  // With another hash nothing is merged: `accept` below voids the verdict.
  const isJudged = hash === attempt.deliverable_hash;
  const files = await heldFilesOf(crew, detail, attempt);
  if (files?.decision === null) return held(heldReason(detail, files));
  const refuseIt = async (reason: string, onVoid?: () => void) => {
    const refused = await app.attempts.refuseAccepted(attempt, reason, actor);
    if (!refused.ok && refused.problem.details?.voided !== undefined) onVoid?.();
    return failed();
  };
  const accept = (tx: Query) => app.attempts.acceptWithin(tx, { id: task.id, epoch: attempt.epoch, hash }, actor);
  if (files?.decision === "refused") return refuseIt(refusedFiles(files).feedback);
  const gate = isJudged ? await gateOf(crew, detail, attempt) : undefined;
  if (gate?.decision === null) {
    crew.tell({ kind: "gate-reached", ...about, attempt: attempt.attempt });
    return held(gateReason(detail));
  }
  if (gate?.decision === "returned") return refuseIt(returnReason(gate));
  if (tip && isJudged) {
    const merged = await mergePassed(crew, { detail, title: task.title, attempt, tip, signal, accept });
    if (!merged.ok) {
      if (signal.aborted) return released(stopped);
      // The dependencies of the merged files could not be installed, which says nothing about the work.
      if (isSetupFailure(merged.problem) && !isDeliverablesFault(merged.problem.details))
        return stop(merged.problem.message);
      const reason = merged.problem.message;
      return refuseIt(reason, () => crew.tell({ kind: "merge-conflict", ...about, attempt: attempt.attempt, reason }));
    }
  } else {
    if (isJudged) await keepText(app, detail, task.title, attempt);
    const accepted = await app.db.write(accept);
    if (!accepted.ok) return failed();
  }
  crew.tell({ kind: "accepted", ...about, attempt: attempt.attempt });
  if (attempt.branch) await trees.forget(attempt.branch);
  crashPoint("crew-accepted");
  await learn(crew, task.id);
  return done;
}

async function settle(
  crew: Crew,
  detail: RunTask,
  { id, title, attempt }: Task,
  actor: string,
  signal: AbortSignal,
): Promise<StageResult> {
  crashPoint("crew-failed");
  const settled = await crew.app.attempts.settle(id, actor);
  if (!settled.ok) return settled.problem.code === "not_found" ? stop(settled.problem.message) : lost;
  const hasFailed = settled.value.task.state === "failed";
  const reason = settled.value.error.summary;
  crew.tell({ kind: hasFailed ? "given-up" : "retry", ...aboutTask(detail, title), attempt, reason });
  if (hasFailed) {
    await learn(crew, id);
    await writeFailureReports(crew, id, signal);
  }
  return done;
}
