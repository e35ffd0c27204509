import { snakeKeys } from "../../../kernel/wire.ts";
import type { Query } from "../../database.ts";
import { agentReportsOf } from "../agent-reports.ts";
import { type Attempt, attemptsOf } from "../attempts.ts";
import { runTask } from "../runs.ts";
import { verdictsOf } from "../verdicts.ts";

/** Answers cut longer texts; this bounds what is read for one. */
const longestOutput = 50_000;

/**
 * The fields of O5 on the node of a run's task, read from its record: nothing is copied, so nothing can contradict it.
 * The secret of a claim and the planner's notes are not among them.
 */
export async function taskDetails(query: Query, id: string): Promise<Record<string, unknown>> {
  const detail = await runTask(query, id);
  const dependencies = await query
    .selectFrom("task_dependencies")
    .select("depends_on")
    .where("task_id", "=", id)
    .orderBy("depends_on")
    .execute();
  const dependsOn = dependencies.map(({ depends_on }) => `task:${depends_on}`);
  if (!detail) return dependsOn.length === 0 ? {} : { depends_on: dependsOn };
  const of = { task: id };
  const [all, verdicts, reports] = await Promise.all([
    attemptsOf(query, of),
    verdictsOf(query, of),
    agentReportsOf(query, of),
  ]);
  const attempts = all.filter(({ phase }) => phase !== "abandoned");
  const last = attempts.at(-1);
  const verdict = verdicts.findLast(({ voided_at }) => voided_at === null);
  const written = (kind: string) => reports.findLast((one) => one.kind === kind)?.content ?? null;
  return present({
    depends_on: dependsOn,
    deliverable: detail.deliverable,
    verification: detail.criteria,
    phase: last?.phase,
    retry_reason: last?.retry_reason,
    output: (last?.output ?? last?.partial)?.slice(0, longestOutput),
    stopped_because: last?.stopped_because,
    files_changed: last?.files_changed,
    commit: last?.commit_id,
    qc_outcome: verdict?.outcome,
    qc_feedback: verdict?.feedback,
    qc_issues: verdict && [...verdict.issues, ...verdict.objections],
    qc_required_fixes: verdict?.required_fixes,
    qc_attempt_metrics: attempts.map((row) => metricsOf(row, verdicts)),
    qc_failure_report: detail.failure && { facts: snakeKeys(detail.failure), analysis: written("qc_failure") },
    pm_failure_analysis: written("pm_failure"),
  });
}

const metricsOf = (row: Attempt, verdicts: Awaited<ReturnType<typeof verdictsOf>>) =>
  present({
    attempt: row.attempt,
    phase: row.phase,
    score: verdicts.findLast(({ epoch }) => epoch === row.epoch)?.score,
    duration_ms: row.duration_ms,
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    tool_calls: row.tool_calls,
    messages: row.messages,
    context_tokens: row.context_tokens,
  });

/** As nodes are: without the properties that have no value. */
const present = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
