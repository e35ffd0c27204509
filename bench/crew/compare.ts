import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { modelRunner } from "../../src/agents/model.ts";
import type { Toolset } from "../../src/agents/runner.ts";
import type { Sandbox } from "../../src/agents/sandbox/access.ts";
import type { App } from "../../src/app.ts";
import type { Desk } from "../../src/crew/agent/desk/place.ts";
import { deskTools } from "../../src/crew/agent/desk.ts";
import { rareTools } from "../../src/crew/agent/rare-tools.ts";
import type { CrewAgents } from "../../src/crew/record/run-host.ts";
import { acceptedBranch } from "../../src/crew/rules/branches.ts";
import { ok, unwrap } from "../../src/kernel/result.ts";
import { type Heard, type Reply, startModelServer } from "../../test/support/model-wire.ts";
import { median, timed } from "../support/measure.ts";
import type { Place } from "../support/place.ts";
import { atLeast, atMost, holds, type Row, type Table } from "../support/table.ts";
import { agent, newWorkspace, type Workspace } from "../support/workspace.ts";
import { crewMind, errRate, soloMind } from "./minds.ts";
import { moduleOf, planFor, projectFiles, rightOf, type Size, writeProject } from "./project.ts";
import { checkRepeats } from "./repeats.ts";
import { cachedCostOf, inputOf, meter, type Sent, totalOf } from "./tokens.ts";

const request = "Make answer() of each module return the text that is listed for it.";
export const workers = 10;

type Count = (text: string) => number;

/** The limits of the model; its server refuses what is beyond them, and cuts answers at max_tokens. */
const limits = { contextTokens: 200_000, answerTokens: 64_000 };

async function modelFor(place: Place, think: (heard: Heard) => Reply, count: Count) {
  const { hear, sent } = meter(count);
  const server = await startModelServer(
    (heard) => {
      hear(heard);
      return think(heard);
    },
    { ...limits, counts: true },
  );
  place.onLeave(server.close);
  const providers = { fake: { kind: "anthropic" as const, baseUrl: `${server.url}/v1`, key: "k" } };
  return { runner: modelRunner({ providers, models: { "fake/model": limits } }), sent };
}

const share = (part: number, whole: number) => (100 * part) / whole;

/** `count` counts the tokens of a text. */
export async function compare(place: Place, size: Size, sandbox: Sandbox, count: Count): Promise<Table> {
  const crew = await runCrew(place, size, sandbox, count);
  const solo = await runSolo(place, size, { sandbox, count, looksAround: true });
  const told = await runSolo(place, size, { sandbox, count, looksAround: false });
  const pm = crew.sent.filter(({ part }) => part === "pm");
  const first = crew.sent.filter(({ part, isFirst }) => part === "worker" && isFirst);
  const peak = (of: (one: Sent) => number) => Math.max(...pm.map(of));
  const text = ({ text }: Sent) => text;
  const figuresOf = ({ sent, seconds, right }: { sent: Sent[]; seconds: number; right: number }) => ({
    seconds,
    calls: sent.length,
    "input tokens": totalOf(sent),
    "cost with cache": cachedCostOf(sent),
    "largest request": Math.max(...sent.map(inputOf)),
    "right %": share(right, size.tasks - 1),
  });
  const fewer = 100 - share(totalOf(crew.sent), totalOf(solo.sent));
  const cheaper = 100 - share(cachedCostOf(crew.sent), cachedCostOf(solo.sent));
  const rows: Row[] = [
    { what: "one agent", figures: { ...figuresOf(solo), compactions: solo.compactions } },
    { what: "one agent, no study first", figures: { ...figuresOf(told), compactions: told.compactions } },
    { what: "crew", figures: { ...figuresOf(crew), compactions: crew.compactions } },
    ...partsOf(crew.sent).map(([part, some]) => ({
      what: `  of it, ${partNames[part] ?? part}`,
      figures: {
        calls: some.length,
        "input tokens": totalOf(some),
        "cost with cache": cachedCostOf(some),
        "largest request": Math.max(...some.map(inputOf)),
      },
    })),
    { what: "fewer input tokens", figures: {}, target: atLeast(80, fewer, "%") },
    { what: "as many right", figures: {}, target: holds("≥ one agent", crew.right >= solo.right) },
    { what: `cheaper with a cache: ${cheaper.toFixed(1)} %`, figures: {} },
    {
      what: `worker's first request without tools: ${median(first.map(text))} of ${peak(text)}, the planner's peak`,
      figures: {},
      target: atMost(5, share(median(first.map(text)), peak(text)), "%"),
    },
    {
      what: `the same with tools: ${median(first.map(inputOf))} of ${peak(inputOf)}`,
      figures: {},
      target: atMost(10, share(median(first.map(inputOf)), peak(inputOf)), "%"),
    },
    {
      what: "errors that were accepted",
      figures: {},
      target: atMost(5, share(size.tasks - 1 - crew.right, size.tasks - 1), "%"),
    },
    crew.repeated === 0
      ? { what: "nothing was repeated in contexts", figures: {} }
      : {
          what: `repeats removed from contexts, of ${crew.repeated} characters`,
          figures: {},
          target: atLeast(80, share(crew.removed, crew.repeated), "%"),
        },
    {
      what: `finding the repeats of one context; P99 ${crew.check.p99.toFixed(1)} ms, one row ${crew.check.plain.toFixed(1)} ms`,
      figures: {},
      target: atMost(10, crew.check.p50, "ms"),
    },
    { what: "retries", figures: {}, target: atMost(20, share(crew.retries, size.tasks), "%") },
    { what: `claims, P99; P50 ${crew.claimP50.toFixed(1)} ms`, figures: {}, target: atMost(50, crew.claimP99, "ms") },
    { what: "workers idle", figures: {}, target: atMost(5, crew.idle, "%") },
  ];
  const notes = [
    `cost with cache: in uncached tokens, reads at 0.1 and writes at 1.25; uncached it is the input tokens`,
    "no study first: it is given the tasks and reads only their modules, which somebody has to find out for it",
    `both err at ${errRate * 100} % of tasks; the one agent runs each task's check itself and corrects`,
  ];
  return { question: `${size.name}: ${size.tasks} tasks, ${size.files} files`, rows, notes };
}

