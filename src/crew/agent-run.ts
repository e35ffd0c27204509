import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Meter, Reservation, RunResult, RunSpec } from "../agents/runner.ts";
import type { Config } from "../config.ts";
import { type Agent, type CrewPart, newTurn } from "../people/caller.ts";
import { ok, type Problem, type Result } from "../result.ts";
import type { Bounds } from "./breakers.ts";
import { meterOf } from "./budget.ts";
import type { Context } from "./context.ts";
import { tokensIn } from "./context.ts";
import type { Crew } from "./crew.ts";
import { type Desk, deskTools, folderOf } from "./desk.ts";
import type { Spent } from "./recorded.ts";
import { type Toolbox, toolbox } from "./toolbox.ts";

export type Assignment = {
  part: CrewPart;
  run: string;
  task: { id: string; epoch: number; attempt: number };
  agent: string;
  /** A model that the plan recommends; the configuration goes before it where it names one. */
  model: string | undefined;
  system: string;
  context: Context;
  desk: Desk;
  bounds: Bounds;
  delivers: string;
};

export type AgentRun = {
  result: RunResult;
  tools: Toolbox;
  spent: Spent;
  /** A budget that had no room for the next call, and whose it was. */
  outOfBudget: Problem | undefined;
};

/** Starts one agent with its own context, its own tools and its own meter, and records what it was sent and what it used. */
export async function runAgent(crew: Crew, given: Assignment, signal: AbortSignal): Promise<Result<AgentRun>> {
  const { app, agents } = crew;
  const { contexts } = app;
  const { part, run, task, agent, system, context, desk, bounds, delivers } = given;
  const playing = agents(part);
  if (!playing.ok) return playing;
  const { runner, role, env } = playing.value;
  const model = playing.value.model ?? (runner.name === "model" ? given.model : undefined);
  const began = Date.now();
  const sent = { run, task, part, agent, runner: runner.name, model, text: `${system}\n\n${context.text}`, context };
  const contextId = await contexts.begin(sent);

  const caller: Agent & { crew: NonNullable<Agent["crew"]> } = {
    kind: "agent",
    role: role ?? part,
    task: task.id,
    epoch: task.epoch,
    turn: newTurn(run, true),
    crew: { run, part, agent, context: contextId },
  };
  const operations = [...crew.operationsFor(part), ...deskTools(desk)];
  const tools = toolbox({ app, contexts, caller, operations, bounds, delivers });
  const { meter, refused } = metered(crew, given, contextId, model);

  const spec: RunSpec = {
    id: contextId,
    prompt: context.text,
    system,
    // An agent in this process reaches its folder through its tools, which make it when it is needed.
    cwd: inProcess.has(runner.name) ? app.config.stateFolder : await folderOf(desk),
    env,
    ...(model ? { model } : {}),
    tools,
    limits: {
      wallMs: app.config.crew.attempt_minutes * 60_000,
      idleMs: app.config.crew.idle_minutes * 60_000,
      afterResultMs: 10_000,
      ...bounds,
    },
    meter,
    logFile: await logFile(crew, contextId),
  };
  const wanted = forPrograms(app.config.crew.budget, context, bounds);
  const result = await reserved(runner.name, meter, wanted, async () => {
    if (inProcess.has(runner.name)) return runner.run(spec, signal);
    const served = await crew.serveTools(tools);
    try {
      return await runner.run({ ...spec, mcp: served.mcp }, signal);
    } finally {
      await served.close();
    }
  });
  const { usage, costUsd } = result;
  await contexts.end(contextId, { ended: tools.tripped() ?? result.ended, ...usage, costUsd });
  const spent = {
    durationMs: Date.now() - began,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    toolCalls: tools.calls(),
    messages: usage.messages,
    contextTokens: tokensIn(sent.text),
    costUsd,
  };
  return ok({ result, tools, spent, outOfBudget: refused() });
}

/** These call tools directly and ask the meter before each call; the others are programs with a life of their own. */
const inProcess = new Set(["model", "scripted"]);

/** What a program of its own uses is known when it ends: a whole attempt is set aside for it. */
async function reserved(
  runner: string,
  meter: Meter,
  wanted: Parameters<Meter["reserve"]>[0],
  run: () => Promise<RunResult>,
): Promise<RunResult> {
  if (inProcess.has(runner)) return run();
  const held = await meter.reserve(wanted);
  if (!held.ok) return notRun(held.problem.message);
  const result = await run();
  await held.value.settle(settled(result));
  return result;
}

const forPrograms = (budget: Config["crew"]["budget"], context: Context, bounds: Bounds) => ({
  tokens: budget.attempt_tokens ?? (tokensIn(context.text) + promptOfPrograms) * expectedCalls + bounds.outputTokens,
  usd: budget.attempt_usd ?? null,
});

/** Command-line agents send instructions and tools of their own with every call. */
const promptOfPrograms = 15_000;
const expectedCalls = 6;

const settled = ({ usage, costUsd }: RunResult): Parameters<Reservation["settle"]>[0] =>
  usage.inputTokens === null || usage.outputTokens === null
    ? null
    : {
        tokens: usage.inputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0) + usage.outputTokens,
        usd: costUsd,
      };

const notRun = (error: string): RunResult => ({
  exitCode: null,
  errorTail: error,
  error,
  ended: "limit",
  usage: {
    inputTokens: null,
    outputTokens: null,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    toolCalls: 0,
    messages: 0,
  },
  costUsd: null,
  durationMs: 0,
});

/** The meter of one agent, which remembers a refusal: an empty budget is no fault of the work. */
function metered({ app }: Crew, { run, task, part, agent }: Assignment, context: string, model: string | undefined) {
  const { budget } = app.config.crew;
  const allowances = {
    task: { tokens: budget.task_tokens, usd: budget.task_usd },
    attempt: { tokens: budget.attempt_tokens, usd: budget.attempt_usd },
  };
  const purpose = { run, task: task.id, epoch: task.epoch, part, context, model: model ?? null, agent };
  const meter = meterOf(app, purpose, allowances);
  let refused: Problem | undefined;
  return {
    refused: () => refused,
    meter: {
      async reserve(wanted: Parameters<Meter["reserve"]>[0]) {
        const held = await meter.reserve(wanted);
        if (!held.ok) refused = held.problem;
        return held;
      },
    },
  };
}

async function logFile({ app }: Crew, context: string): Promise<string> {
  const folder = app.config.agent?.logDir ?? join(app.config.stateFolder, "agent-logs");
  await mkdir(folder, { recursive: true });
  return join(folder, `${context}.log`);
}
