import { refuse } from "../../../kernel/result.ts";
import type { AttemptRow } from "../../../store/crew-tables.ts";
import type { Query } from "../../../store/database.ts";
import { appendEvent, type NewEvent } from "../../../store/events.ts";
import type { CrewDeps } from "../deps.ts";
import { type Fence, longestOutput, type Spent } from "../facts.ts";

/** The rows and events of attempts, for whoever moves a task in the same transaction. */
export function attemptLedger({ now }: Pick<CrewDeps, "now">) {
  const stamp = () => now().toISOString();
  return {
    stamp,
    event: (tx: Query, actor: string, kind: NewEvent["kind"], task: string, data: Record<string, unknown>) =>
      appendEvent(tx, { at: stamp(), actor, kind, subject: `task:${task}`, data }),
    update: (tx: Query, { task, epoch }: Fence, change: Partial<AttemptRow>) =>
      tx.updateTable("attempts").set(change).where("task_id", "=", task).where("epoch", "=", epoch).execute(),
    under: (tx: Query, { task, epoch }: Fence): Promise<AttemptRow | undefined> =>
      tx.selectFrom("attempts").selectAll().where("task_id", "=", task).where("epoch", "=", epoch).executeTakeFirst(),
  };
}

export const late = (id: string, epoch: number) =>
  refuse("conflict", `task ${id}: epoch ${epoch} holds it no longer, or not for this; nothing was written`, {
    late: true,
  });

export const cut = (text: string) => text.slice(0, longestOutput);

export const spentColumns = (spent: Spent) => ({
  duration_ms: Math.round(spent.durationMs),
  input_tokens: spent.inputTokens,
  output_tokens: spent.outputTokens,
  tool_calls: spent.toolCalls,
  messages: spent.messages,
  context_tokens: spent.contextTokens,
  cost_usd: spent.costUsd,
});
