import type { CheckResultRow, ErrorContext, Failure } from "../../store/crew-tables.ts";
import type { Attempt } from "../../store/queries/attempts.ts";
import type { Verdict } from "../../store/queries/verdicts.ts";
import { verifierSaysFail } from "./verdict.ts";

export function errorContext(attempt: Attempt, verdict: Verdict | undefined, checks: CheckResultRow[]): ErrorContext {
  const objections = verdict?.objections ?? [];
  const failed = checks.filter((one) => one.passed === 0 && one.deliverable_hash === attempt.deliverable_hash);
  const issues = [...new Set([...(verdict?.issues ?? []), ...objections.filter((one) => one !== verifierSaysFail)])];
  const reason =
    verdict?.void_reason ?? attempt.stopped_because ?? issues[0] ?? verdict?.feedback ?? "the attempt failed";
  const evidence = verdict?.evidence ?? [];
  return {
    attempt: attempt.attempt,
    summary: reason,
    score: verdict?.score ?? null,
    feedback: verdict?.feedback ?? "",
    issues: verdict?.void_reason ? [verdict.void_reason, ...issues] : issues,
    requiredFixes: verdict?.required_fixes ?? [],
    checks: failed.map(({ criterion, detail }) => ({ criterion, detail })),
    evidence: evidence.filter((one) => !one.met).map(({ criterion, quote, from }) => ({ criterion, quote, from })),
    output: attempt.partial ?? attempt.output ?? "",
    stoppedBecause: attempt.stopped_because,
  };
}

/** The attempts of a failed task in retrospect: timeline, scores, causes and what to do. */
export function failureOf(attempts: Attempt[], verdicts: Verdict[]): Failure {
  const rounds = attempts.filter((row) => row.phase !== "abandoned");
  const verdictOf = (row: Attempt) => verdicts.findLast((verdict) => verdict.epoch === row.epoch);
  const scores = rounds.flatMap((row) => verdictOf(row)?.score ?? []);
  return {
    timeline: rounds.map((row) => {
      const verdict = verdictOf(row);
      return {
        attempt: row.attempt,
        at: row.started_at,
        worker: row.worker,
        verifier: row.verifier,
        score: verdict?.score ?? null,
        outcome: verdict?.voided_at ? "void" : (verdict?.outcome ?? (row.stopped_because ? "stopped" : row.phase)),
        reason: verdict?.void_reason ?? row.stopped_because ?? verdict?.objections[0] ?? "",
      };
    }),
    scores: {
      lowest: scores.length === 0 ? null : Math.min(...scores),
      highest: scores.length === 0 ? null : Math.max(...scores),
      average: scores.length === 0 ? null : Math.round(scores.reduce((sum, one) => sum + one, 0) / scores.length),
      progression: scores,
    },
    rootCauses: causes(rounds, verdictOf),
    recommendations: recommendations(rounds, verdictOf, scores),
  };
}

type VerdictFor = (row: Attempt) => Verdict | undefined;

/** Causes that recurred in more attempts first. */
function causes(rounds: Attempt[], verdictOf: VerdictFor): Failure["rootCauses"] {
  const found = new Map<string, number[]>();
  for (const row of rounds) {
    const verdict = verdictOf(row);
    const voided = verdict?.void_reason ? [verdict.void_reason] : [];
    const said = row.stopped_because
      ? [row.stopped_because]
      : [...voided, ...(verdict?.issues ?? []), ...(verdict?.objections ?? [])];
    for (const cause of new Set(said.filter((one) => one !== verifierSaysFail)))
      found.set(cause, [...(found.get(cause) ?? []), row.attempt]);
  }
  return [...found]
    .map(([cause, attempts]) => ({ cause, attempts }))
    .sort((a, b) => b.attempts.length - a.attempts.length)
    .slice(0, 10);
}

function recommendations(rounds: Attempt[], verdictOf: VerdictFor, scores: number[]): string[] {
  const said: string[] = [];
  const last = rounds.at(-1);
  const fixes = last ? (verdictOf(last)?.required_fixes ?? []) : [];
  said.push(...fixes.map((fix) => `apply the fix of the last verdict: ${fix}`));
  const stopped = rounds.filter((row) => row.stopped_because !== null);
  if (stopped.length > 0)
    said.push(
      `split the task or raise its estimate: ${stopped.length} of ${rounds.length} attempts were stopped at a limit`,
    );
  const [first = 0] = scores;
  if (scores.length > 1 && scores.every((score) => score <= first))
    said.push("change the requirements before the next attempt: the score never improved");
  if (scores.length > 1 && (scores.at(-1) ?? 0) > first)
    said.push("another attempt may succeed: the score was improving");
  return said.length > 0 ? said : ["read the verdicts and change the task's requirements"];
}

/** The consequences of a failed task for the run. */
export type Impact = {
  blocked: { number: string; title: string }[];
  delay: string;
  risk: "low" | "medium" | "high";
  nextActions: string[];
  lessons: string[];
};

type Behind = { number: string; title: string; dependsOn: string[]; estimatedToolCalls: number | null };

/** The tasks behind the failed one, direct or not, and the effect on the run. */
export function impactOf(lost: { number: string; title: string }, tasks: Behind[], failure: Failure): Impact {
  const blocked = behind(lost.number, tasks);
  const share = tasks.length === 0 ? 0 : blocked.length / tasks.length;
  const calls = blocked.reduce((sum, task) => sum + (task.estimatedToolCalls ?? 0), 0);
  const recurring = failure.rootCauses.filter((one) => one.attempts.length > 1);
  return {
    blocked: blocked.map(({ number, title }) => ({ number, title })),
    delay:
      blocked.length === 0
        ? "none: no task depends on it"
        : `${blocked.length} tasks cannot start${calls > 0 ? `, about ${calls} tool calls of work` : ""}`,
    risk: share >= 0.5 ? "high" : blocked.length > 0 ? "medium" : "low",
    nextActions: [
      ...failure.recommendations,
      `change task ${lost.number} in the plan and retry it: scriptorium task retry, then scriptorium run resume`,
    ],
    lessons:
      recurring.length > 0
        ? recurring.map((one) => `seen in attempts ${one.attempts.join(", ")}: ${one.cause}`)
        : ["no recurring cause; the attempts failed for different reasons"],
  };
}

function behind(number: string, tasks: Behind[]): Behind[] {
  const found = new Map<string, Behind>();
  const waiting = [number];
  while (waiting.length > 0) {
    const at = waiting.pop();
    for (const task of tasks) {
      if (!task.dependsOn.includes(at ?? "") || found.has(task.number)) continue;
      found.set(task.number, task);
      waiting.push(task.number);
    }
  }
  return tasks.filter((task) => found.has(task.number));
}
