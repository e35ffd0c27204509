import type { CheckResultRow, ErrorContext, Failure, GateRow } from "../../store/crew-tables.ts";
import type { Attempt } from "../../store/queries/attempts.ts";
import type { StoredContext } from "../../store/queries/contexts.ts";
import type { Verdict } from "../../store/queries/verdicts.ts";
import { normalise } from "./fingerprint.ts";
import { dependenciesOf } from "./plan.ts";
import type { Run } from "./run.ts";
import { noneAsked, verifierSaysFail } from "./verdict.ts";

export function errorContext(attempt: Attempt, verdict: Verdict | undefined, checks: CheckResultRow[]): ErrorContext {
  const voided = verdict?.void_reason ?? null;
  const failed = checks.filter((one) => one.passed === 0 && one.deliverable_hash === attempt.deliverable_hash);
  // The feedback and the evidence of a verifier that said PASS are praise, not what was wrong.
  const blame = verdict?.said === "FAIL" && voided === null ? verdict : undefined;
  const issues = voided === null ? complaintsOf(verdict) : [voided];
  return {
    attempt: attempt.attempt,
    summary: attempt.stopped_because ?? issues[0] ?? blame?.feedback ?? "the attempt failed",
    score: voided === null ? (verdict?.score ?? null) : null,
    feedback: blame?.feedback ?? "",
    issues,
    requiredFixes: blame?.required_fixes ?? (voided === null ? (verdict?.required_fixes ?? []) : []),
    checks: failed.map(({ criterion, detail }) => ({ criterion, detail })),
    evidence: (blame?.evidence ?? [])
      .filter((one) => !one.met)
      .map(({ criterion, quote, from, ref, lines }) => ({ criterion, quote, from, ref, lines })),
    output: attempt.partial ?? attempt.output ?? "",
    stoppedBecause: attempt.stopped_because,
  };
}

/** What a verdict objects to: the verifier's issues, then what the rules add about other criteria. */
function complaintsOf(verdict: Verdict | undefined): string[] {
  const found = new Map<string, string>();
  const objections = (verdict?.objections ?? []).filter((one) => one !== verifierSaysFail && !one.endsWith(noneAsked));
  for (const one of [...(verdict?.issues ?? []), ...objections])
    if (!found.has(causeKey(one))) found.set(causeKey(one), one);
  return [...found.values()];
}

/** The same for two wordings of one cause: those about one criterion, or those that differ in times and spacing only. */
const causeKey = (cause: string) => {
  const criterion = /^(?:the check of |no evidence for )?criterion (\d+)\b/.exec(cause)?.[1];
  return criterion === undefined ? normalise(cause) : `criterion ${criterion}`;
};

/** The record of one task. */
export type History = {
  attempts: Attempt[];
  verdicts: Verdict[];
  checks: CheckResultRow[];
  contexts: Pick<StoredContext, "part" | "epoch" | "ended">[];
};

/** The attempts of a failed task in retrospect: timeline, scores, causes and what to do. */
export function failureOf({ attempts, verdicts, checks, contexts }: History): Failure {
  const rounds = attempts
    .filter((row) => row.phase !== "abandoned")
    .map((row): Round => {
      const verdict = verdicts.findLast((one) => one.epoch === row.epoch);
      const failed = checks.filter((one) => one.epoch === row.epoch && one.passed === 0);
      const ended = contexts.findLast((one) => one.part === "worker" && one.epoch === row.epoch)?.ended ?? null;
      return { row, verdict, failed, ...reasonOf(row, ended, verdict, failed) };
    });
  const scores = rounds.flatMap(({ verdict }) => (verdict && verdict.voided_at === null ? verdict.score : []));
  return {
    timeline: rounds.map(({ row, verdict, causes }) => ({
      attempt: row.attempt,
      at: row.started_at,
      worker: row.worker,
      verifier: row.verifier,
      score: verdict?.score ?? null,
      outcome: verdict?.voided_at ? "void" : (verdict?.outcome ?? (row.stopped_because ? "stopped" : row.phase)),
      reason: causes[0] ?? "",
    })),
    scores: {
      lowest: scores.length === 0 ? null : Math.min(...scores),
      highest: scores.length === 0 ? null : Math.max(...scores),
      average: scores.length === 0 ? null : Math.round(scores.reduce((sum, one) => sum + one, 0) / scores.length),
      progression: scores,
    },
    rootCauses: rootCauses(rounds),
    recommendations: recommendations(rounds, scores),
  };
}

type Round = { row: Attempt; verdict: Verdict | undefined; failed: CheckResultRow[]; kind: Kind; causes: string[] };

/** Why an attempt failed; each kind has advice of its own. */
type Kind = "limit" | "loop" | "agent" | "nothing" | "merge" | "returned" | "checks" | "verdict";

function reasonOf(
  { stopped_because }: Attempt,
  ended: string | null,
  verdict: Verdict | undefined,
  failed: CheckResultRow[],
): Pick<Round, "kind" | "causes"> {
  if (stopped_because !== null) return { kind: stopKind(stopped_because, ended), causes: [stopped_because] };
  if (verdict?.void_reason && isReturn(verdict.void_reason)) return { kind: "returned", causes: [verdict.void_reason] };
  if (verdict?.void_reason) return { kind: "merge", causes: [verdict.void_reason] };
  const causes = complaintsOf(verdict);
  return { kind: failed.length > 0 ? "checks" : "verdict", causes };
}

