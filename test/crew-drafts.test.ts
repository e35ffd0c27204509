import { encode } from "gpt-3-encoder";
import { describe, expect, onTestFinished, test } from "vitest";
import { toolOf } from "../src/agents/mcp-tool.ts";
import { openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { briefInput } from "../src/crew/agent/brief-input.ts";
import type { Desk } from "../src/crew/agent/desk/place.ts";
import { deskTools } from "../src/crew/agent/desk.ts";
import { planInstructions } from "../src/crew/agent/planner-prompts.ts";
import { draftTools } from "../src/crew/plan/draft-tools.ts";
import { crewFacts } from "../src/crew/plan/planner.ts";
import type { PlanTask } from "../src/crew/rules/plan.ts";
import { operationsFor } from "../src/crew-tools.ts";
import { describeOperation } from "../src/kernel/operation.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium, start } from "./support/commands.ts";
import { playing, staffOf } from "./support/crew.ts";
import { modelServer } from "./support/model-server.ts";
import type { Heard, Reply } from "./support/model-wire.ts";
import { planOf } from "./support/plans.ts";
import { refusals, type Tool } from "./support/provider-rules.ts";
import { engines, newWorkspace, person, testEnvironment } from "./support/workspace.ts";

const tokensIn = (value: unknown) => encode(JSON.stringify(value)).length;

const paragraph =
  "Read the callers of the parser first and keep its exported names. Lines that do not match are errors with their number, not warnings; empty lines are skipped. Do not touch the writer. ";

/** A task as planners write them: about 600 tokens. */
const realistic = (n: number): PlanTask => ({
  ...(planOf([{ number: "0" }]).tasks[0] as PlanTask),
  number: n === 0 ? "0" : `1.${n}`,
  title: `Move the parser of format ${n} to the shared tokenizer`,
  requirements: `Format ${n} is parsed in src/formats/format${n}.ts. ${paragraph.repeat(8)}`,
  verification: [
    { criterion: `The tests of format ${n} pass`, check: { run: ["npm", "test", "--", `format${n}`], exits: 0 } },
    { criterion: "It uses the tokenizer", check: { file: `src/formats/format${n}.ts`, contains: "tokenize(" } },
  ],
  execution: ["Read src/formats with read_file", "Change the parser with edit_file", "Run the tests with run_command"],
  notes: paragraph.repeat(3),
  depends_on: n === 0 ? [] : n <= 5 ? ["0"] : [`1.${n - 5}`],
  deliverable: n === 0 ? "text" : "files",
});
const hundred = Array.from({ length: 100 }, (_, n) => realistic(n));

const cap = 8192;

/** A planner on a model whose answers have at most 8,192 tokens. It hands in as many tasks as fit. */
function cappedPlanner(tasks: PlanTask[]) {
  const said: Reply[] = [];
  const calls = (name: string, input: unknown): Reply => ({ calls: [{ name, input }] });
  const mind = (): Reply => {
    const left = tasks.slice(said.flatMap((reply) => tasksIn(reply)).length);
    const some: PlanTask[] = [];
    for (let room = cap - 200; left[some.length]; ) {
      room -= tokensIn(left[some.length]);
      if (room < 0) break;
      some.push(left[some.length] as PlanTask);
    }
    const reply =
      left.length === 0 ? calls("finish_plan", { title: "One tokenizer" }) : calls("add_plan_tasks", { tasks: some });
    expect(tokensIn(reply)).toBeLessThanOrEqual(cap);
    said.push(reply);
    return reply;
  };
  return { mind, said };
}

const tasksIn = (reply: Reply) =>
  "calls" in reply ? (reply.calls ?? []).flatMap(({ input }) => (input as { tasks?: PlanTask[] }).tasks ?? []) : [];

/** The tools of a request, in the form of either API. */
const toolsSent = ({ body }: Heard): Tool[] =>
  (body.tools as Record<string, unknown>[]).map((tool) => {
    const { name, description, parameters, input_schema } = (tool.function ?? tool) as Record<string, unknown>;
    return {
      name: String(name),
      description: String(description),
      schema: (parameters ?? input_schema) as Tool["schema"],
    };
  });

test.each(["openai", "anthropic"])(
  "W2, W3: a planner on an %s model with answers of 8,192 tokens plans 100 realistic tasks",
  async (kind) => {
    expect(tokensIn(hundred)).toBeGreaterThan(6 * cap);
    const { mind, said } = cappedPlanner(hundred);
    const server = await modelServer(mind);
    const crew = {
      agents: { all: { runner: "model", model: "fake/one" } },
      providers: { fake: { kind, base_url: `${server.url}/v1`, key_env: "FAKE_KEY" } },
    };
    const { root } = await newWorkspace({ config: `crew: ${JSON.stringify(crew)}\n` });
    const app = await openApp(unwrap(loadConfig(root, { ...testEnvironment(), FAKE_KEY: "sk-1" })));
    onTestFinished(() => app.close());
    const { run, tasks } = unwrap(await operations.start_run.perform(app, { request: "One tokenizer" }, person()));
    expect(tasks?.map(({ number }) => number)).toEqual(hundred.map(({ number }) => number));
    expect((await app.runs.find(run))?.plan?.tasks).toEqual(hundred);
    expect(said.length).toBeGreaterThan(6);
    expect(server.heard.flatMap(toolsSent).flatMap(refusals)).toEqual([]);
  },
);

describe.each(engines)("W2: a plan submitted task by task, on %s", (engine) => {
  test("invalid tasks are refused with their fields and the others stay; tasks are replaced and removed; finishing names every contradiction", async () => {
    const { app } = await newWorkspace({ engine });
    const { tasks } = planOf([{ number: "0" }, { number: "1.1" }, { number: "1.2", depends_on: ["1.1"] }]);
    const [zero, one, two] = tasks as [PlanTask, PlanTask, PlanTask];
    const seen: Record<string, unknown> = {};
    const agents = playing({
      async pm({ use }) {
        const { title: _, ...untitled } = one;
        seen.mixed = await use("add_plan_tasks", { tasks: [two, untitled, { ...one, number: "2.7", extra: 1 }] });
        seen.allWrong = await use("add_plan_tasks", { tasks: [{ ...one, files: ["../x"] }] });
        await use("add_plan_tasks", {
          tasks: [
            { ...one, depends_on: ["1.2"] },
            { ...one, number: "1.3", depends_on: ["1.9"] },
          ],
        });
        const [id = ""] = (await app.runs.list(1)).map((run) => run.id);
        seen.shown = unwrap(await operations.show_run.perform(app, { id }, person())).draft;
        seen.contradictions = await use("finish_plan", { title: "Three" });
        seen.corrected = await use("add_plan_tasks", { tasks: [zero, one], remove: ["1.3"] });
        seen.miscounted = await use("finish_plan", { title: "Three", count: 4 });
        seen.done = await use("finish_plan", {
          title: "Three",
          count: 3,
          setup: { run: [["npm", "ci"]], inputs: ["package-lock.json"] },
        });
        return undefined;
      },
    });
    const planned = unwrap(await unwrap(await app.host.plan("x", { brief: false, by: "Ada", agents })).ended);
    expect(JSON.stringify(seen.miscounted)).toMatch(/the plan has 3 tasks \(0, 1\.1, 1\.2\), not 4/);
    expect(seen.mixed).toMatchObject({
      saved: ["1.2"],
      refused: [
        { task: "task 1.1", errors: ["title: missing; expected text"] },
        { task: "task 2.7", errors: [expect.stringMatching(/^number: expected 0, or 1.1/), "unknown key extra"] },
      ],
      total: 1,
      undefined: ["1.1"],
    });
    expect(seen.allWrong).toMatchObject({
      code: "invalid",
      refused: expect.stringMatching(/^task 1\.1: files\.0: .*inside/),
    });
    expect(seen.shown).toMatchObject([{ number: "1.1" }, { number: "1.2" }, { number: "1.3" }]);
    expect(seen.contradictions).toMatchObject({
      refused: expect.stringMatching(
        /task 0, which validates the environment, is missing\ntask 1\.3: depends_on: task 1\.9 does not exist/,
      ),
    });
    expect(seen.corrected).toMatchObject({ saved: ["0", "1.1"], total: 3 });
    expect(seen.done).toMatchObject({ tasks: 3 });
    expect(planned.tasks.map(({ number }) => number)).toEqual(["0", "1.1", "1.2"]);
    const run = await app.runs.find(planned.run);
    expect(run?.plan).toMatchObject({ setup: { run: [["npm", "ci"]], inputs: ["package-lock.json"] } });
    expect(await app.db.read.selectFrom("plan_drafts").selectAll().execute()).toEqual([]);
  });

  test("tasks outlive a planner that ends without a plan; the next one is told them and finishes", async () => {
    const { app } = await newWorkspace({ engine });
    const { tasks } = planOf([{ number: "0" }, { number: "1.1", title: "First half" }, { number: "1.2" }]);
    const crashes = playing({
      pm: async ({ use }) => void (await use("add_plan_tasks", { tasks: tasks.slice(0, 2) })),
    });
    const failed = await unwrap(await app.host.plan("halves", { brief: false, by: "Ada", agents: crashes })).ended;
    const [{ id = "" } = {}] = await app.runs.list(1);
    expect(failed).toMatchObject({ problem: { message: expect.stringContaining(`scriptorium plan --resume ${id}`) } });
    let told = "";
    const finishes = playing({
      async pm({ use, spec }) {
        told = spec.prompt;
        await use("add_plan_tasks", { tasks: tasks.slice(2) });
        await use("finish_plan", { title: "Halves" });
        return undefined;
      },
    });
    const resumed = unwrap(await app.host.resumePlan(id, { by: "Ada", agents: finishes }));
    expect(unwrap(await resumed.ended).tasks).toHaveLength(3);
    expect(told).toContain("- 1.1: First half");
    expect(await app.host.resumePlan(id, { by: "Ada", agents: finishes })).toMatchObject({ ok: false });
  });
});

test("W2: submitted tasks survive kill -9 of the planning process; plan --resume continues from them", async () => {
  const { tasks } = planOf([{ number: "0" }, { number: "1.1" }]);
  let isResumed = false;
  const heardAfter: string[] = [];
  const server = await modelServer((heard) => {
    const calls = (name: string, input: unknown): Reply => ({ calls: [{ name, input }] });
    const said = heard.messages.map(({ text }) => text).join("\n");
    if (!isResumed)
      return said.includes('"saved"') ? { hang: true } : calls("add_plan_tasks", { tasks: tasks.slice(0, 1) });
    heardAfter.push(said);
    return said.includes('"saved"')
      ? calls("finish_plan", { title: "Two" })
      : calls("add_plan_tasks", { tasks: tasks.slice(1) });
  });
  const crew = {
    agents: { all: { runner: "model", model: "fake/one" } },
    providers: { fake: { kind: "openai-compatible", base_url: `${server.url}/v1` } },
  };
  const { root } = await newWorkspace({ config: `crew: ${JSON.stringify(crew)}\n` });
  const child = start("scriptorium.js", ["plan", "do it"], root);
  await expect.poll(() => server.heard.length).toBe(2);
  const [{ id }] = (await scriptorium(["run", "list", "--json"], { cwd: root })).json<[{ id: string }]>();
  expect(await scriptorium(["plan", "--resume", id], { cwd: root })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is being planned"),
  });
  const ended = new Promise((done) => child.once("exit", done));
  child.kill("SIGKILL");
  await ended;
  expect((await scriptorium(["run", "show", id], { cwd: root })).stdout).toContain("submitted: 0 Task number 0");
  isResumed = true;
  const planned = await scriptorium(["plan", "--resume", id, "--json"], { cwd: root });
  expect(planned.json()).toMatchObject({ run: id, tasks: [{ number: "0" }, { number: "1.1" }] });
  expect(heardAfter[0]).toContain("# Tasks submitted so far\n\n- 0: Task number 0");
});

test("W16: the planner's tools have at most 2,500 tokens with every field of a plan, and it knows the workers' tools and limits", async () => {
  const { app } = await newWorkspace({ config: "crew: { command_seconds: 77, attempt_minutes: 33 }\n" });
  const tools = [...draftTools, ...operationsFor("pm"), ...deskTools({ write: false } as Desk)].map((one) =>
    toolOf(describeOperation({ ...one, input: briefInput(one) })),
  );
  const tokens = tokensIn(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })));
  process.stderr.write(`tools of the planner: ${tools.length} tools, ${tokens} tokens\n`);
  expect(tokens).toBeLessThanOrEqual(2500);
  const described = JSON.stringify(tools);
  for (const field of Object.keys(realistic(1))) expect(described).toContain(`"${field}":{`);
  const told = planInstructions(await crewFacts(staffOf(app, playing({}))));
  for (const words of [
    "run_command",
    "write_file",
    "without network",
    "77 seconds",
    "33 minutes",
    "16000 tokens",
    "setup",
    "check",
  ])
    expect(told).toContain(words);
});
