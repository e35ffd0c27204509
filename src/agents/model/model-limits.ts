/** The tokens that a model takes: its context, which holds input and answer together, and its longest answer. */
export type ModelLimits = { contextTokens: number; answerTokens: number };

/** The part of a model's configuration that overrides what is known of it. */
export type OwnModelLimits = Readonly<Record<string, Partial<ModelLimits>>>;

/**
 * By the beginning of the model's name, longest first; the providers' documentation on 2026-11-18. A limit that is too
 * high is corrected by the server's refusal, one that is too low only compacts earlier.
 */
const known: readonly [start: string, limits: ModelLimits][] = [
  ["anthropic/claude-3-5", { contextTokens: 200_000, answerTokens: 8192 }],
  ["anthropic/claude-opus-4-0", { contextTokens: 200_000, answerTokens: 32_000 }],
  ["anthropic/claude-opus-4-1", { contextTokens: 200_000, answerTokens: 32_000 }],
  ["anthropic/claude", { contextTokens: 200_000, answerTokens: 64_000 }],
  ["openai/gpt-4o", { contextTokens: 128_000, answerTokens: 16_384 }],
  ["openai/gpt-4.1", { contextTokens: 1_047_576, answerTokens: 32_768 }],
  ["openai/gpt-5", { contextTokens: 400_000, answerTokens: 128_000 }],
  ["openai/o", { contextTokens: 200_000, answerTokens: 100_000 }],
];

const unknown: ModelLimits = { contextTokens: 128_000, answerTokens: 32_000 };

export function limitsOf(model: string, own: OwnModelLimits = {}): ModelLimits {
  const [, found = unknown] =
    known.filter(([start]) => model.startsWith(start)).sort(([a], [b]) => b.length - a.length)[0] ?? [];
  return { ...found, ...own[model] };
}
