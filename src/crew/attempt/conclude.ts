import { crashPoint } from "../../store/disk/crash.ts";
import { attemptsOf, runTask } from "../../store/queries/runs.ts";
import { aboutTask, deliverableHash, mergeMessage, type Stage } from "./attempt.ts";
import type { Crew } from "./crew.ts";
import { learn } from "./learn.ts";
import { keepText } from "./text-deliverable.ts";

/** What passed is merged and accepted; what failed is tried again, or given up with a report of why. */
export async function conclude(crew: Crew, id: string, actor: string): Promise<Stage> {
  const { app, trees } = crew;
  const record = app.attempts;
  const [detail, task] = await Promise.all([runTask(app.db.read, id), app.tasks.find(id)]);
  if (!detail || !task) return {};
  const about = aboutTask(detail, task.title);
  const attempt = (await attemptsOf(app.db.read, { task: id })).findLast((row) => row.phase !== "abandoned");
  if (task.state === "qc_passed" && attempt) {
    const tip = attempt.branch ? await trees.tip(attempt.branch, attempt.commit_id) : undefined;
    const hash = deliverableHash(detail, tip?.tree ?? "", attempt.output ?? "");
    if (tip && hash === attempt.deliverable_hash) {
      const merged = await trees.merge(detail.run_id, tip.commit, mergeMessage(detail, task.title, attempt));
      if (!merged.ok) {
        await record.refuseAccepted({ task: id, epoch: attempt.epoch }, merged.problem.message, actor);
        crew.tell({ kind: "merge-conflict", ...about, attempt: attempt.attempt, reason: merged.problem.message });
      }
    }
    crashPoint("crew-merged");
    if (hash === attempt.deliverable_hash) await keepText(app, detail, task.title, attempt);
    const accepted = await record.accept(id, hash, actor);
    if (accepted.ok) {
      crew.tell({ kind: "accepted", ...about, attempt: attempt.attempt });
      if (attempt.branch) await trees.forget(attempt.branch);
      crashPoint("crew-accepted");
      await learn(crew, id);
      return {};
    }
  }
  crashPoint("crew-failed");
  const settled = await record.settle(id, actor);
  if (!settled.ok) return {};
  const { state } = settled.value.task;
  const reason = settled.value.error.summary;
  crew.tell({ kind: state === "failed" ? "given-up" : "retry", ...about, attempt: task.attempt, reason });
  if (state === "failed") await learn(crew, id);
  return {};
}
