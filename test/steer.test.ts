import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { configuredAgents } from "../src/crew/agent/parts.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { agentProgram } from "./support/agent-program.ts";
import { scriptorium, serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, verdictOf, writes } from "./support/crew.ts";
import { crewMind } from "./support/crew-mind.ts";
import { modelServer } from "./support/model-server.ts";
import { ask } from "./support/requests.ts";
import { agent, allEvents, newWorkspace, person, sampledEngines } from "./support/workspace.ts";

const workspace = (engine: (typeof sampledEngines)[number] = "sqlite") =>
  newWorkspace({ engine, config: "crew: {sandbox: none}\n", files: { "a.txt": "a\n" } });

const taskOf = async (app: App, run: string, number: string) =>
  unwrap(await operations.show_run.perform(app, { id: run }, person())).tasks.find((one) => one.number === number)
    ?.id ?? "";
const steer = (app: App, id: string, content: string) => operations.steer_task.perform(app, { id, content }, person());
const contextOf = (app: App, id: string) => operations.get_task_context.perform(app, { id, kind: "qc" }, person());
const steeringOf = async (app: App, id: string) =>
  unwrap(await operations.task_record.perform(app, { id }, person())).steering;

describe.each(sampledEngines)("steering a worker on %s", (engine) => {
  test("O5: an agent that cannot be interrupted gets a person's message with the next result of a tool, once", async () => {
    const { app } = await workspace(engine);
    const run = await newRun(app, [planned("0")]);
    const answers: Record<string, unknown>[] = [];
    const verifierSaw: string[] = [];
    const agents = playing({
      worker: async (scene) => {
        const id = await taskOf(app, run, "0");
        answers.push(await scene.use("list_files"));
        expect(unwrap(await steer(app, id, "Use tabs."))).toMatchObject({ reaches: "worker", run });
        answers.push(await scene.use("read_file", { path: "a.txt" }));
        answers.push(await scene.use("read_file", { path: "no-such-file" }));
        unwrap(await steer(app, id, "And no spaces."));
        const refused = await scene.spec.tools?.call("read_file", { path: "missing-too" });
        answers.push(refused?.ok === false ? (refused.problem.details ?? {}) : {});
        await writes()(scene);
      },
      qc: async (scene) => {
        verifierSaw.push(scene.told);
        unwrap(await steer(app, await taskOf(app, run, "0"), "Sent after the work."));
        verifierSaw.push(unwrap(await contextOf(app, await taskOf(app, run, "0"))).context ?? "");
        await passes(scene);
      },
    });
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    const said = (content: string) => ({ take_into_account_from_now_on: [{ from: "Ada Lovelace", content }] });
    expect(answers.map((one) => one.messages_from_people)).toEqual([
      undefined,
      said("Use tabs."),
      undefined,
      said("And no spaces."),
    ]);
    // O6, O8: the verifier knows what the worker had to follow, and nothing that reached no worker.
    expect(verifierSaw.join()).toContain("Ada Lovelace to the worker: Use tabs.\nAda Lovelace to the worker: And no");
    expect(verifierSaw.join()).not.toContain("Sent after");
    const [first, second] = await steeringOf(app, await taskOf(app, run, "0"));
    expect(first).toMatchObject({ content: "Use tabs.", delivered: "tool_result", attempt: 1 });
    expect(second).toMatchObject({ content: "And no spaces.", delivered: "tool_result" });
    const kinds = (await allEvents(app)).map(({ kind }) => kind).filter((kind) => kind.startsWith("steering"));
    const delivered = ["steering-sent", "steering-delivered"];
    expect(kinds).toEqual([...delivered, ...delivered, "steering-sent"]);
  });

  test("O9: a message that comes after the result goes into the context of the next attempt", async () => {
    const { app } = await workspace(engine);
    const run = await newRun(app, [planned("0")]);
    const told: string[] = [];
    let judged = 0;
    const agents = playing({
      worker: async (scene) => {
        told.push(scene.told);
        await writes()(scene);
      },
      qc: async (scene) => {
        judged += 1;
        if (judged > 1) return passes(scene);
        const sent = unwrap(await steer(app, await taskOf(app, run, "0"), "Think of the edges."));
        expect(sent.reaches).toBe("next_attempt");
        await scene.use("submit_verdict", verdictOf(false));
        return undefined;
      },
    });
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    expect(told[1]).toContain("Ada Lovelace: Think of the edges.");
    expect(await steeringOf(app, await taskOf(app, run, "0"))).toMatchObject([{ delivered: "context", attempt: 2 }]);
    expect(await steer(app, await taskOf(app, run, "0"), "Too late")).toMatchObject({ problem: { code: "conflict" } });
  });
});

