import { appendFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scriptorium, scriptoriumProcess } from "./support/commands.ts";
import { newRun, planned } from "./support/crew.ts";
import { modelServer } from "./support/model-server.ts";
import { newWorkspace, type TestWorkspace, temporaryFolder } from "./support/workspace.ts";

async function workspace(url: string, kind = "anthropic"): Promise<TestWorkspace> {
  const made = await newWorkspace();
  const crew = {
    agents: { all: { runner: "model", model: "house/one" } },
    providers: { house: { kind, base_url: `${url}/v1`, key_env: "HOUSE_KEY" } },
    sandbox: "none",
  };
  appendFileSync(made.file("scriptorium.yaml"), `crew: ${JSON.stringify(crew)}\n`);
  made.git("commit", "-qam", "Configure the crew");
  return made;
}

const key = { HOUSE_KEY: "sk-canary-31" };
const plan = (cwd: string, env: Record<string, string>) => scriptorium(["plan", "Make it so"], { cwd, env });

/** An address at which nothing listens. */
async function nobody(): Promise<string> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  await new Promise<void>((done) => server.close(() => done()));
  return `http://127.0.0.1:${port}`;
}

test("P17: plan and execute name the variable of a missing key before anything is started", async () => {
  const { root, app } = await workspace("http://127.0.0.1:9");
  const planning = await plan(root, {});
  expect([planning.code, planning.stderr]).toEqual([1, expect.stringContaining("HOUSE_KEY is not set")]);
  expect(await app.runs.list(10)).toEqual([]);
  const run = await newRun(app, [planned("0")]);
  const ran = await scriptorium(["execute", run], { cwd: root, env: {} });
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("HOUSE_KEY is not set")]);
  expect(await app.runs.find(run)).toMatchObject({ state: "planned", startedAt: null });
});

test("P17: plan and execute name an agent program that is not installed before anything is started", async () => {
  const { root, app } = await newWorkspace({ config: "crew: {sandbox: none}\n" });
  const env = { PATH: `${temporaryFolder()}:/usr/bin:/bin` };
  const planning = await plan(root, env);
  expect(planning.stderr).toMatch(/claude is not in PATH; install it with: npm install -g @anthropic-ai\/claude-code/);
  expect(await app.runs.list(10)).toEqual([]);
});

test.each([
  [401, /^scriptorium: the model server http:\S+ rejected the API key \(401: no: 401\); check the value of HOUSE_KEY/],
  [404, /^scriptorium: the model server http:\S+ does not have the model house\/one \(404: no: 404\)/],
  [400, /^scriptorium: the model server http:\S+ answered 400: no: 400/],
])("P17: a plan that fails because the model's server answers %i begins with the cause", async (status, cause) => {
  const { url, heard } = await modelServer(() => ({ status }));
  const { root } = await workspace(url);
  const { code, stderr } = await plan(root, key);
  expect(code).toBe(1);
  expect(stderr).toMatch(cause);
  expect(stderr).not.toContain("canary");
  expect(heard).toHaveLength(1);
});

test("P17: a rate limit says so with each retry, and at the end", async () => {
  const { url, heard } = await modelServer(() => ({ status: 429, headers: { "retry-after-ms": "5" } }));
  const { root } = await workspace(url);
  const { stderr } = await plan(root, key);
  expect(heard).toHaveLength(6);
  expect(stderr).toMatch(/limits the rate of requests \(429.*; retry 1 of 5 in 5 ms\n/);
  expect(stderr).toMatch(/limits the rate of requests \(429.*lower crew\.workers.* \(6 tries\)/);
});

test("P17: a model server that is not there is reported at once with the retry, and stops a run instead of failing its tasks", async () => {
  const url = await nobody();
  const { root, app } = await workspace(url);
  const planning = await plan(root, key);
  const [first, ...rest] = planning.stderr.split("\n");
  expect(first).toMatch(/the model server http:\S+ is not reachable \(connection refused\).*retry 1 of 3 in \d/);
  expect(rest.join("\n")).toMatch(/is not reachable.*crew\.providers\.house.* \(4 tries\)/);

  const run = await newRun(app, [planned("0")]);
  const ran = await scriptoriumProcess(["execute", run, "--json"], { cwd: root, env: key });
  expect(ran.stdout).toContain('"kind":"model-retry"');
  const summary = JSON.parse(ran.stdout.trim().split("\n").at(-1) ?? "");
  expect(summary).toMatchObject({ state: "stopped", reason: expect.stringContaining("is not reachable") });
  expect(summary.tasks).toMatchObject({ lost: 0 });
});

test("P17: an agent program that is not signed in stops the run with its own words and what to do", async () => {
  const result = { type: "result", subtype: "success", is_error: true, result: "Not logged in", total_cost_usd: 0 };
  const usage = { input_tokens: 0, output_tokens: 0 };
  const bin = join(temporaryFolder(), "claude");
  writeFileSync(bin, `#!/bin/sh\necho '${JSON.stringify({ ...result, usage })}'\nexit 1\n`, { mode: 0o755 });
  const agent = { author_name: "Crew", author_email: "crew@example.org", claude_bin: bin };
  const { root, app } = await newWorkspace({ config: `agent: ${JSON.stringify(agent)}\ncrew: {sandbox: none}\n` });
  const { stderr } = await plan(root, {});
  expect(stderr).toMatch(/^scriptorium: Claude Code cannot use its model: Not logged in; run: claude auth login/);
  const run = await newRun(app, [planned("0")]);
  const ran = await scriptoriumProcess(["execute", run, "--json"], { cwd: root });
  const summary = JSON.parse(ran.stdout.trim().split("\n").at(-1) ?? "");
  expect(summary).toMatchObject({ state: "stopped", reason: expect.stringContaining("Not logged in") });
});
