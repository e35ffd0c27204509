import type { RunResult, RunSpec, Toolset } from "../../src/agents/runner.ts";
import { scriptedRunner } from "../../src/agents/scripted.ts";
import type { App } from "../../src/app.ts";
import type { Staff } from "../../src/crew/agent/staff.ts";
import { type Crew, openCrew } from "../../src/crew/attempt/crew.ts";
import type { CrewAgents, News } from "../../src/crew/record/run-host.ts";
import type { Plan, PlanTask } from "../../src/crew/rules/plan.ts";
import { operationsFor, serveTools } from "../../src/crew-tools.ts";
import type { CrewPart } from "../../src/kernel/caller.ts";
import { ok, type Result, unwrap } from "../../src/kernel/result.ts";
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

/** The calls with which a planner submits a plan. */
export const handInCalls = ({ tasks, ...head }: Plan) => [
  { name: "add_plan_tasks", input: { tasks } },
  { name: "finish_plan", input: head },
];

/** A scripted planner submits a plan; the answer is that of the last call. */
export async function handIn({ tools }: RunSpec, plan: Plan) {
  let answer: Result<unknown> | undefined;
  for (const { name, input } of handInCalls(plan)) answer = await tools?.call(name, input);
  return answer;
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
  evidence: met ? [] : [{ criterion: 1, met, absent: true, quote: "", from: "file", ref: "no-such-file.txt" }],
  ...more,
});

/** Evidence that holds for each criterion: a line of the diff, or of a text deliverable. */
export async function seenBy({ told, use }: Pick<Scene, "told" | "use">, criteria = [1], met = true) {
  const isFiles = /^Files changed/m.test(told);
  const shown = isFiles ? await use("show_diff") : {};
  if (shown.diff === "") {
    // Done again, with the same files as were accepted before.
    const ref = /^Files changed[^\n]*\n- (.+)$/m.exec(told)?.[1] ?? "";
    const { content } = await use("read_file", { path: ref });
    const quote = String(content).trim().split("\n")[0] ?? "";
    return criteria.map((criterion) => ({ criterion, met, quote, from: "file", ref }));
  }
  const text = isFiles ? String(shown.diff) : (/^`+data from the worker\n([\s\S]*?)\n`{4,}$/m.exec(told)?.[1] ?? "");
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const quote = lines.find((line) => /^\+(?!\+\+)/.test(line)) ?? lines[0] ?? "";
  const place = isFiles ? { from: "call", ref: shown.call } : { from: "output" };
  return criteria.map((criterion) => ({ criterion, met, quote, ...place }));
}

export const passes: Play = async (scene) => {
  await scene.use("submit_verdict", verdictOf(true, { evidence: await seenBy(scene) }));
};

export const staffOf = (app: App, agents: CrewAgents): Staff => ({ app, agents, operationsFor, serveTools });

export async function crewWith(app: App, agents: CrewAgents): Promise<Crew> {
  return unwrap(await openCrew(staffOf(app, agents), () => undefined));
}

export async function executed(
  app: App,
  run: string,
  agents: CrewAgents,
  more: { workers?: number; signal?: AbortSignal; news?: News[]; budgetTokens?: number; retry?: string[] } = {},
) {
  const { workers = 3, signal, news, budgetTokens, retry } = more;
  const unsubscribe = app.host.onNews((one) => void news?.push(one));
  try {
    const started = unwrap(await app.host.execute(run, { workers, agents, signal, by: "Ada", budgetTokens, retry }));
    return unwrap(await started.ended);
  } finally {
    unsubscribe();
  }
}
