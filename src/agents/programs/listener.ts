import type { Control } from "../process.ts";
import type { Limits, Usage } from "../runner.ts";

type Summary = {
  usage: Usage;
  costUsd: number | null;
  error?: string;
  reached?: keyof Limits;
  /** False when it failed before its model said anything, for want of a login or a connection. */
  hasBegun?: boolean;
};

/** Reads the events that a program prints, for logs, limits and usage; never to judge the work. */
export type Listener = {
  line(text: string, control: Control): void;
  summary(): Summary;
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

type Counted = { toolCalls: number; messages: number; outputTokens: number; tokens?: number };
type Exceeded = { limit: keyof Limits; reason: string };

/** The limit that is exceeded, if any. */
export function overLimit(limits: Limits, spent: Counted): Exceeded | undefined {
  const names = { toolCalls: "tool calls", messages: "messages", outputTokens: "output tokens", tokens: "tokens" };
  for (const limit of ["toolCalls", "messages", "outputTokens", "tokens"] as const) {
    const max = limits[limit];
    if (max !== undefined && (spent[limit] ?? 0) > max) {
      return { limit, reason: `exceeded its limit of ${max} ${names[limit]}` };
    }
  }
  return undefined;
}
