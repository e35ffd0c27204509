/** What one agent may use in one attempt (O7). */
export type Bounds = { toolCalls: number; messages: number; outputTokens: number };

/** What it has used so far. */
export type Used = { toolCalls: number; messages: number; outputTokens: number };

/**
 * What it is about to do. `outputTokens` is the most that the call can give; `repeated`, how often in a
 * row just this call has brought just the same answer.
 */
export type Next = { kind: "tool"; repeated?: number } | { kind: "message"; outputTokens?: number };

export type Trip = { breaker: keyof Bounds | "repeats"; reason: string };

const withoutEstimate = 50;
/** Who has asked the same so often and heard the same is in a circle, and pays for every round. */
const mostRepeats = 5;
const outputTokens = { worker: 4000, qc: 1000, qc_failure_report: 2000, pm_failure_analysis: 3000 } as const;

export type Job = keyof typeof outputTokens;

export function boundsFor(job: Job, estimatedToolCalls: number | null): Bounds {
  const toolCalls = estimatedToolCalls === null ? withoutEstimate : Math.floor(estimatedToolCalls * 1.5);
  return { toolCalls, messages: 3 * toolCalls, outputTokens: outputTokens[job] };
}

/** Asked before the call: whether it would go past a bound. The call is then not made. */
export function trip(bounds: Bounds, used: Used, next: Next): Trip | undefined {
  if (next.kind === "tool") {
    if ((next.repeated ?? 0) >= mostRepeats) {
      const reason = `the same call has brought the same answer ${mostRepeats} times in a row`;
      return { breaker: "repeats", reason };
    }
    return used.toolCalls + 1 > bounds.toolCalls
      ? {
          breaker: "toolCalls",
          reason: `tool call ${used.toolCalls + 1} would go past the ${bounds.toolCalls} allowed`,
        }
      : undefined;
  }
  if (used.messages + 1 > bounds.messages) {
    const reason = `message ${used.messages + 1} would go past the ${bounds.messages} allowed`;
    return { breaker: "messages", reason };
  }
  if (used.outputTokens >= bounds.outputTokens) {
    const reason = `${used.outputTokens} output tokens are used of the ${bounds.outputTokens} allowed`;
    return { breaker: "outputTokens", reason };
  }
  return undefined;
}

/** How many tokens the next message may give at the most, so that the bound holds whatever the model does. */
export const outputLeft = (bounds: Bounds, used: Used) => Math.max(0, bounds.outputTokens - used.outputTokens);
