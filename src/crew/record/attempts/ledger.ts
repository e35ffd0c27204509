import { refuse } from "../../../kernel/result.ts";
import type { Query } from "../../../store/database.ts";
import { appendEvent, type NewEvent } from "../../../store/events.ts";
import type { CrewDeps } from "../deps.ts";
import type { Fence, Spent } from "../facts.ts";

/** The clock and the events of attempts. */
export function attemptLedger({ now }: Pick<CrewDeps, "now">) {
  const stamp = () => now().toISOString();
  return {
    stamp,
    event: (tx: Query, actor: string, kind: NewEvent["kind"], task: string, data: Record<string, unknown>) =>
      appendEvent(tx, { at: stamp(), actor, kind, subject: `task:${task}`, data }),
  };
}

export const late = ({ task: id, epoch }: Fence) =>
  refuse("conflict", `task ${id}: the claim with epoch ${epoch} has ended or is for another stage; nothing was saved`, {
    late: true,
  });

export const spentColumns = (spent: Spent) => ({
  duration_ms: Math.round(spent.durationMs),
  input_tokens: spent.inputTokens,
  output_tokens: spent.outputTokens,
  tool_calls: spent.toolCalls,
  messages: spent.messages,
  context_tokens: spent.contextTokens,
  cost_usd: spent.costUsd,
});
