import type { AttemptRow, CheckResultRow, VerdictRow } from "../../store/crew-tables.ts";
import { parseJsonOr } from "../../store/json.ts";
import { verifierSaysFail } from "./verdict.ts";

/** What the next worker is told about the attempt before: what it made, what was wrong, and how that is known (O9). */
export type ErrorContext = {
  attempt: number;
  summary: string;
  score: number | null;
  feedback: string;
  issues: string[];
  requiredFixes: string[];
  /** The checks that failed, with what they printed. */
  checks: { criterion: number; detail: string }[];
  evidence: { criterion: number; quote: string; from: string }[];
  output: string;
  stoppedBecause: string | null;
};

export function errorContext(
  attempt: AttemptRow,
  verdict: VerdictRow | undefined,
  checks: CheckResultRow[],
): ErrorContext {
  const objections = list(verdict?.objections);
  const failed = checks.filter((one) => one.passed === 0 && one.deliverable_hash === attempt.deliverable_hash);
  const issues = [...new Set([...list(verdict?.issues), ...objections.filter((one) => one !== verifierSaysFail)])];
  const reason =
    verdict?.void_reason ?? attempt.stopped_because ?? issues[0] ?? verdict?.feedback ?? "the attempt failed";
  const evidence = verdict
    ? parseJsonOr<{ criterion: number; quote: string; from: string; met: boolean }[]>(verdict.evidence, [])
    : [];
  return {
    attempt: attempt.attempt,
    summary: reason,
    score: verdict?.score ?? null,
    feedback: verdict?.feedback ?? "",
    issues: verdict?.void_reason ? [verdict.void_reason, ...issues] : issues,
    requiredFixes: list(verdict?.required_fixes),
    checks: failed.map(({ criterion, detail }) => ({ criterion, detail })),
    evidence: evidence.filter((one) => !one.met).map(({ criterion, quote, from }) => ({ criterion, quote, from })),
    output: attempt.partial ?? attempt.output ?? "",
    stoppedBecause: attempt.stopped_because,
  };
}

/** The verifier's side of a lost task: what happened when, how the scores went, what lies behind, what to do. */
export type Failure = {
  timeline: {
    attempt: number;
    at: string;
    worker: string;
    verifier: string | null;
    score: number | null;
    outcome: string;
    reason: string;
  }[];
  scores: { lowest: number | null; highest: number | null; average: number | null; progression: number[] };
  rootCauses: { cause: string; attempts: number[] }[];
  recommendations: string[];
};

export function failureOf(attempts: AttemptRow[], verdicts: VerdictRow[]): Failure {
  const rounds = attempts.filter((row) => row.phase !== "abandoned");
  const verdictOf = (row: AttemptRow) => verdicts.findLast((verdict) => verdict.epoch === row.epoch);
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
        outcome: verdict?.voided_at ? "void" : (verdict?.outcome ?? row.phase),
        reason: verdict?.void_reason ?? row.stopped_because ?? list(verdict?.objections)[0] ?? "",
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

type VerdictFor = (row: AttemptRow) => VerdictRow | undefined;

/** What was wrong in more attempts comes first: one that was wrong every time was never understood. */
function causes(rounds: AttemptRow[], verdictOf: VerdictFor): Failure["rootCauses"] {
  const found = new Map<string, number[]>();
  for (const row of rounds) {
    const verdict = verdictOf(row);
    const voided = verdict?.void_reason ? [verdict.void_reason] : [];
    const said = row.stopped_because
      ? [row.stopped_because]
      : [...voided, ...list(verdict?.issues), ...list(verdict?.objections)];
    for (const cause of new Set(said.filter((one) => one !== verifierSaysFail)))
      found.set(cause, [...(found.get(cause) ?? []), row.attempt]);
  }
  return [...found]
    .map(([cause, attempts]) => ({ cause, attempts }))
    .sort((a, b) => b.attempts.length - a.attempts.length)
    .slice(0, 10);
}

function recommendations(rounds: AttemptRow[], verdictOf: VerdictFor, scores: number[]): string[] {
  const said: string[] = [];
  const last = rounds.at(-1);
  const fixes = last ? list(verdictOf(last)?.required_fixes) : [];
  said.push(...fixes.map((fix) => `do what the last verdict asked for: ${fix}`));
  const stopped = rounds.filter((row) => row.stopped_because !== null);
  if (stopped.length > 0)
    said.push(
      `cut the task into smaller ones or raise its estimate: ${stopped.length} of ${rounds.length} attempts were stopped at a limit`,
    );
  const [first = 0] = scores;
  if (scores.length > 1 && scores.every((score) => score <= first))
    said.push("change the requirements before another try: the score never rose");
  if (scores.length > 1 && (scores.at(-1) ?? 0) > first) said.push("another attempt may do: the score was rising");
  return said.length > 0 ? said : ["read the verdicts and change the task's requirements"];
}

/** The planner's side: what it means for the rest of the run. */
export type Impact = {
  blocked: { number: string; title: string }[];
  delay: string;
  risk: "low" | "medium" | "high";
  nextActions: string[];
  lessons: string[];
};

type Behind = { number: string; title: string; dependsOn: string[]; estimatedToolCalls: number | null };

/** Everything behind the lost task, however far, and what that does to the run. */
export function impactOf(lost: { number: string; title: string }, tasks: Behind[], failure: Failure): Impact {
  const blocked = behind(lost.number, tasks);
  const share = tasks.length === 0 ? 0 : blocked.length / tasks.length;
  const calls = blocked.reduce((sum, task) => sum + (task.estimatedToolCalls ?? 0), 0);
  const recurring = failure.rootCauses.filter((one) => one.attempts.length > 1);
  return {
    blocked: blocked.map(({ number, title }) => ({ number, title })),
    delay:
      blocked.length === 0
        ? "none: nothing waits for it"
        : `${blocked.length} tasks cannot start${calls > 0 ? `, about ${calls} tool calls of work` : ""}`,
    risk: share >= 0.5 ? "high" : blocked.length > 0 ? "medium" : "low",
    nextActions: [
      ...failure.recommendations,
      `change task ${lost.number} in the plan and run it again: scriptorium task retry, then scriptorium run resume`,
    ],
    lessons:
      recurring.length > 0
        ? recurring.map((one) => `seen in attempts ${one.attempts.join(", ")}: ${one.cause}`)
        : ["no cause came back; the attempts failed for different reasons"],
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

const list = (json: string | undefined): string[] => (json === undefined ? [] : parseJsonOr(json, []));
