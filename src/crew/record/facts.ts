import { createHash } from "node:crypto";
import type { Statement } from "../rules/verdict.ts";

/** What a write is made under: the claim on a task. A newer claim makes it refusable. */
export type Fence = { task: string; epoch: number };

/** What an agent used; null is not known. */
export type Spent = {
  durationMs: number;
  inputTokens: number | null;
  outputTokens: number | null;
  toolCalls: number | null;
  messages: number | null;
  contextTokens: number | null;
  costUsd: number | null;
};

export type Output = { output: string; statements: Statement[]; decisions: string[]; cites: string[] };

/** What became of the files, as git tells it. */
export type Deliverable = { hash: string; filesChanged: string[]; branch: string | null; commit: string | null };

export const longestOutput = 50_000;
export const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

/** Who judges what no agent needs to look at. */
export const bySystem = "scriptorium";

/** The sum of what is known; null when nothing is. */
export const known = (values: (number | null)[]): number | null => {
  const there = values.filter((value) => value !== null);
  return there.length === 0 ? null : there.reduce((sum, value) => sum + value, 0);
};
