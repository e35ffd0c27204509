import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { configuredAgents } from "../src/crew/agent/parts.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { agentProgram } from "./support/agent-program.ts";
import { scriptoriumProcess, serve, start } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { crewMind } from "./support/crew-mind.ts";
import { modelServer } from "./support/model-server.ts";
import { ask } from "./support/requests.ts";
import { agent, newWorkspace, person, sampledEngines } from "./support/workspace.ts";

type Input = Parameters<(typeof operations.run_transcript)["perform"]>[1];
const transcript = async (app: App, input: Input) =>
  unwrap(await operations.run_transcript.perform(app, input, person()));

const workspace = (engine: (typeof sampledEngines)[number] = "sqlite") =>
  newWorkspace({ engine, config: "crew: {sandbox: none}\n", files: { "a.txt": "a\n" } });

describe.each(sampledEngines)("the transcript of a run on %s", (engine) => {
  test("O5, O6: has what each agent was sent and called in order, by task, attempt and part, page by page", async () => {
    const { app } = await workspace(engine);
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2")]);
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    const { entries, running } = await transcript(app, { id: run, task: "1.1", part: "worker", cursor: "0" });
    expect(running).toBe(false);
    expect(entries.map(({ kind, tool }) => tool ?? kind)).toEqual(["sent", "write_file", "submit_output", "ended"]);
    expect(entries[0]).toMatchObject({
      number: "1.1",
      attempt: 1,
      part: "worker",
      system: expect.stringContaining("engineer"),
    });
    expect(entries[0]?.text).toContain("# Task 1.1: Do 1.1");
    expect(entries[1]).toMatchObject({ ok: true, input: expect.stringContaining("out/1.1.txt") });
    expect(entries[1]?.output).toContain("bytes");
    expect(entries[3]).toMatchObject({ text: "exit", input_tokens: 100, output_tokens: 10 });

    const whole = (await transcript(app, { id: run, cursor: "0", limit: 200 })).entries.map(({ n }) => n);
    expect(whole).toEqual(whole.map((_, i) => i + 1));
    const paged: number[] = [];
    for (let cursor = "0", more = true; more; ) {
      const page = await transcript(app, { id: run, cursor, limit: 3 });
      paged.push(...page.entries.map(({ n }) => n));
      ({ cursor, more } = page);
    }
    expect(paged).toEqual(whole);
    const last = await transcript(app, { id: run, limit: 4 });
    expect(last.entries.map(({ n }) => n)).toEqual(whole.slice(-4));
    const before = await transcript(app, { id: run, limit: 4, before: String(last.entries[0]?.n) });
    expect(before.entries.map(({ n }) => n)).toEqual(whole.slice(-8, -4));
    const short = await transcript(app, { id: run, task: "1.1", cursor: "0", characters: 100 });
    expect(short.entries[0]).toMatchObject({ cut: true });
    expect(short.entries[0]?.text.length).toBeLessThan(110);

    expect(await operations.run_transcript.perform(app, { id: run, task: "9" }, person())).toMatchObject({
      problem: { code: "not_found", message: `run ${run} has no task 9; it has 0, 1.1, 1.2` },
    });
    expect(await operations.run_transcript.perform(app, { id: run }, agent("engineer"))).toMatchObject({ ok: false });
  });

  test("O5: can be read while an agent works, with the message that a person sent it", async () => {
    const { app } = await workspace(engine);
    const run = await newRun(app, [planned("0")]);
    const agents = playing({
      worker: async (scene) => {
        await scene.use("list_files");
        const live = () => transcript(app, { id: run, task: "0", cursor: "0" });
        await expect.poll(async () => (await live()).entries.map(({ kind }) => kind)).toEqual(["sent", "call"]);
        const { running, entries, cursor } = await live();
        expect(running).toBe(true);
        const id = entries[0]?.task ?? "";
        unwrap(await operations.steer_task.perform(app, { id, content: "Look closer." }, person()));
        await scene.use("read_file", { path: "a.txt" });
        const next = () => transcript(app, { id: run, task: "0", cursor });
        await expect.poll(async () => (await next()).entries.map(({ kind }) => kind)).toEqual(["call", "steering"]);
        expect((await next()).entries[1]).toMatchObject({ text: "Look closer.", sent_by: "Ada Lovelace" });
        await writes()(scene);
      },
      qc: passes,
    });
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
  });
});

