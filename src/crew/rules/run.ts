import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { RunRow } from "../../store/crew-tables.ts";
import { parseJsonOr } from "../../store/json.ts";
import { type Plan, plan as planSchema } from "./plan.ts";

/**
 *   planning ──plan──▶ planned ──start──▶ running ──finish──▶ completed
 *      │                 │  ▲ plan          │  ▲ start  └────▶ failed ──start──▶ running
 *      │ fail            │  └─┘        stop ▼  │
 *      ▼                 │                stopped
 *    failed              └──── every state that is not over ──cancel──▶ cancelled
 *
 *   completed ──overturn──▶ failed, when one of its tasks turns out to be wrong
 */
export type RunState = RunRow["state"];

export type RunStep =
  | { type: "plan" }
  | { type: "start" }
  | { type: "stop"; reason: string }
  | { type: "finish"; failed: number }
  | { type: "fail"; reason: string }
  | { type: "overturn"; reason: string }
  | { type: "cancel"; reason: string };

const participles: Record<RunStep["type"], string> = {
  plan: "planned",
  start: "started",
  stop: "stopped",
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
  createdAt: string;
  createdBy: string;
  plannedAt: string | null;
  startedAt: string | null;
  endedAt: string | null;
};

const leadsTo: Record<RunState, Partial<Record<RunStep["type"], RunState>>> = {
  planning: { plan: "planned", fail: "failed", cancel: "cancelled" },
  planned: { plan: "planned", start: "running", cancel: "cancelled" },
  running: { start: "running", stop: "stopped", finish: "completed", cancel: "cancelled" },
  stopped: { start: "running", cancel: "cancelled" },
  completed: { overturn: "failed" },
  failed: { start: "running", overturn: "failed" },
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
  switch (step.type) {
    case "plan":
      return ok({ state: next, planned_at: at });
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
      return ok({ state: next, reason: step.reason });
    default:
      return ok({ state: next, ended_at: at, reason: step.reason });
  }
}

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
  createdAt: row.created_at,
  createdBy: row.created_by,
  plannedAt: row.planned_at,
  startedAt: row.started_at,
  endedAt: row.ended_at,
});
