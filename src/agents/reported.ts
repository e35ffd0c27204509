import { storable } from "../kernel/storable.ts";
import type { RunResult, Usage } from "./runner.ts";

const mostUsd = 1_000_000;
const mostCounted = 2 ** 31 - 1;

/**
 * A result as it may be recorded. Texts and figures come from the agent's own output: a byte that a database refuses,
 * or a cost of -5, must not change the outcome of the run. Impossible figures become unknown.
 */
export const recordable = (result: RunResult): RunResult => ({
  ...result,
  errorTail: storable(result.errorTail),
  ...(result.error === undefined ? {} : { error: storable(result.error) }),
  costUsd: within(result.costUsd, mostUsd),
  usage: countsOf(result.usage),
});

const countsOf = (usage: Usage): Usage => ({
  inputTokens: count(usage.inputTokens),
  outputTokens: count(usage.outputTokens),
  cacheReadTokens: count(usage.cacheReadTokens),
  cacheWriteTokens: count(usage.cacheWriteTokens),
  toolCalls: count(usage.toolCalls),
  messages: count(usage.messages),
});

const count = (value: unknown) => {
  const number = within(value, mostCounted);
  return number === null ? null : Math.round(number);
};

const within = (value: unknown, most: number): number | null =>
  typeof value === "number" && value >= 0 && value <= most ? value : null;
