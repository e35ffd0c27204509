import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunResult, RunSpec } from "../agents/runner.ts";
import type { Operation } from "../operation.ts";
import { type Agent, type CrewPart, newTurn } from "../people/caller.ts";
import { ok, type Result, refuse } from "../result.ts";
import type { Bounds } from "./breakers.ts";
import { meterOf } from "./budget.ts";
import type { Planning } from "./planning.ts";
import { toolbox } from "./toolbox.ts";

type Solo = {
  part: CrewPart;
  run: string;
  system: string;
  prompt: string;
  operations: readonly Operation[];
  delivers: string;
  bounds: Bounds;
  /** Where it works; an empty folder of its own if left out. */
  folder?: string;
};

const inProcess = new Set(["model", "scripted"]);

/** One agent for the run as a whole, without a task: the prompt architect, the planner, the writer of preambles. */
export async function runSolo(
  crew: Planning,
  given: Solo,
  signal: AbortSignal,
): Promise<Result<{ delivered: boolean; why: string }>> {
  const { app } = crew;
  const playing = crew.agents(given.part);
  if (!playing.ok) return playing;
  const { runner, model, role, env } = playing.value;
  const { part, run, system, prompt } = given;
  const agent = `${part}-${app.newId("a").slice(-6)}`;
  const context = await app.contexts.begin({
    run,
    part,
    agent,
    runner: runner.name,
    model,
    text: `${system}\n\n${prompt}`,
  });
  const caller: Agent & { crew: NonNullable<Agent["crew"]> } = {
    kind: "agent",
    role: role ?? part,
    turn: newTurn(run, true),
    crew: { run, part, agent, context },
  };
  const tools = toolbox({
    app,
    contexts: app.contexts,
    caller,
    operations: given.operations,
    bounds: given.bounds,
    delivers: given.delivers,
  });
  const folder = given.folder ?? (await mkdtemp(join(tmpdir(), "scriptorium-agent-")));
  const logs = app.config.agent?.logDir ?? join(app.config.stateFolder, "agent-logs");
  await mkdir(logs, { recursive: true });
  const purpose = { run, task: null, epoch: null, part, context, model: model ?? null, agent };
  const { attempt_minutes, idle_minutes } = app.config.crew;
  const spec: RunSpec = {
    ...{
      id: context,
      prompt,
      system,
      cwd: folder,
      env,
      tools,
      meter: meterOf(app, purpose, { task: {}, attempt: {} }),
    },
    ...(model ? { model } : {}),
    limits: { wallMs: attempt_minutes * 60_000, idleMs: idle_minutes * 60_000, afterResultMs: 10_000, ...given.bounds },
    logFile: join(logs, `${context}.log`),
  };
  try {
    const result = inProcess.has(runner.name)
      ? await runner.run(spec, signal)
      : await served(crew, spec, (whole) => runner.run(whole, signal));
    await app.contexts.end(context, {
      ended: tools.tripped() ?? result.ended,
      ...result.usage,
      costUsd: result.costUsd,
    });
    if (signal.aborted) return refuse("refused", "stopped before it was done");
    return ok({ delivered: tools.isDone?.() ?? false, why: tools.tripped() ?? whyNot(result) });
  } finally {
    if (!given.folder) await rm(folder, { recursive: true, force: true });
  }
}

async function served(crew: Planning, spec: RunSpec, run: (spec: RunSpec) => Promise<RunResult>): Promise<RunResult> {
  const socket = await crew.serveTools(spec.tools as NonNullable<RunSpec["tools"]>);
  try {
    return await run({ ...spec, mcp: socket.mcp });
  } finally {
    await socket.close();
  }
}

const whyNot = ({ ended, error, errorTail }: RunResult) =>
  error ?? (errorTail.trim() === "" ? `it ended (${ended}) without handing anything in` : errorTail.trim().slice(-500));