/** Why an attempt failed that a person returned at the gate of its task. */
export const returnReason = ({ decided_by, note }: Pick<GateRow, "decided_by" | "note">) =>
  `${decided_by ?? "a person"}${returned}${note ?? ""}`;

const returned = " returned the result: ";
const isReturn = (reason: string) => reason.includes(returned);

/** `ended` is how the worker ended on record: the reason of its breaker, or a word of the runner. */
function stopKind(reason: string, ended: string | null): Kind {
  if (/identical calls/.test(reason)) return "loop";
  if (/^limit of /.test(reason) || ["limit", "timeout", "idle"].includes(ended ?? "")) return "limit";
  return /so there is nothing to verify$/.test(reason) ? "nothing" : "agent";
}

const longestOutput = 2000;

/** Causes that recurred in more attempts first, in the words and with the output of the last one. */
function rootCauses(rounds: Round[]): Failure["rootCauses"] {
  const found = new Map<string, Failure["rootCauses"][number]>();
  for (const { row, causes, failed } of rounds)
    for (const cause of causes) {
      const key = causeKey(cause);
      const check = failed.find(({ criterion }) => key === `criterion ${criterion}`);
      const attempts = [...(found.get(key)?.attempts ?? []), row.attempt];
      found.set(key, { cause, attempts, ...(check ? { output: ending(check.detail) } : {}) });
    }
  return [...found.values()].sort((a, b) => b.attempts.length - a.attempts.length).slice(0, 10);
}

/** Programs print the error last. */
const ending = (text: string) => (text.length <= longestOutput ? text : `… ${text.slice(-longestOutput)}`);

function recommendations(rounds: Round[], scores: number[]): string[] {
  const last = rounds.at(-1);
  const of = (kind: Kind) => {
    const count = rounds.filter((round) => round.kind === kind).length;
    return count === 0 ? undefined : `${count} of ${rounds.length} attempts`;
  };
  // What the system requires after a failed check is the check itself, which the causes name.
  const bySystem = last?.verdict?.objections.some((one) => one.endsWith(noneAsked));
  const fixes = last?.kind === "checks" && bySystem ? [] : (last?.verdict?.required_fixes ?? []);
  const said = fixes.map((fix) => `apply the fix of the last verdict: ${fix}`);
  for (const [kind, advice] of Object.entries(advices) as [Kind, string][]) {
    const share = of(kind);
    if (share !== undefined) said.push(`${advice} (${share})`);
  }
  const [first = 0] = scores;
  if (last?.kind === "verdict" && scores.length > 1 && scores.every((score) => score <= first))
    said.push("change the requirements before the next attempt: the score never improved");
  if (scores.length > 1 && (scores.at(-1) ?? 0) > first)
    said.push("another attempt may succeed: the score was improving");
  return said.length > 0 ? said : ["read the verdicts and change the task's requirements"];
}

/** Advice for each kind of failure; a verdict has its own in `required_fixes`. */
const advices: Partial<Record<Kind, string>> = {
  limit: "split the task or raise its estimate: attempts were stopped at a limit",
  loop: "name files and steps in the requirements: the worker repeated one call without progress",
  agent: "the agent failed, not the task: fix the cause named above and retry; the plan needs no change",
  nothing: "say in the requirements what to deliver, or choose another model: the worker ended without a result",
  merge: "let tasks that change the same files depend on each other, then retry on top of the accepted work",
  returned: "write what the person asked for into the requirements: the result was returned at its gate",
  checks: "run the failed check yourself: if it cannot pass in the sandbox, change the check instead of the task",
};

/** The consequences of a failed task for the run. */
export type Impact = {
  blocked: { number: string; title: string }[];
  delay: string;
  risk: "low" | "medium" | "high";
  nextActions: string[];
  lessons: string[];
};

type Lost = { run: string; id: string; number: string };
type Behind = { number: string; title: string; dependsOn: string[]; estimatedToolCalls: number | null };

/** The tasks of a run's plan, as `impactOf` counts them. */
export const behindIn = ({ plan }: Pick<Run, "plan">): Behind[] =>
  (plan?.tasks ?? []).map((task) => ({
    number: task.number,
    title: task.title,
    dependsOn: dependenciesOf(task),
    estimatedToolCalls: task.estimated_tool_calls ?? null,
  }));

/** The tasks behind the failed one, direct or not, and the effect on the run. */
export function impactOf(lost: Lost, tasks: Behind[], failure: Failure): Impact {
  const blocked = behind(lost.number, tasks);
  const share = tasks.length === 0 ? 0 : blocked.length / tasks.length;
  const calls = blocked.reduce((sum, task) => sum + (task.estimatedToolCalls ?? 0), 0);
  const recurring = failure.rootCauses.filter((one) => one.attempts.length > 1);
  return {
    blocked: blocked.map(({ number, title }) => ({ number, title })),
    delay:
      blocked.length === 0
        ? "none: no task depends on it"
        : `${blocked.length} ${blocked.length === 1 ? "task" : "tasks"} cannot start${calls > 0 ? `, about ${calls} tool calls of work` : ""}`,
    risk: share >= 0.5 ? "high" : blocked.length > 0 ? "medium" : "low",
    nextActions: [
      ...failure.recommendations,
      `retry task ${lost.number}: scriptorium task retry ${lost.id}, then scriptorium run resume ${lost.run}`,
    ],
    lessons:
      recurring.length > 0
        ? recurring.map((one) => `seen in attempts ${one.attempts.join(", ")}: ${one.cause}`)
        : failure.timeline.length > 1
          ? ["no recurring cause; the attempts failed for different reasons"]
          : ["none from a single attempt"],
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
