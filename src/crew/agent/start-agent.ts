import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { networkPolicy } from "../../agents/network/policy.ts";
import { recordable } from "../../agents/reported.ts";
import {
  type Amount,
  type Meter,
  type Reservation,
  type RunResult,
  type RunSpec,
  unknownUsage,
  type WantedAmount,
} from "../../agents/runner.ts";
import { findSandbox, type SandboxPolicy } from "../../agents/sandbox.ts";
import { endSurvivors } from "../../agents/survivors.ts";
import { type Agent, type CrewPart, newTurn } from "../../kernel/caller.ts";
import type { Operation } from "../../kernel/operation.ts";
import { ok, type Problem, type Result } from "../../kernel/result.ts";
import { privateFolder } from "../../store/disk/private.ts";
import { contextsOf } from "../../store/queries/contexts.ts";
import { highestCost } from "../../store/queries/spends.ts";
import { leaseLost } from "../../tasks/lease.ts";
import { crewRole } from "../../wiki/role.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { takeSteering } from "../record/steering-messages.ts";
import { type Transcript, transcriptOf } from "../record/transcript.ts";
import { type Context, tokensIn } from "../rules/agent-context.ts";
import { answerTokensOf, type Bounds } from "../rules/breakers.ts";
import { steeringText } from "../rules/steering-text.ts";
import { type Allowances, meterOf } from "./budget.ts";
import type { Desk } from "./desk/place.ts";
import { actual, estimate } from "./estimate.ts";
import { chooseModel } from "./plan-model.ts";
import { bothSessions, endedWithoutDelivery, limitsLeft, reminder } from "./remind.ts";
import type { Staff } from "./staff.ts";
import { type Toolbox, toolbox } from "./toolbox.ts";

export type Start = {
  part: CrewPart;
  run: string;
  task?: { id: string; epoch: number; attempt: number };
  /**
   * Proves the claim on the task. Beside `task` instead of in it: `task` is recorded with what the agent is sent. The
   * agent itself does not see it; its session carries it.
   */
  secret?: string;
  agent: string;
  /** The model that the plan recommends; it overrides the configuration if its provider is configured. */
  model?: string | undefined;
  system: string;
  prompt: string;
  /** The parts of the prompt, if it was assembled from parts. */
  context?: Context;
  operations: readonly Operation<CrewApp>[];
  /** The name of the tool with which it delivers. */
  delivers: string;
  bounds: Bounds;
  /** Created on first use: an agent in this process reaches its folder only through tools. */
  folder: () => Promise<string>;
  /** True if a program may write to that folder itself. */
  write: boolean;
  beside?: NonNullable<Desk["beside"]>;
  /** What a verifier wrote into its folder, to be recorded with its verdict. */
  scratch?: () => Promise<string | null>;
};

export type Started = {
  result: RunResult;
  tools: Toolbox;
  /** The size of system text and prompt. */
  sentTokens: number;
  /** The refusal of the budget that the next call would have exceeded. */
  outOfBudget: Problem | undefined;
};

/** How long a program may run after it has delivered; some never end by themselves. */
const afterDeliveryMs = 60_000;
const survivorGraceMs = 2000;

