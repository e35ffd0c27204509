import type { Usage } from "../runner.ts";

/** US dollars per million tokens. Cached tokens without a price of their own cost as much as input. */
export type Price = { input: number; output: number; cacheRead?: number; cacheWrite?: number };
export type Prices = Readonly<Record<string, Price>>;

/**
 * The date of the table, recorded with every cost computed from it. These are the providers' public list prices on
 * that date, entered by hand and not checked against a bill; `crew.prices` overrides them.
 */
export const pricesVersion = "2026-11-15";

const claude = (input: number, output: number): Price => ({
  input,
  output,
  cacheRead: input / 10,
  cacheWrite: input * 1.25,
});

/** List prices by model name without its date. Models that are not listed have no known price. */
const listPrices: Prices = {
  "anthropic/claude-opus-4-5": claude(5, 25),
  "anthropic/claude-opus-4-6": claude(5, 25),
  "anthropic/claude-opus-4-7": claude(5, 25),
  "anthropic/claude-opus-4-8": claude(5, 25),
  "anthropic/claude-opus-4": claude(15, 75),
  "anthropic/claude-sonnet-4": claude(3, 15),
  "anthropic/claude-3-7-sonnet": claude(3, 15),
  "anthropic/claude-3-5-sonnet": claude(3, 15),
  "anthropic/claude-haiku-4-5": claude(1, 5),
  "anthropic/claude-3-5-haiku": claude(0.8, 4),
  "openai/gpt-5": { input: 1.25, output: 10, cacheRead: 0.125 },
  "openai/gpt-5-mini": { input: 0.25, output: 2, cacheRead: 0.025 },
  "openai/gpt-5-nano": { input: 0.05, output: 0.4, cacheRead: 0.005 },
  "openai/gpt-4.1": { input: 2, output: 8, cacheRead: 0.5 },
  "openai/gpt-4.1-mini": { input: 0.4, output: 1.6, cacheRead: 0.1 },
  "openai/gpt-4.1-nano": { input: 0.1, output: 0.4, cacheRead: 0.025 },
  "openai/gpt-4o": { input: 2.5, output: 10, cacheRead: 1.25 },
  "openai/gpt-4o-mini": { input: 0.15, output: 0.6, cacheRead: 0.075 },
  "openai/o3": { input: 2, output: 8, cacheRead: 0.5 },
  "openai/o4-mini": { input: 1.1, output: 4.4, cacheRead: 0.275 },
};

/** The price of a model such as anthropic/claude-haiku-4-5; undefined if it is unknown. */
export function priceOf(model: string, own: Prices = {}): Price | undefined {
  if (Object.hasOwn(own, model)) return own[model];
  const name = Object.keys(listPrices)
    .filter((start) => model === start || datedFrom(model, start))
    .sort((a, b) => b.length - a.length)[0];
  return name === undefined ? undefined : listPrices[name];
}

/** The models of a command-line agent by the short names that it takes; `""` is its default. */
const programModels: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  claude: {
    "": "anthropic/claude-opus-4-8",
    opus: "anthropic/claude-opus-4-8",
    sonnet: "anthropic/claude-sonnet-4",
    haiku: "anthropic/claude-haiku-4-5",
  },
  codex: { "": "openai/gpt-5" },
};

/**
 * The price of the model that a command-line agent uses, for estimates. `isExact` is false where the default of a
 * known program stands in for a model that is not named or not listed.
 */
export function priceOfProgram(
  program: string,
  model: string | undefined,
  own: Prices = {},
): { price: Price; isExact: boolean } | undefined {
  const known = programModels[program] ?? {};
  const provider = known[""]?.split("/")[0];
  const names = model === undefined ? [] : [model, `${provider}/${model}`, known[model] ?? ""];
  const exact = names.map((name) => priceOf(name, own)).find(Boolean);
  if (exact) return { price: exact, isExact: true };
  const usual = priceOf(known[""] ?? "", own);
  return usual && { price: usual, isExact: false };
}

/** `claude-haiku-4-5-20251001` is `claude-haiku-4-5`; `gpt-5-codex` is not `gpt-5`. */
const datedFrom = (model: string, start: string) =>
  model.startsWith(`${start}-`) &&
  /^-(\d{1,2}(-|$))?(\d{8}|\d{4}-\d{2}-\d{2}|latest)?$/.test(model.slice(start.length));

export function costOf(price: Price | undefined, usage: Usage): number | null {
  if (!price || usage.inputTokens === null || usage.outputTokens === null) return null;
  const read = usage.cacheReadTokens ?? 0;
  const write = usage.cacheWriteTokens ?? 0;
  const fresh = Math.max(0, usage.inputTokens - read - write);
  const total =
    fresh * price.input +
    read * (price.cacheRead ?? price.input) +
    write * (price.cacheWrite ?? price.input) +
    usage.outputTokens * price.output;
  return total / 1_000_000;
}
