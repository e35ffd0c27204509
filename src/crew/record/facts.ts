import { createHash } from "node:crypto";
import type { Statement } from "../../store/crew-tables.ts";

/** The claim that a write is made under. A newer claim on the task refuses the write, and so does another secret. */
export type Fence = { task: string; epoch: number; secret: string | undefined };

/** Usage of one agent; null is unknown. */
export type Spent = {
  durationMs: number;
  inputTokens: number | null;
  outputTokens: number | null;
  toolCalls: number | null;
  messages: number | null;
  contextTokens: number | null;
  costUsd: number | null;
};

export type Output = {
  output: string;
  statements: Statement[];
  decisions: string[];
  cites: string[];
  /** Statements that rest on passages which lost their trust. */
  doubted?: { statement: string; doubt: string }[];
};

/** The files of an attempt according to git. */
export type Deliverable = { hash: string; filesChanged: string[]; branch: string | null; commit: string | null };

export const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

/** The sum of the known values; null if none is known. */
export const known = (values: (number | null)[]): number | null => {
  const there = values.filter((value) => value !== null);
  return there.length === 0 ? null : there.reduce((sum, value) => sum + value, 0);
};