const partNames: Partial<Record<string, string>> = {
  pm: "planner",
  worker: "workers",
  qc: "verifiers",
  preamble: "preambles",
  reporter: "report",
};

/** Requests by the part of the crew that sent them, in the order of their first request. */
const partsOf = (sent: Sent[]): [part: string, sent: Sent[]][] =>
  [...new Set(sent.map(({ part }) => part))].map((part) => [part, sent.filter((one) => one.part === part)]);

async function workspaceFor(place: Place, size: Size, sandbox: Sandbox): Promise<{ made: Workspace; app: App }> {
  const made = await newWorkspace(place, {
    entries: new Map([["vision", "Answers in every module.\n"]]),
    logs: ["handoffs"],
  });
  writeProject(made.root, projectFiles(size));
  const crew = { sandbox: sandbox.name === "none" ? "none" : "auto", read: [dirname(dirname(process.execPath))] };
  writeProject(made.root, new Map([["scriptorium.yaml", `name: Bench\ncrew: ${JSON.stringify(crew)}\n`]]));
  await made.git("add", "-A");
  await made.git("commit", "-qm", "The project");
  const app = await made.open();
  place.onLeave(() => app.close());
  return { made, app };
}

const rightIn = async ({ tasks }: Size, read: (path: string) => Promise<string>) => {
  let right = 0;
  for (let n = 1; n < tasks; n++) if ((await read(moduleOf(n))).includes(`"${rightOf(n)}"`)) right++;
  return right;
};

async function runCrew(place: Place, size: Size, sandbox: Sandbox, count: Count) {
  const { made, app } = await workspaceFor(place, size, sandbox);
  const { runner, sent } = await modelFor(place, crewMind(size, planFor(size)), count);
  const agents: CrewAgents = () => ok({ runner, model: "fake/model", role: "engineer", env: {} });
  let run = "";
  const ms = await timed(async () => {
    const planning = unwrap(await app.host.plan(request, { brief: false, by: "Ada", agents }));
    ({ run } = unwrap(await planning.ended));
    const executing = unwrap(await app.host.execute(run, { workers, by: "Ada", agents }));
    const done = unwrap(await executing.ended);
    if (done.state !== "completed") console.log(`  ${done.run} is ${done.state}: ${done.reason}`);
  });
  const right = await rightIn(size, (path) => made.git("show", `${acceptedBranch(run)}:${path}`));
  const attempts = await app.db.read.selectFrom("attempts").select("is_retry").where("run_id", "=", run).execute();
  const record = await app.db.read
    .selectFrom("run_workers")
    .selectAll()
    .where("run_id", "=", run)
    .executeTakeFirstOrThrow();
  const contexts = await app.db.read.selectFrom("contexts").selectAll().where("run_id", "=", run).execute();
  const repeated = contexts.reduce((sum, row) => sum + row.repeat_characters, 0);
  const removed = contexts.reduce((sum, row) => sum + row.removed_characters, 0);
  return {
    sent,
    right,
    seconds: ms / 1000,
    retries: attempts.filter((row) => row.is_retry === 1).length,
    claimP50: record.claim_p50_ms,
    claimP99: record.claim_p99_ms,
    idle: (100 * record.idle_ms) / (record.idle_ms + record.busy_ms),
    check: await checkRepeats(app),
    repeated,
    removed,
    compactions: contexts.reduce((sum, row) => sum + countIn(row.compactions), 0),
  };
}

const countIn = (json: unknown) =>
  Array.isArray(json) ? json.length : (JSON.parse(String(json ?? "[]")) as []).length;

type Solo = { sandbox: Sandbox; count: Count; looksAround: boolean };

/** The same model, the same tools, one conversation that is compacted as a crew's are, nobody who verifies. */
async function runSolo(place: Place, size: Size, { sandbox, count, looksAround }: Solo) {
  const { made, app } = await workspaceFor(place, size, sandbox);
  const { runner, sent } = await modelFor(place, soloMind(size, looksAround), count);
  const { signal } = new AbortController();
  const desk: Desk = {
    folder: made.root,
    write: true,
    sandbox,
    limits: app.config.crew.limits,
    env: place.environment,
    run: "solo",
    commandMs: 60_000,
    signal,
  };
  const operations = deskTools(desk);
  const tools: Toolset = {
    operations,
    rare: rareTools("worker"),
    call: async (name, raw) => {
      const operation = operations.find((one) => one.name === name);
      if (!operation) throw new Error(`no tool ${name}`);
      return operation.perform(app, raw, agent());
    },
  };
  const spec = {
    id: "solo",
    prompt: `${request}\n\n${planFor(size)
      .map((task) => task.requirements)
      .join("\n")}`,
    cwd: made.root,
    env: {},
  };
  let compactions = 0;
  const ms = await timed(async () => {
    const ended = await runner.run({ ...spec, model: "fake/model", tools, limits: { wallMs: 3_600_000 } }, signal);
    compactions = ended.compactions?.length ?? 0;
    if (ended.error) console.log(`  one agent: ${ended.ended}, ${ended.error}`);
  });
  const right = await rightIn(size, (path) => readFile(`${made.root}/${path}`, "utf8"));
  return { sent, right, seconds: ms / 1000, compactions };
}
