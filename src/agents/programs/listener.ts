import type { Control } from "../process.ts";
import type { Limits, Usage } from "../runner.ts";

/** Reads the events that a program prints, for logs, limits and usage; never to judge the work. */
export type Listener = {
  line(text: string, control: Control): void;
  summary(): { usage: Usage; costUsd: number | null; error?: string };
};

/** A line of JSON as an event; undefined for any other line. */
export function parseEvent<T extends object>(text: string): T | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}

/** Null when the program did not report it. */
export const count = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : null);

/** Which limit is exceeded, in words. */
export function overLimit(
  limits: Limits,
  spent: { toolCalls: number; messages: number; outputTokens: number; tokens?: number },
): string | undefined {
  const names = { toolCalls: "tool calls", messages: "messages", outputTokens: "output tokens", tokens: "tokens" };
  for (const key of ["toolCalls", "messages", "outputTokens", "tokens"] as const) {
    const max = limits[key];
    if (max !== undefined && (spent[key] ?? 0) > max) return `exceeded its limit of ${max} ${names[key]}`;
  }
  return undefined;
}