test("O5: a model gets a person's message between two of its turns, as a message of the user", async () => {
  const tasks = [planned("0"), planned("1.1")];
  let sent = false;
  const think = crewMind(tasks);
  const model = await modelServer(async (heard) => {
    const isWorker =
      heard.tools.includes("submit_output") && heard.messages.some(({ text }) => text.includes("# Task 1.1"));
    if (!isWorker || sent) return think(heard);
    sent = true;
    unwrap(await steer(app, await taskOf(app, run, "1.1"), "Write it in French."));
    return { calls: [{ name: "list_files", input: {} }] };
  });
  const crew = {
    agents: { all: { runner: "model", model: "fake/one" } },
    providers: { fake: { kind: "openai", base_url: `${model.url}/v1`, key_env: "FAKE_KEY" } },
    sandbox: "none",
  };
  const { app, root } = await newWorkspace({ config: `crew: ${JSON.stringify(crew)}\n`, files: { "a.txt": "a\n" } });
  const run = await newRun(app, tasks);
  const { url, token } = await serve(root, { FAKE_KEY: "sk-canary-key" });
  await ask(url, `/api/runs/${run}/execute`, { method: "POST", token, body: {} });
  const state = async () => unwrap(await operations.show_run.perform(app, { id: run }, person())).state;
  await expect.poll(state, { timeout: 30_000 }).toBe("completed");
  const heard = model.heard.filter(({ tools }) => tools.includes("submit_output"));
  const got = heard.filter(({ messages }) => messages.some(({ text }) => text.includes("Write it in French.")));
  expect(got.length).toBeGreaterThan(0);
  expect(got[0]?.messages.find(({ text }) => text.includes("Write it in French."))).toMatchObject({
    role: "user",
    text: expect.stringContaining("Message from Ada Lovelace"),
  });
  expect(await steeringOf(app, await taskOf(app, run, "1.1"))).toMatchObject([{ delivered: "turn", attempt: 1 }]);
});

test("O5: only a person with proof steers, and the command says where the message goes", async () => {
  const { app, root } = await workspace();
  const run = await newRun(app, [planned("0")]);
  const id = await taskOf(app, run, "0");
  for (const caller of [agent("engineer"), person("reader"), { ...person(), proof: undefined } as never])
    expect(await operations.steer_task.perform(app, { id, content: "x" }, caller)).toMatchObject({
      problem: { code: "denied" },
    });
  const { stdout } = await scriptorium(["task", "steer", id, "Read", "the", "handbook"], { cwd: root });
  expect(stdout).toContain("the next attempt gets it");
  const told: string[] = [];
  await executed(
    app,
    run,
    playing({
      worker: async (scene) => {
        told.push(scene.told);
        await writes()(scene);
      },
      qc: passes,
    }),
  );
  expect(told[0]).toContain(": Read the handbook");
});

test("O5: an agent that is a program gets the message over MCP, in a field of the next answer of its tools", async () => {
  const folder = agentProgram(`
    let said;
    for (let i = 0; i < 40 && !said; i++) {
      said = (await use("search_files", { pattern: "word" + i })).messages_from_people;
      await new Promise((done) => setTimeout(done, 200));
    }
    await use("submit_output", { output: "I read: " + JSON.stringify(said) });`);
  const made = await newWorkspace();
  const worker = { runner: "command", command: [process.execPath, join(folder, "agent.mjs"), "{mcp_config}"] };
  appendFileSync(made.file("scriptorium.yaml"), `crew: ${JSON.stringify({ sandbox: "none", agents: { worker } })}\n`);
  made.git("commit", "-qam", "Configure the crew");
  const app = await made.open();
  const configured = configuredAgents(app.config);
  const verifying = playing({ qc: passes });
  const run = await newRun(app, [planned("0")]);
  const execution = executed(app, run, (part) => (part === "worker" ? configured(part) : verifying(part)));
  const id = await taskOf(app, run, "0");
  const calls = async () => unwrap(await operations.task_record.perform(app, { id }, person())).calls.length;
  await expect.poll(calls, { timeout: 30_000 }).toBeGreaterThan(0);
  unwrap(await steer(app, id, "Count to ten."));
  expect(await execution).toMatchObject({ state: "completed" });
  const { attempts } = unwrap(await operations.task_record.perform(app, { id }, person()));
  expect(attempts[0]?.output).toContain('[{"from":"Ada Lovelace","content":"Count to ten."}]');
});
