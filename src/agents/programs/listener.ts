import type { Control } from "../process.ts";
import type { Limits, Usage } from "../runner.ts";

type Summary = {
  usage: Usage;
  costUsd: number | null;
  error?: string;
  reached?: keyof Limits;
  /** It failed because of its model's provider: an outage that passes, or one that a person must end. */
  outage?: "passes" | "person";
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

/** What a program's error says of its model's provider; undefined if it concerns something else. */
export function outageIn(status: number | undefined, said: string): Summary["outage"] {
  const found = status ?? Number(/\b(?:status:?|API Error:?) (\d{3})\b/i.exec(said)?.[1] ?? 0);
  if ([401, 402, 403, 404].includes(found)) return "person";
  if ([408, 409, 429].includes(found) || found >= 500) return "passes";
  return /overloaded|connection (?:error|refused|reset)|unable to connect|stream disconnected|timed? ?out/i.test(said)
    ? "passes"
    : undefined;
}

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