/** Runs one agent with a context, tools and a meter of its own, and records what it was sent and what it used. */
export async function startAgent(crew: Staff, given: Start, outer: AbortSignal): Promise<Result<Started>> {
  const { app } = crew;
  const { part, run, task, agent, system, prompt, context, operations, bounds, delivers } = given;
  const playing = crew.agents(part);
  if (!playing.ok) return playing;
  const { runner, env } = playing.value;
  const schema = await app.schema();
  const role = schema.ok ? crewRole(schema.value, playing.value.role) : playing.value.role;
  const isProgram = !inProcess.has(runner.name);
  const sandboxPolicy = isProgram ? await sandboxPolicyFor(crew, given.write) : ok(undefined);
  if (!sandboxPolicy.ok) return sandboxPolicy;
  const { model, note } = chooseModel(playing.value, given.model, app.config.root);
  if (note) crew.tell?.({ kind: "model-not-used", run, ...(task ? { task: task.id } : {}), reason: note });
  const text = `${system}\n\n${prompt}`;
  const sent = { run, part, agent, runner: runner.name, model, text };
  await endAbandoned(app, task);
  const id = await app.contexts.begin({ ...sent, ...(task ? { task } : {}), ...(context ? { context } : {}) });

  const caller: Agent & { crew: NonNullable<Agent["crew"]> } = {
    kind: "agent",
    role: role ?? part,
    ...(task ? { task: task.id, epoch: task.epoch } : {}),
    ...(given.secret === undefined ? {} : { secret: given.secret }),
    turn: newTurn(run, true),
    crew: { run, part, agent, context: id, ...(given.scratch ? { scratch: given.scratch } : {}) },
  };
  const leash = leashOf(outer, part);
  const secrets = [...(given.secret === undefined ? [] : [given.secret])];
  const transcript = transcriptOf(app, run, id, secrets);
  transcript.add({ kind: "sent", runner: runner.name, model: model ?? null, system, prompt });
  const steering = steeringFor(app, given, transcript.add);
  const hasTurns = runner.name === "model";
  const tools = toolbox({
    ...{ app, caller, operations, bounds, delivers, onTrip: leash.pull, onDelivery: leash.letEnd },
    onCall: (call) => transcript.add({ kind: "call", call }),
    ...(steering && !hasTurns ? { messages: async () => (await steering("tool_result")).map(fromPerson) } : {}),
  });
  const { meter, refused } = metered(app, given, id, model, outer);
  const { attempt_minutes, idle_minutes, outage_minutes, budget } = app.config.crew;
  const outputTokens = budget.attempt_output_tokens;
  const cwd = isProgram ? await given.folder() : app.config.stateFolder;
  const repository = given.beside?.(cwd)?.repository;
  const spec: RunSpec = {
    id,
    prompt,
    system,
    env,
    tools,
    meter,
    cwd,
    ...(model ? { model } : {}),
    ...(sandboxPolicy.value
      ? { sandboxPolicy: { ...sandboxPolicy.value, ...(repository ? { repository } : {}) } }
      : {}),
    limits: {
      wallMs: attempt_minutes * 60_000,
      idleMs: idle_minutes * 60_000,
      afterResultMs: 10_000,
      answerTokens: answerTokensOf(app.config.crew, part),
      ...(outputTokens === undefined ? {} : { outputTokens }),
      // Only work on a task waits for a provider: a person who asked for a plan wants to hear of it at once.
      ...(task ? { outageMs: outage_minutes * 60_000 } : {}),
      ...bounds,
    },
    logFile: await logFile(app, id),
    onRetry: (reason) => {
      crew.tell?.({ kind: "model-retry", run, ...(task ? { task: task.id } : {}), reason });
      transcript.add({ kind: "retry", text: reason });
    },
    onEntry: transcript.add,
    ...(steering && hasTurns ? { messages: async () => (await steering("turn")).map(steeringText) } : {}),
    ...(task ? { onOutage: (reason) => void recordOutage(app, run, reason, agent) } : {}),
  };
  try {
    const asProgram = async () => {
      const reportedUsd = await highestCost(app.db.read, { run, part, model: model ?? null });
      const about = { runner, model, promptTokens: tokensIn(text), reportedUsd };
      const cost = (ran: RunResult) => actual(app.config.crew, runner.name, model, ran);
      const start = async (limits: NonNullable<Reservation["limits"]>) => {
        const served = await crew.serveTools(tools);
        try {
          const limited = { ...spec, mcp: served.mcp, limits: { ...spec.limits, ...limits } };
          const first = recordable(await runner.run(limited, leash.signal));
          if (leash.signal.aborted || !endedWithoutDelivery(first, tools)) return first;
          const left = limitsLeft(limited.limits, first, cost(first));
          if (!left) return first;
          const more = reminder(delivers, tools.made());
          await app.contexts.remind(id, more);
          transcript.add({ kind: "notice", text: more });
          crew.tell?.({ kind: "agent-reminded", run, ...(task ? { task: task.id } : {}), reason: notDelivered(given) });
          const again = { ...limited, prompt: `${prompt}\n\n${more}`, limits: left };
          return bothSessions(first, recordable(await runner.run(again, leash.signal)));
        } finally {
          await served.close();
        }
      };
      return withReservation(meter, estimate(app.config.crew, about), start, cost);
    };
    const { result, short } = isProgram
      ? await asProgram()
      : { result: recordable(await runner.run(spec, leash.signal)), short: undefined };
    const { usage, costUsd, destinations = null, compactions = [] } = result;
    const ended = tools.tripped() ?? result.ended;
    transcript.add({
      kind: "ended",
      reason: ended,
      error: result.error ?? null,
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cost_usd: costUsd,
    });
    await transcript.flush();
    await app.contexts.end(id, { ended, ...usage, costUsd, destinations, compactions });
    return ok({
      result,
      tools,
      sentTokens: tokensIn(text),
      outOfBudget: refused() ?? (tools.isDone?.() ? undefined : short),
    });
  } finally {
    leash.end();
    await transcript.flush();
  }
}

const notDelivered = ({ agent, delivers }: Start) =>
  `${agent} ended without calling ${delivers}; it is started once more with a reminder`;

/** Takes the messages of people that wait for a worker; other parts get none. */
function steeringFor(app: CrewApp, { part, task, agent }: Start, record: Transcript["add"]) {
  if (part !== "worker" || !task) return undefined;
  return async (how: "turn" | "tool_result") => {
    const taken = await takeSteering(app, { task: task.id, epoch: task.epoch, how, agent });
    for (const { id, sent_by, content } of taken) record({ kind: "steering", id, sent_by, content, delivered: how });
    return taken;
  };
}

