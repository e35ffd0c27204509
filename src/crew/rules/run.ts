import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { RunRow } from "../../store/crew-tables.ts";
import { parseJsonOr } from "../../store/json.ts";
import { type Plan, plan as planSchema } from "./plan.ts";

/**
 *   planning ──plan──▶ planned ──start──▶ running ──finish──▶ completed
 *      │                 │  ▲ plan          │  ▲ start  └────▶ failed ──start──▶ running
 *      │ fail            │  └─┘ stop, pause ▼  │
 *      ▼                 │                stopped          running ──wait, proceed──▶ running
 *    failed              └──── every state that is not over ──cancel──▶ cancelled
 *
 *   completed ──overturn──▶ failed, when one of its tasks turns out to be wrong
 *   failed without a plan ──reopen──▶ planning, with the tasks that its planner had submitted
 *   planning ──wait──▶ planning, when no process plans it and a server says why it cannot
 */
export type RunState = RunRow["state"];

export const stopCauses = ["person", "budget", "other"] as const;
export type StopCause = (typeof stopCauses)[number];

/** Why a run stops. After `budget` it can only continue with a larger one. */
export type Stop = { reason: string; cause: Exclude<StopCause, "person"> };

export type RunStep =
  | { type: "plan" }
  | { type: "reopen" }
  | { type: "start" }
  | ({ type: "stop" } & Stop)
  /** A person stops it: agents end their stage, and nothing new starts in any process. */
  | { type: "pause"; reason: string }
  /** The run goes on by itself once what it waits for is there, such as the provider of a model. */
  | { type: "wait"; reason: string }
  | { type: "proceed" }
  | { type: "finish"; failed: number }
  | { type: "fail"; reason: string }
  | { type: "overturn"; reason: string }
  | { type: "cancel"; reason: string };

const participles: Record<RunStep["type"], string> = {
  plan: "planned",
  reopen: "planned again",
  start: "started",
  stop: "stopped",
  pause: "paused",
  wait: "made to wait",
  proceed: "continued",
  finish: "completed",
  fail: "failed",
  overturn: "overturned",
  cancel: "cancelled",
};

export type Run = {
  id: string;
  state: RunState;
  request: string;
  brief: string | null;
  title: string;
  plan: Plan | null;
  planHash: string | null;
  budgetTokens: number | null;
  budgetUsd: number | null;
  reason: string | null;
  /** Null unless it is stopped. */
  stoppedBy: StopCause | null;
  createdAt: string;
  createdBy: string;
  plannedAt: string | null;
  startedAt: string | null;
  endedAt: string | null;
  /** The process that plans or executes it. */
  carriedBy: string | null;
};

const leadsTo: Record<RunState, Partial<Record<RunStep["type"], RunState>>> = {
  planning: { plan: "planned", reopen: "planning", wait: "planning", fail: "failed", cancel: "cancelled" },
  planned: { plan: "planned", start: "running", cancel: "cancelled" },
  running: {
    start: "running",
    wait: "running",
    proceed: "running",
    stop: "stopped",
    pause: "stopped",
    finish: "completed",
    cancel: "cancelled",
  },
  stopped: { start: "running", stop: "stopped", cancel: "cancelled" },
  completed: { overturn: "failed" },
  failed: { reopen: "planning", start: "running", overturn: "failed" },
  cancelled: {},
};

/** The columns that a step changes. */
export function runTransition(
  run: Pick<RunRow, "id" | "state" | "plan" | "started_at">,
  step: RunStep,
  at: string,
): Result<Partial<RunRow>> {
  const next = leadsTo[run.state][step.type];
  if (!next)
    return refuse("conflict", `run ${run.id} is ${run.state} and cannot be ${participles[step.type]}`, {
      state: run.state,
    });
  const change = changeBy(run, step, next, at);
  return change.ok ? ok({ stopped_by: null, ...change.value }) : change;
}

function changeBy(
  run: Pick<RunRow, "id" | "plan" | "started_at">,
  step: RunStep,
  next: RunState,
  at: string,
): Result<Partial<RunRow>> {
  switch (step.type) {
    case "plan":
      return ok({ state: next, planned_at: at });
    case "reopen":
      if (run.plan !== null) return refuse("conflict", `run ${run.id} has a plan already`);
      return ok({ state: next, ended_at: null, reason: null });
    case "start":
      if (run.plan === null) return refuse("conflict", `run ${run.id} has no plan`);
      return ok({ state: next, started_at: run.started_at ?? at, ended_at: null, reason: null });
    case "finish":
      return ok({
        state: step.failed > 0 ? "failed" : next,
        ended_at: at,
        reason: step.failed > 0 ? lost(step.failed) : null,
      });
    case "stop":
      return ok({ state: next, reason: step.reason, stopped_by: step.cause });
    case "pause":
      return ok({ state: next, reason: step.reason, stopped_by: "person" });
    case "wait":
      return ok({ state: next, reason: step.reason });
    case "proceed":
      return ok({ state: next, reason: null });
    default:
      return ok({ state: next, ended_at: at, reason: step.reason });
  }
}

/** The reason of a run that a person paused. */
export const pauseReason = (by: string, why: string | undefined) =>
  `paused by ${by}${why === undefined ? "" : `: ${why}`}`;

/** True if a person paused it: nothing else keeps it from going on. */
export const isPaused = ({ stoppedBy }: Pick<Run, "stoppedBy">) => stoppedBy === "person";

const lost = (count: number) => (count === 1 ? "one task was not accepted" : `${count} tasks were not accepted`);

export const runFrom = (row: RunRow): Run => ({
  id: row.id,
  state: row.state,
  request: row.request,
  brief: row.brief,
  title: row.title,
  plan: row.plan === null ? null : (planSchema.safeParse(parseJsonOr(row.plan, undefined)).data ?? null),
  planHash: row.plan_hash,
  budgetTokens: row.budget_tokens,
  budgetUsd: row.budget_usd,
  reason: row.reason,
  stoppedBy: row.stopped_by,
  createdAt: row.created_at,
  createdBy: row.created_by,
  plannedAt: row.planned_at,
  startedAt: row.started_at,
  endedAt: row.ended_at,
  carriedBy: row.carried_by,
});
