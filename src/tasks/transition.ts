import { ok, type Result, refuse } from "../kernel/result.ts";
import { wordsFor } from "./state-words.ts";
import type { State, Task } from "./task.ts";

/**
 *   pending ──claim──▶ worker_executing ──submit──▶ worker_completed ──verify──▶ qc_executing
 *     ▲  ▲              │   │   │                       ▲                         │  │   │
 *     │  └───release────┘   │   │ fail                  └────────release──────────┘  │   │ pass
 *     │      finish (todos) │   ▼                                             reject │   ▼
 *   failed ◀──give_up───────┼─ qc_failed ◀───────────────────────────────────────────┘  qc_passed
 *     (reopen)              │   │ retry                                                    │ accept
 *                           ▼   ▼                                                          ▼
 *                   completed  preparing_retry ──claim──▶ worker_executing             completed
 *
 *   worker_executing ──fail──▶ qc_failed: the worker was stopped or delivered nothing, so no verifier looks at it
 *   worker_executing ──ask──▶ qc_passed: the task asks a person; then ──accept──▶ completed, ──give_up──▶ failed or
 *                             ──release──▶ pending, which asks again
 *   qc_passed ──reject──▶ qc_failed: the deliverable does not merge, or it changed after its verdict
 *   any state that is not final ──cancel──▶ cancelled
 *   any state but completed ──take──▶ worker_executing: a person does the work of a run's task by hand
 *   completed ──overturn──▶ failed: the task turns out to be wrong; tasks in progress behind it ──overturn──▶ pending
 */
export type Step =
  | { type: "claim"; by: string }
  /** A person takes the task over, also from an agent that holds it. */
  | { type: "take"; by: string }
  /** `forced` if another than the holder ended the claim; `from` is then the holder. */
  | { type: "release"; reason: string; forced?: true; from?: string }
  | { type: "submit"; output: string }
  | { type: "finish"; output: string }
  /** The task is a question to a person and has no worker. */
  | { type: "ask" }
  /** `output` is the unfinished work, for the next worker. */
  | { type: "fail"; reason: string; output: string }
  | { type: "verify"; by: string }
  | { type: "pass"; score: number; feedback: string }
  | { type: "reject"; score: number; feedback: string }
  /** `output` is a person's answer to a question. */
  | { type: "accept"; output?: string }
  /** `returned` is the number of attempts that a person returned at a gate: they do not count. */
  | { type: "retry"; reason: string; returned?: number }
  | { type: "give_up"; reason: string }
  | { type: "reopen" }
  /** `because` is the id of the task whose wrong output this one used; left out, this task itself is wrong. */
  | { type: "overturn"; reason: string; because?: string }
  | { type: "cancel"; reason: string };

const participles: Record<Step["type"], string> = {
  claim: "claimed",
  take: "taken over",
  release: "released",
  submit: "submitted",
  finish: "completed",
  ask: "asked",
  fail: "failed",
  verify: "verified",
  pass: "passed",
  reject: "rejected",
  accept: "accepted",
  retry: "retried",
  give_up: "marked as failed",
  reopen: "reopened",
  overturn: "overturned",
  cancel: "cancelled",
};

const inProgress = { cancel: "cancelled", overturn: "pending", take: "worker_executing" } as const;

const leadsTo: Record<State, Partial<Record<Step["type"], State>>> = {
  pending: { claim: "worker_executing", take: "worker_executing", cancel: "cancelled" },
  worker_executing: {
    submit: "worker_completed",
    finish: "completed",
    ask: "qc_passed",
    fail: "qc_failed",
    release: "pending",
    ...inProgress,
  },
  worker_completed: { verify: "qc_executing", ...inProgress },
  qc_executing: { pass: "qc_passed", reject: "qc_failed", release: "worker_completed", ...inProgress },
  qc_passed: { accept: "completed", reject: "qc_failed", give_up: "failed", release: "pending", ...inProgress },
  qc_failed: { retry: "preparing_retry", give_up: "failed", ...inProgress },
  preparing_retry: { claim: "worker_executing", ...inProgress },
  completed: { overturn: "failed" },
  failed: { reopen: "pending", take: "worker_executing" },
  cancelled: { reopen: "pending", take: "worker_executing" },
};

/** The lowest score that passes. */
export const passAt = 80;
/** Characters of an output that are stored. */
export const longestOutput = 50_000;

