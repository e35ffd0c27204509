import type { DestinationUse } from "../kernel/destination-use.ts";
import type { Operation } from "../kernel/operation.ts";
import type { Problem, Result } from "../kernel/result.ts";
import type { SandboxPolicy } from "./sandbox.ts";

/** Runs an agent once: a command-line program, a model over an API, or a script. */
export interface Runner {
  readonly name: string;
  /** The budget limits at which a run of it stops while it works; others are known when it has ended. */
  readonly enforces?: readonly ("tokens" | "usd")[];
  /** Refuses what is known to fail before it is started: a missing program or key. */
  check?(wanted: Pick<RunSpec, "cwd" | "env"> & { model: string | undefined }): Result<true>;
  /** Resolves when no process of the run is left. Aborting `signal` stops it. Failures are in the result, not thrown. */
  run(spec: RunSpec, signal: AbortSignal): Promise<RunResult>;
}

export type RunSpec = {
  id: string;
  prompt: string;
  /** The system prompt; runners without one put it before the prompt. */
  system?: string;
  cwd: string;
  /** The agent's whole environment, apart from variables that its runner adds. */
  env: Record<string, string>;
  model?: string;
  /** The only MCP server that the agent gets. */
  mcp?: { name: string; command: string; args: string[]; env: Record<string, string> };
  /** For in-process runners: the same operations, bound to one caller. */
  tools?: Toolset;
  limits: Limits;
  /** For runners that start a program. Without it, the program can reach everything that this process can. */
  sandboxPolicy?: SandboxPolicy;
  /** Called before every model call that the runner makes itself; a refusal ends the run. */
  meter?: Meter;
  /** Called before a model call that failed is repeated, with the cause. */
  onRetry?(message: string): void;
  /** Called when the provider has failed for a while, with the cause, and without one when it answers again. */
  onOutage?(message: string | null): void;
  /**
   * Called between two turns by runners that can: messages of people for the agent. Other agents get them with the
   * results of their tools.
   */
  messages?(): Promise<string[]>;
  /** Called with what the agent says and does, in order, for its transcript. */
  onEntry?(entry: TranscriptEntry): void;
  /** Receives everything that the agent prints. */
  logFile?: string;
};

/** An amount that is requested before it is spent; null dollars are unknown. */
export type Amount = { tokens: number; usd: number | null };
/** `least` is the smallest amount that is of use to an agent that stops at its limit; such an agent takes what is left. */
export type WantedAmount = Amount & { least?: { tokens: number; usd: number } };

/** Reserves the maximum cost of a call before it is made; the reservation is settled with the actual cost. */
export interface Meter {
  reserve(wanted: WantedAmount): Promise<Result<Reservation>>;
}
export interface Reservation {
  /** The reserved amounts, in the units that a budget limits; they must not be exceeded. */
  limits?: { tokens?: number; usd?: number };
  /** The budget that had room for less than was wanted. */
  short?: Problem;
  /** The actual cost; null, when it is unknown, counts the whole reservation as spent. */
  settle(spent: Amount | null): Promise<void>;
}

export type Limits = {
  wallMs: number;
  /** Maximum time without output. */
  idleMs?: number;
  /** Maximum time after the agent reported its result; some then wait for ever for processes they started. */
  afterResultMs?: number;
  toolCalls?: number;
  messages?: number;
  /** Output tokens of one answer; only for models over an API, as programs set their own. */
  answerTokens?: number;
  /** Output tokens of all answers together. */
  outputTokens?: number;
  /** How long to go on asking a provider that is out of service; the time does not count as the agent's. */
  outageMs?: number;
  /** Input and output together, and their price; enforced for programs as far as they report usage. */
  tokens?: number;
  usd?: number;
};

export type Toolset = {
  operations: readonly Operation[];
  call(name: string, raw: unknown, idempotencyKey?: string): Promise<Result<unknown>>;
  /** True once the agent has delivered its result; runners that can, end the run then. */
  isDone?(): boolean;
  /** The name of the tool with which it delivers. */
  delivers?: string;
  /** Tools that a runner may offer in these few words, because every call to a model repeats the schemas of all tools. */
  rare?: ReadonlyMap<string, string>;
};

/** Unknown values are null, never 0. */
export type Usage = {
  inputTokens: number | null;
  outputTokens: number | null;
  cacheReadTokens: number | null;
  cacheWriteTokens: number | null;
  toolCalls: number | null;
  messages: number | null;
};

/** `outage`: the provider of the model did not serve it; nothing is known against the agent's work. */
export type EndReason = "exit" | "timeout" | "idle" | "after-result" | "stopped" | "limit" | "outage" | "spawn-error";

export type RunResult = {
  exitCode: number | null;
  /** The last 4 KiB of stderr. */
  errorTail: string;
  /** Why it failed, in a sentence, if the runner knows. */
  error?: string;
  ended: EndReason;
  /** The limit that it reached, if one ended it. */
  reached?: keyof Limits;
  /** After an outage: whether it passes by itself, or a person must act first, as for a rejected key. */
  outage?: "passes" | "person";
  /** What was removed from the conversation so that it fits into the model's context. */
  compactions?: Compaction[];
  usage: Usage;
  costUsd: number | null;
  durationMs: number;
  /** Every destination that a sandboxed program used or was refused; null if that is not known. */
  destinations?: DestinationUse[] | null;
};

export type Compaction = { call: number; characters: number; removed: string[] };

/** One entry of an agent's transcript. */
export type TranscriptEntry =
  /** What it was sent to begin with. */
  | { kind: "sent"; runner: string; model: string | null; system: string; prompt: string }
  /** What it said. */
  | { kind: "said"; text: string; cut?: true; output_tokens?: number | null }
  /** A call of one of our tools, whose input and answer are recorded by themselves. */
  | { kind: "call"; call: string }
  /** A call of one of its own tools. */
  | { kind: "own_call"; id: string; tool: string; input: unknown }
  | { kind: "own_result"; id: string; ok: boolean; output: string }
  /** A message of a person. */
  | { kind: "steering"; id: string; sent_by: string; content: string; delivered: "turn" | "tool_result" | "context" }
  /** What the system told it, or says about it: a reminder, a removed part of its conversation. */
  | { kind: "notice"; text: string }
  /** A model call that failed and is repeated. */
  | { kind: "retry"; text: string }
  /** A line that it printed in no known form. */
  | { kind: "printed"; text: string }
  | {
      kind: "ended";
      reason: string;
      error: string | null;
      input_tokens: number | null;
      output_tokens: number | null;
      cost_usd: number | null;
    };

export const unknownUsage: Usage = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  toolCalls: null,
  messages: null,
};
