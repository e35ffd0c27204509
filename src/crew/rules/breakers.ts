/** The limits of one agent in one attempt (O7). Runners enforce messages and output tokens, the toolbox tool calls. */
export type Bounds = { toolCalls: number; messages: number; outputTokens: number };

export type Trip = { breaker: "toolCalls" | "repeats"; reason: string };

const withoutEstimate = 50;
/** Trips after five identical calls with identical results: the agent is in a loop and pays for each call. */
const maxRepeats = 5;
const outputTokens = { worker: 4000, qc: 1000, qc_failure_report: 2000, pm_failure_analysis: 3000 } as const;

export type Job = keyof typeof outputTokens;

export function boundsFor(job: Job, estimatedToolCalls: number | null): Bounds {
  const toolCalls = estimatedToolCalls === null ? withoutEstimate : Math.floor(estimatedToolCalls * 1.5);
  return { toolCalls, messages: 3 * toolCalls, outputTokens: outputTokens[job] };
}

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
