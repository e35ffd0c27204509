import type { CrewConfig } from "../../config/crew.ts";
import type { CrewPart } from "../../kernel/caller.ts";

/**
 * The limits of one agent in one attempt (O7). The toolbox enforces tool calls, runners the rest. `answerTokens` limits
 * one answer, and is the part's own where it is left out; what an attempt may use in total is its budget.
 */
export type Bounds = { toolCalls: number; messages: number; answerTokens?: number };

export type Trip = { breaker: "toolCalls" | "repeats"; reason: string };

const withoutEstimate = 50;
/** Trips after five identical calls with identical results: the agent is in a loop and pays for each call. */
const maxRepeats = 5;
/** Output tokens of one answer, where the configuration sets none. */
const usualAnswerTokens: Record<CrewPart, number> = {
  brief: 8192,
  pm: 16_000,
  preamble: 4000,
  worker: 16_000,
  qc: 4000,
  reporter: 8192,
};

/** Reports on a failure are short, whatever their author may write otherwise. */
const reportTokens = { qc_failure_report: 2000, pm_failure_analysis: 3000, final_report: 4000 } as const;

export type Job = "worker" | "qc" | keyof typeof reportTokens;

export function boundsFor(job: Job, estimatedToolCalls: number | null): Bounds {
  const toolCalls = estimatedToolCalls === null ? withoutEstimate : Math.floor(estimatedToolCalls * 1.5);
  const bounds = { toolCalls, messages: 3 * toolCalls };
  return job === "worker" || job === "qc" ? bounds : { ...bounds, answerTokens: reportTokens[job] };
}

export const answerTokensOf = ({ agents }: Pick<CrewConfig, "agents">, part: CrewPart): number =>
  agents[part]?.answer_tokens ?? agents.all?.answer_tokens ?? usualAnswerTokens[part];

/**
 * Checked before each tool call; a call that trips is not made. `calls` counts the calls so far, `repeats`
 * how often in a row this call brought the same answer.
 */
export function trip(bounds: Bounds, calls: number, repeats: number): Trip | undefined {
  if (repeats >= maxRepeats) {
    return { breaker: "repeats", reason: `${maxRepeats} identical calls in a row with identical results` };
  }
  if (calls + 1 > bounds.toolCalls) {
    return { breaker: "toolCalls", reason: `limit of ${bounds.toolCalls} tool calls reached` };
  }
  return undefined;
}
