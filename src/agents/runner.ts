import type { Operation } from "../kernel/operation.ts";
import type { Result } from "../kernel/result.ts";
import type { Walls } from "./sandbox.ts";

/** A way to run an agent once: a command-line program as a subprocess, a model over an API, or a script. */
export interface Runner {
  readonly name: string;
  /** Resolves when nothing of the run is left. Aborting `signal` ends it; what went wrong is in the result. */
  run(spec: RunSpec, signal: AbortSignal): Promise<RunResult>;
}

export type RunSpec = {
  id: string;
  prompt: string;
  /** What stands before the prompt for runners that can tell the two apart; others put it first. */
  system?: string;
  cwd: string;
  /** All of the environment that the agent gets, beside what its runner needs to run at all. */
  env: Record<string, string>;
  model?: string;
  /** The MCP server the agent is given, and nothing else. */
  mcp?: { name: string; command: string; args: string[]; env: Record<string, string> };
  /** For in-process runners: the same operations, bound to one caller. */
  tools?: Toolset;
  limits: Limits;
  /** For runners that start a program; without walls it reaches all that this process reaches. */
  walls?: Walls;
  /** Asked before every call to a model that the runner makes itself; a refusal ends the run. */
  meter?: Meter;
  /** Where everything the agent prints goes. */
  logFile?: string;
};

/** What a call may cost at the most is set aside before it is made, and put right when it is over. */
export interface Meter {
  reserve(wanted: { tokens: number; usd: number | null }): Promise<Result<Reservation>>;
}
export interface Reservation {
  /** Whether a budget in tokens or in dollars stands behind it: then it is all that there is. */
  limits?: { tokens: boolean; usd: boolean };
  /** What it came to; null keeps what was set aside, for calls of which nobody knows what they cost. */
  settle(spent: { tokens: number; usd: number | null } | null): Promise<void>;
}

export type Limits = {
  wallMs: number;
  /** Without any output. */
  idleMs?: number;
  /** After the agent has said that it is done; some wait for ever on what they started. */
  afterResultMs?: number;
  toolCalls?: number;
  messages?: number;
  outputTokens?: number;
  /** Of all kinds together, and their price: what was set aside for a program, as far as it tells what it uses. */
  tokens?: number;
  usd?: number;
};

export type Toolset = {
  operations: readonly Operation[];
  call(name: string, raw: unknown): Promise<Result<unknown>>;
  /** True once the agent has delivered what it was started for; a runner that can then ends the run. */
  isDone?(): boolean;
};

/** What is not known is null, never 0. */
export type Usage = {
  inputTokens: number | null;
  outputTokens: number | null;
  cacheReadTokens: number | null;
  cacheWriteTokens: number | null;
  toolCalls: number | null;
  messages: number | null;
};

export type Ended = "exit" | "timeout" | "idle" | "after-result" | "stopped" | "limit" | "spawn-error";

export type RunResult = {
  exitCode: number | null;
  /** The last 4 KiB of what it wrote to stderr. */
  errorTail: string;
  /** Why it did not end well, in a sentence, as far as the runner can tell. */
  error?: string;
  ended: Ended;
  usage: Usage;
  costUsd: number | null;
  durationMs: number;
};

export const unknownUsage: Usage = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  toolCalls: null,
  messages: null,
};
