import { ok, type Result, refuse } from "../kernel/result.ts";
import type { State, Task } from "./task.ts";

/**
 *   pending ──claim──▶ worker_executing ──submit──▶ worker_completed ──verify──▶ qc_executing
 *     ▲  ▲                │   │                         ▲                         │  │   │
 *     │  └────release─────┘   │ finish (todos)          └────────release──────────┘  │   │ pass
 *     │                       ▼                                               reject │   ▼
 *   failed ◀──give_up── qc_failed ◀──────────────────────────────────────────────────┘  qc_passed
 *     (reopen)              │ retry                                                        │ accept
 *                           ▼                                                              ▼
 *                     preparing_retry ──claim──▶ worker_executing                      completed
 *
 *   qc_passed ──reject──▶ qc_failed, when what passed does not merge or was changed since
 *   every state that is not over ──cancel──▶ cancelled
 *   completed ──overturn──▶ failed, when it turns out to be wrong after all; begun on its output ──overturn──▶ pending
 */
export type Step =
  | { type: "claim"; by: string }
  | { type: "release"; reason: string }
  | { type: "submit"; output: string }
  | { type: "finish"; output: string }
  | { type: "verify"; by: string }
  | { type: "pass"; score: number; feedback: string }
  | { type: "reject"; score: number; feedback: string }
  | { type: "accept" }
  | { type: "retry"; reason: string }
  | { type: "give_up"; reason: string }
  | { type: "reopen" }
  /** `because` names the task before it that turned out to be wrong; without it, it is this one itself. */
  | { type: "overturn"; reason: string; because?: string }
  | { type: "cancel"; reason: string };

const begun = { cancel: "cancelled", overturn: "pending" } as const;

const leadsTo: Record<State, Partial<Record<Step["type"], State>>> = {
  pending: { claim: "worker_executing", cancel: "cancelled" },
  worker_executing: { submit: "worker_completed", finish: "completed", release: "pending", ...begun },
  worker_completed: { verify: "qc_executing", ...begun },
  qc_executing: { pass: "qc_passed", reject: "qc_failed", release: "worker_completed", ...begun },
  qc_passed: { accept: "completed", reject: "qc_failed", ...begun },
  qc_failed: { retry: "preparing_retry", give_up: "failed", ...begun },
  preparing_retry: { claim: "worker_executing", ...begun },
  completed: { overturn: "failed" },
  failed: { reopen: "pending" },
  cancelled: { reopen: "pending" },
};

const passAt = 80;
const longestOutput = 50_000;

export type Next = Pick<Task, "state" | "attempt" | "epoch" | "holder" | "result">;
/** As much of a task as the rules look at. */
type Seen = Next & Pick<Task, "blockersLeft" | "run" | "maxRetries">;

/** What a step makes of a task. The store keeps the lease; nobody else assigns `state`. */
export function transition(task: Seen, step: Step): Result<Next> {
  const state = leadsTo[task.state][step.type];
  if (!state) return refuse("conflict", `cannot ${step.type} a task that is ${task.state}`, { state: task.state });
  const no = objection(task, step);
  if (no) return refuse("conflict", no, { state: task.state });

  const record = recorded(step);
  const result = record ? { ...task.result, ...record } : task.result;
  const next: Next = { state, attempt: task.attempt, epoch: task.epoch, holder: null, result };
  switch (step.type) {
    case "claim":
      return ok({ ...next, attempt: task.attempt + 1, epoch: task.epoch + 1, holder: step.by });
    case "verify":
      return ok({ ...next, epoch: task.epoch + 1, holder: step.by });
    case "release":
      // What was not brought to its end is no attempt: the next worker takes it over under its number.
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

function objection(task: Seen, step: Step): string | undefined {
  if (step.type === "claim" && task.blockersLeft > 0) return `it waits for ${task.blockersLeft} tasks it depends on`;
  if (step.type === "finish" && task.run !== null) return "a task of a run is verified before it is completed";
  if (step.type === "pass" && !(step.score >= passAt))
    return `a score of ${step.score} does not pass; it takes ${passAt}`;
  if (step.type === "retry" && task.attempt > task.maxRetries) return `all ${task.maxRetries + 1} attempts are used`;
  return undefined;
}

function recorded(step: Step): Record<string, unknown> | undefined {
  switch (step.type) {
    case "submit":
    case "finish":
      return { output: step.output.slice(0, longestOutput) };
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
