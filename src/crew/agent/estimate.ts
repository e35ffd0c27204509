import { costOf, type Price, type Prices, priceOf, priceOfProgram } from "../../agents/model/prices.ts";
import type { Amount, Runner, RunResult, WantedAmount } from "../../agents/runner.ts";
import type { CrewConfig } from "../../config/crew.ts";

/** Tokens of the instructions and tools that command-line agents add to every call. */
const promptOfPrograms = 15_000;
/** Calls at the full input price. An agent makes more, but reads most of their input from the provider's cache. */
const expectedCalls = 6;
/** Output tokens of all its answers. */
const expectedOutput = 8000;
/** The next agent of the same kind may need more than the most expensive one so far. */
const margin = 1.5;

export type Estimate = {
  runner: Pick<Runner, "name" | "enforces">;
  model: string | undefined;
  promptTokens: number;
  /** The highest cost that an agent of this part and model has reported in this run. */
  reportedUsd: number | undefined;
};

/**
 * The maximum that one agent process may use. Its usage is known too late to ask before each call, so that the whole
 * process is reserved at the start: `crew.budget.attempt_*`, otherwise an estimate from list prices and reported costs.
 */
export function estimate({ budget, prices }: CrewConfig, about: Estimate): WantedAmount {
  const { runner, model, promptTokens, reportedUsd } = about;
  const input = promptTokens + promptOfPrograms;
  const price = priceOfProgram(runner.name, model, pricesFrom(prices))?.price;
  const listed = costAt(price, input * expectedCalls, expectedOutput);
  const reported = reportedUsd === undefined ? null : reportedUsd * margin;
  const estimated = listed === null ? reported : Math.max(listed, reported ?? 0);
  const wanted: Amount = {
    tokens: budget.attempt_tokens ?? input * expectedCalls + expectedOutput,
    usd: budget.attempt_usd ?? estimated,
  };
  const first = { tokens: input, usd: costAt(price, input, 0) ?? wanted.usd ?? 0 };
  const stopsAt = (unit: "tokens" | "usd") => runner.enforces?.includes(unit) ?? false;
  return {
    ...wanted,
    least: {
      tokens: stopsAt("tokens") ? Math.min(first.tokens, wanted.tokens) : wanted.tokens,
      usd: stopsAt("usd") ? Math.min(first.usd, wanted.usd ?? 0) : (wanted.usd ?? 0),
    },
  };
}

/** False where a budget in dollars cannot be kept, because nothing is known about the cost of this agent. */
export function isCostKnown({ budget, prices }: CrewConfig, runner: string, model: string | undefined): boolean {
  if (runner === "scripted" || budget.attempt_usd !== undefined) return true;
  const own = pricesFrom(prices);
  return (runner === "model" ? priceOf(model ?? "", own) : priceOfProgram(runner, model, own)) !== undefined;
}

/** What the process reported, or the price of the tokens it reported; null where the whole reservation counts. */
export function actual(
  { prices }: CrewConfig,
  runner: string,
  model: string | undefined,
  ran: RunResult,
): Amount | null {
  const { ended, usage, costUsd } = ran;
  if (ended === "spawn-error") return { tokens: 0, usd: 0 };
  if (usage.inputTokens === null || usage.outputTokens === null) return null;
  const cached = (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  const input = usage.inputTokens + cached;
  const known = priceOfProgram(runner, model, pricesFrom(prices));
  const priced = known?.isExact ? costOf(known.price, { ...usage, inputTokens: input }) : null;
  return { tokens: input + usage.outputTokens, usd: costUsd ?? priced };
}

function costAt(price: Price | undefined, inputTokens: number, outputTokens: number): number | null {
  const rest = { cacheReadTokens: null, cacheWriteTokens: null, toolCalls: null, messages: null };
  return costOf(price, { ...rest, inputTokens, outputTokens });
}

export const pricesFrom = (prices: CrewConfig["prices"]): Prices =>
  Object.fromEntries(
    Object.entries(prices).map(([model, { input, output, cache_read: cacheRead, cache_write: cacheWrite }]) => [
      model,
      { input, output, cacheRead, cacheWrite },
    ]),
  );
