import type { RunResult, RunSpec, Toolset } from "../../src/agents/runner.ts";
import { scriptedRunner } from "../../src/agents/scripted.ts";
import type { App } from "../../src/app.ts";
import type { Staff } from "../../src/crew/agent/staff.ts";
import { type Crew, openCrew } from "../../src/crew/attempt/crew.ts";
import type { CrewAgents, News } from "../../src/crew/record/run-host.ts";
import type { PlanTask } from "../../src/crew/rules/plan.ts";
import { operationsFor, serveTools } from "../../src/crew-tools.ts";
import type { CrewPart } from "../../src/kernel/caller.ts";
import { ok, unwrap } from "../../src/kernel/result.ts";
import { operations } from "../../src/operation-list.ts";
import { person } from "./workspace.ts";

export type Use = (name: string, input?: Record<string, unknown>) => Promise<Record<string, unknown>>;

/** What a scripted agent sees: the number and attempt of its task, what it was told, and its tools. */
export type Scene = { number: string; retry: boolean; told: string; use: Use; spec: RunSpec; signal: AbortSignal };
export type Play = (scene: Scene) => Promise<Partial<RunResult> | undefined | undefined>;

/** Agents that are functions: one for each part. */
export function playing(parts: Partial<Record<CrewPart, Play>>): CrewAgents {
  return (part) =>
    ok({
      runner: scriptedRunner(async (spec, signal) => {
        const number = /^# (?:Verify task|Task) ([\d.]+)/m.exec(spec.prompt)?.[1] ?? "";
        const retry = /^Output of attempt \d+ /m.test(spec.prompt);
        const said = await parts[part]?.({ number, retry, told: spec.prompt, use: using(spec.tools), spec, signal });
        return { usage: { ...counted, ...(said ? said.usage : {}) }, ...(said ?? {}) };
      }),
      model: undefined,
      role: part === "qc" ? "architect" : part === "pm" ? "planner" : "engineer",
      env: {},
    });
}

const counted = {
  inputTokens: 100,
  outputTokens: 10,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  toolCalls: 1,
  messages: 2,
};

const using =
  (tools: Toolset | undefined): Use =>
  async (name, input = {}) => {
    const result = await tools?.call(name, input);
    if (!result) throw new Error("no tools");
    return (result.ok ? result.value : { refused: result.problem.message, code: result.problem.code }) as Record<
      string,
      unknown
    >;
  };

/** A task of a plan, with what does not matter filled in. */
export const planned = (number: string, more: Partial<PlanTask> = {}): PlanTask => ({
  number,
  title: `Do ${number}`,
  requirements: `Make ${number} so.`,
  worker_role: "an engineer",
  qc_role: "a critical reviewer",
  verification: [{ criterion: `${number} is made` }],
  execution: ["write the file with write_file"],
  max_retries: 2,
  depends_on: number === "0" ? [] : ["0"],
  files: [],
  deliverable: number === "0" ? "text" : "files",
  notes: "",
  ...more,
});

export async function newRun(app: App, tasks: PlanTask[], request = "Do it"): Promise<string> {
  const plan = { request, title: "A run", summary: "", assumptions: [], cites: [], tasks };
  return unwrap(await operations.submit_plan.perform(app, plan, person())).run;
}

/** Writes a file and says so. */
export const writes =
  (text: (number: string) => string = (number) => `${number}\n`): Play =>
  async ({ number, use }) => {
    if (number !== "0") await use("write_file", { path: `out/${number}.txt`, content: text(number) });
    await use("submit_output", { output: `made ${number}` });
  };

export const verdictOf = (met: boolean, more: Record<string, unknown> = {}) => ({
  verdict: met ? "PASS" : "FAIL",
  score: met ? 92 : 40,
  feedback: met ? "It is as asked." : "It is not as asked.",
  issues: met ? [] : ["it is wrong"],
  required_fixes: met ? [] : ["make it right"],
  evidence: [{ criterion: 1, met, quote: "seen", from: "file out" }],
  ...more,
});

export const passes: Play = async ({ number, use }) => {
  const from =
    number === "0" ? { evidence: [{ criterion: 1, met: true, quote: `made ${number}`, from: "output" }] } : {};
  await use("submit_verdict", verdictOf(true, from));
};

export const staffOf = (app: App, agents: CrewAgents): Staff => ({ app, agents, operationsFor, serveTools });

export async function crewWith(app: App, agents: CrewAgents): Promise<Crew> {
  return unwrap(await openCrew(staffOf(app, agents), () => undefined));
}

export async function executed(
  app: App,
  run: string,
  agents: CrewAgents,
  more: { workers?: number; signal?: AbortSignal; news?: News[]; budgetTokens?: number } = {},
) {
  const { workers = 3, signal, news, budgetTokens } = more;
  const unsubscribe = app.host.onNews((one) => void news?.push(one));
  try {
    const started = unwrap(await app.host.execute(run, { workers, agents, signal, by: "Ada", budgetTokens }));
    return unwrap(await started.ended);
  } finally {
    unsubscribe();
  }
}
