import type { Operation } from "../../kernel/operation.ts";
import { ok, type Result } from "../../kernel/result.ts";
import type { CrewApp } from "../record/crew-app.ts";
import type { Spent } from "../record/facts.ts";
import type { Context } from "../rules/agent-context.ts";
import type { Bounds } from "../rules/breakers.ts";
import { type Desk, folderOf } from "./desk/place.ts";
import { deskTools } from "./desk.ts";
import type { Staff } from "./staff.ts";
import { type Started, startAgent } from "./start-agent.ts";

export type Assignment = {
  part: "worker" | "qc";
  run: string;
  task: { id: string; epoch: number; attempt: number };
  /** Of the claim on the task. */
  secret: string;
  agent: string;
  model: string | undefined;
  system: string;
  context: Context;
  desk: Desk;
  /** Beside those of its part and its desk. */
  tools?: readonly Operation<CrewApp>[];
  bounds: Bounds;
  delivers: string;
  scratch?: () => Promise<string | null>;
};

export type AgentRun = Started & { spent: Spent };

/** Runs one agent on a task, at a desk of its own. */
export async function runForTask(staff: Staff, given: Assignment, signal: AbortSignal): Promise<Result<AgentRun>> {
  const { context, desk, tools: further = [], ...rest } = given;
  const began = Date.now();
  const operations = [...staff.operationsFor(given.part), ...deskTools(desk, given.part), ...further];
  const place = { folder: () => folderOf(desk), write: desk.write, ...(desk.beside ? { beside: desk.beside } : {}) };
  const started = await startAgent(staff, { ...rest, ...place, context, prompt: context.text, operations }, signal);
  if (!started.ok) return started;
  const { result, tools, sentTokens } = started.value;
  const { inputTokens, outputTokens, messages } = result.usage;
  const used = { inputTokens, outputTokens, messages, toolCalls: tools.calls(), contextTokens: sentTokens };
  return ok({ ...started.value, spent: { durationMs: Date.now() - began, ...used, costUsd: result.costUsd } });
}