test("O5, T5: a model's words are in the transcript over HTTP, without the keys of the workspace", async () => {
  const key = "sk-canary-1234567890";
  const tasks = [planned("0")];
  const think = crewMind(tasks);
  const { url: modelUrl } = await modelServer((heard) => {
    const isFirst = heard.tools.includes("submit_output") && heard.messages.length === 1;
    return isFirst
      ? {
          text: `I know ${key} and postgres://ada:hunter22@db/x.`,
          calls: [{ name: "list_files", input: { path: key } }],
        }
      : think(heard);
  });
  const crew = {
    agents: { all: { runner: "model", model: "fake/one" } },
    providers: { fake: { kind: "openai", base_url: `${modelUrl}/v1`, key_env: "FAKE_KEY" } },
    sandbox: "none",
  };
  const { app, root } = await newWorkspace({ config: `crew: ${JSON.stringify(crew)}\n`, files: { "a.txt": "a\n" } });
  const run = await newRun(app, tasks);
  const { url, token } = await serve(root, { FAKE_KEY: key });
  await ask(url, `/api/runs/${run}/execute`, { method: "POST", token, body: {} });
  const state = async () => unwrap(await operations.show_run.perform(app, { id: run }, person())).state;
  await expect.poll(state, { timeout: 30_000 }).toBe("completed");
  const answer = await ask(url, `/api/runs/${run}/transcript?cursor=0&part=worker&limit=200`, { token });
  expect(answer.status).toBe(200);
  const said = answer.json().entries.find(({ kind }: { kind: string }) => kind === "said");
  expect(said.text).toBe("I know [redacted] and postgres://ada:[redacted]@db/x.");
  expect(answer.text).toContain("[redacted]");
  expect(answer.text).not.toContain(key);
  expect(answer.text).not.toContain(token);
  expect((await ask(url, `/api/runs/${run}/transcript`)).status).toBe(401);
});

test("O5: what a program prints and the calls of its tools are in its transcript", async () => {
  const folder = agentProgram(`
    console.log("I begin");
    await use("write_file", { path: "out/a.txt", content: "a\\n" });
    await use("submit_output", { output: "made it" });
    console.log("I end");`);
  const made = await newWorkspace();
  const worker = { runner: "command", command: [process.execPath, join(folder, "agent.mjs"), "{mcp_config}"] };
  appendFileSync(made.file("scriptorium.yaml"), `crew: ${JSON.stringify({ sandbox: "none", agents: { worker } })}\n`);
  made.git("commit", "-qam", "Configure the crew");
  const app = await made.open();
  const configured = configuredAgents(app.config);
  const verifying = playing({ qc: passes });
  const run = await newRun(app, [planned("0", { deliverable: "files" })]);
  await executed(app, run, (part) => (part === "worker" ? configured(part) : verifying(part)));
  const { entries } = await transcript(app, { id: run, part: "worker", cursor: "0" });
  const told = entries.map(({ kind, tool, text }) => (kind === "printed" ? text : (tool ?? kind)));
  expect(told.filter((one) => one !== "I begin" && one !== "I end")).toEqual([
    "sent",
    "write_file",
    "submit_output",
    "ended",
  ]);
  expect(told).toEqual(expect.arrayContaining(["I begin", "I end"]));
});

test("O19: run transcript prints a run that has ended, and follows one that goes on", async () => {
  const { app, root } = await workspace();
  const run = await newRun(app, [planned("0")]);
  let go = () => {};
  const waits = new Promise<void>((done) => {
    go = done;
  });
  const execution = executed(
    app,
    run,
    playing({
      worker: async (scene) => {
        await scene.use("list_files");
        await waits;
        await writes()(scene);
      },
      qc: passes,
    }),
  );
  const state = async () => unwrap(await operations.show_run.perform(app, { id: run }, person())).state;
  await expect.poll(state).toBe("running");
  const child = start("scriptorium.js", ["run", "transcript", run, "--follow", "--json"], root);
  let said = "";
  child.stdout?.on("data", (chunk) => (said += chunk));
  const ended = new Promise((done) => child.once("close", done));
  await expect.poll(() => said, { timeout: 30_000 }).toContain('"tool":"list_files"');
  expect(said).not.toContain('"tool":"submit_output"');
  go();
  expect(await execution).toMatchObject({ state: "completed" });
  await ended;
  const lines = said.trim().split("\n");
  const kinds = lines.map((line) => JSON.parse(line).kind);
  expect(kinds.at(-1)).toBe("ended");
  const { stdout } = await scriptoriumProcess(["run", "transcript", run, "--part", "qc"], { cwd: root });
  expect(stdout).toContain("called submit_verdict");
  expect(stdout).not.toContain("called submit_output");
  const page = await scriptoriumProcess(["run", "transcript", run, "--limit", "2", "--json"], { cwd: root });
  expect(JSON.parse(page.stdout)).toMatchObject({ entries: [{ n: 1 }, { n: 2 }], cursor: "2", more: true });
});