export type Next = Pick<Task, "state" | "attempt" | "epoch" | "holder" | "result">;
/** The fields of a task that the rules read. */
type Current = Next & Pick<Task, "blockersLeft" | "run" | "maxRetries">;

/** The only code that assigns `state`. Leases are the store's, which has the clock. */
export function transition(task: Current, step: Step): Result<Next> {
  const state = leadsTo[task.state][step.type];
  if (!state) {
    const message = `the task is ${wordsFor(task.state)} and cannot be ${participles[step.type]}`;
    return refuse("conflict", message, { state: task.state });
  }
  const refusal = objection(task, step);
  if (refusal) return refuse("conflict", refusal, { state: task.state });

  const change = resultOf(step);
  const result = change ? { ...task.result, ...change } : task.result;
  const next: Next = { state, attempt: task.attempt, epoch: task.epoch, holder: null, result };
  switch (step.type) {
    case "claim":
      return ok({ ...next, attempt: task.attempt + 1, epoch: task.epoch + 1, holder: step.by });
    case "take": {
      const { stale: _, ...kept } = result;
      return ok({ ...next, attempt: attemptTaken(task), epoch: task.epoch + 1, holder: step.by, result: kept });
    }
    case "verify":
      return ok({ ...next, epoch: task.epoch + 1, holder: step.by });
    case "release":
      // A released attempt does not count: the next worker gets the same attempt number.
      if (task.state === "qc_executing") return ok(next);
      return ok({ ...next, state: task.attempt > 1 ? "preparing_retry" : state, attempt: task.attempt - 1 });
    case "reopen": {
      const { stale: _, ...kept } = result;
      return ok({ ...next, attempt: 0, result: kept });
    }
    case "overturn":
      return ok({ ...next, attempt: state === "pending" ? 0 : task.attempt });
    default:
      return ok(next);
  }
}

/** An attempt that nobody has judged keeps its number; a task that was over starts again at 1. */
function attemptTaken({ state, attempt, maxRetries }: Current): number {
  if (state === "failed" || state === "cancelled") return 1;
  return ["pending", "preparing_retry", "qc_failed"].includes(state) ? Math.min(attempt + 1, maxRetries + 1) : attempt;
}

function objection(task: Current, step: Step): string | undefined {
  if (step.type === "take" && task.run === null) return "a task that belongs to no run can be claimed; claim it";
  if ((step.type === "claim" || step.type === "take") && task.blockersLeft > 0)
    return `the task waits for ${task.blockersLeft} of its dependencies`;
  if (step.type === "finish" && task.run !== null)
    return "a task of a run must be verified before it is completed; submit its output";
  if (step.type === "fail" && task.run === null) return "a task that belongs to no run has no attempts; release it";
  if (step.type === "ask" && task.run === null) return "only a task of a run can ask a person";
  if (task.state === "qc_passed" && task.result.asked !== true && (step.type === "give_up" || step.type === "release"))
    return "its result is verified; only a question to a person can be rejected";
  if (step.type === "accept" && step.output !== undefined && task.result.asked !== true)
    return "only a question to a person has an answer";
  if (step.type === "take" && task.result.asked === true && task.state === "qc_passed")
    return "the task asks a person and has no work to take over; approve or reject it";
  if (step.type === "pass" && !(step.score >= passAt))
    return `a score of ${step.score} does not pass; the minimum is ${passAt}`;
  if (step.type === "retry" && task.attempt - (step.returned ?? 0) > task.maxRetries)
    return `all ${task.maxRetries + 1} attempts have been used`;
  return undefined;
}

/** The fields of `task.result` that a step sets. */
function resultOf(step: Step): Record<string, unknown> | undefined {
  switch (step.type) {
    case "submit":
    case "finish":
      return { output: step.output.slice(0, longestOutput) };
    case "fail":
      // Nobody judged this attempt: the score and feedback of an earlier one must not pass for its own.
      return { output: step.output.slice(0, longestOutput), score: null, feedback: step.reason };
    case "take":
      return { taken_by: step.by };
    case "ask":
      return { asked: true };
    case "accept":
      return step.output === undefined ? undefined : { output: step.output.slice(0, longestOutput) };
    case "pass":
    case "reject":
      return { score: step.score, feedback: step.feedback };
    case "retry":
    case "give_up":
    case "cancel":
      return { reason: step.reason };
    case "overturn":
      return { reason: step.reason, ...(step.because === undefined ? {} : { stale: step.because }) };
    default:
      return undefined;
  }
}