const fromPerson = ({ sent_by, content }: { sent_by: string; content: string }) => ({ from: sent_by, content });

/** Runners that call tools directly and ask the meter before each model call; the others start programs. */
const inProcess = new Set(["model", "scripted"]);

async function sandboxPolicyFor(
  { app, sandbox: known }: Staff,
  write: boolean,
): Promise<Result<SandboxPolicy | undefined>> {
  const { sandbox, read, own, limits } = app.config.crew;
  const found = known ? ok(known) : await findSandbox(sandbox, app.config.environment);
  if (!found.ok || found.value.name === "none") return found.ok ? ok(undefined) : found;
  return ok({ sandbox: found.value, write, network: networkPolicy(app.config, "crew"), read, own, limits });
}

/** Shows in the run, and so in the inbox, that it waits for the provider of a model. */
async function recordOutage({ runs, log }: CrewApp, run: string, reason: string | null, agent: string): Promise<void> {
  const step = reason === null ? { type: "proceed" as const } : { type: "wait" as const, reason };
  await runs.step(run, step, agent).catch((error) => log.warn({ run, error: String(error) }, "outage-not-recorded"));
}

/** Ends agents of this task that a killed process left, so that no two work on it (V9). */
async function endAbandoned({ db }: CrewApp, task: Start["task"]): Promise<void> {
  const contexts = task ? await contextsOf(db.read, { task: task.id }) : [];
  const abandoned = contexts.filter(({ ended, runner }) => ended === null && !inProcess.has(runner));
  await Promise.all(abandoned.map(({ id }) => endSurvivors(id, survivorGraceMs)));
}

/** Aborts an agent that goes on after a breaker tripped, or does not end after it has delivered. */
function leashOf(outer: AbortSignal, part: CrewPart) {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onOuter = () => {
    // A verdict ends the claim of its verifier. Killed at the next renewal, it could not report its usage.
    if (part === "qc" && timer !== undefined && outer.reason === leaseLost) return;
    stop.abort(outer.reason);
  };
  if (outer.aborted) onOuter();
  else outer.addEventListener("abort", onOuter, { once: true });
  return {
    signal: stop.signal,
    pull: () => stop.abort(),
    letEnd: () => {
      timer ??= setTimeout(() => stop.abort(), afterDeliveryMs);
    },
    end: () => {
      clearTimeout(timer);
      outer.removeEventListener("abort", onOuter);
    },
  };
}

/** Reserves the maximum of a whole process at its start, and gives it the reservation as its limits. */
async function withReservation(
  meter: Meter,
  wanted: WantedAmount,
  run: (limits: NonNullable<Reservation["limits"]>) => Promise<RunResult>,
  cost: (result: RunResult) => Amount | null,
): Promise<{ result: RunResult; short: Problem | undefined }> {
  const held = await meter.reserve(wanted);
  if (!held.ok) return { result: notRun(held.problem.message), short: undefined };
  const { limits = {}, settle, short } = held.value;
  let spent: Amount | null = null;
  try {
    const result = await run(limits);
    spent = cost(result);
    const isShort = result.reached === "usd" || result.reached === "tokens";
    return { result, short: isShort ? short : undefined };
  } finally {
    await settle(spent);
  }
}

const notRun = (error: string): RunResult => ({
  exitCode: null,
  errorTail: error,
  error,
  ended: "limit",
  usage: { ...unknownUsage, toolCalls: 0, messages: 0 },
  costUsd: null,
  durationMs: 0,
});

/** The meter of one agent; it remembers a refusal, because an exhausted budget does not fail the attempt. */
function metered(
  app: CrewApp,
  { run, task, secret, part, agent }: Start,
  context: string,
  model: string | undefined,
  signal: AbortSignal,
) {
  const { budget } = app.config.crew;
  const allowances: Allowances = {
    task: { tokens: budget.task_tokens, usd: budget.task_usd },
    attempt: { tokens: budget.attempt_tokens, usd: budget.attempt_usd },
  };
  const claim = { task: task?.id ?? null, epoch: task?.epoch ?? null, secret };
  const meter = meterOf(app, { run, ...claim, part, context, model: model ?? null, agent }, allowances, signal);
  let refused: Problem | undefined;
  return {
    refused: () => refused,
    meter: {
      async reserve(wanted: WantedAmount) {
        const held = await meter.reserve(wanted);
        if (!held.ok) refused = held.problem;
        return held;
      },
    },
  };
}

async function logFile({ config }: CrewApp, context: string): Promise<string> {
  const folder = config.agent?.logDir ?? join(config.stateFolder, "agent-logs");
  await mkdir(folder, privateFolder);
  return join(folder, `${context}.log`);
}
