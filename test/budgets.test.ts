import { appendFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findSandbox } from "../src/agents/sandbox.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { spentOn } from "../src/store/queries/spends.ts";
import { scriptoriumProcess } from "./support/commands.ts";
import { newRun, planned } from "./support/crew.ts";
import { fakeClaude } from "./support/fake-claude.ts";
import { newWorkspace, person, read, type TestWorkspace, testEnvironment } from "./support/workspace.ts";

const sandbox = (await findSandbox("auto", testEnvironment())).ok ? "auto" : "none";

async function workspace(bin: string, crew: object = {}): Promise<TestWorkspace & { run: string }> {
  const made = await newWorkspace();
  const agent = { author_name: "Crew", author_email: "crew@example.org", claude_bin: bin };
  const blocks = { agent, crew: { sandbox, ...crew } };
  const text = Object.entries(blocks).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  appendFileSync(made.file("scriptorium.yaml"), text.join(""));
  made.git("commit", "-qam", "Configure the crew");
  const run = await newRun(made.app, [
    planned("0"),
    ...["1.1", "1.2", "1.3"].map((number) => planned(number, { deliverable: "text" })),
  ]);
  return { ...made, run };
}

const summary = (stdout: string) => JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
const logs = ({ root }: TestWorkspace) => {
  const folder = join(root, ".scriptorium/agent-logs");
  return readdirSync(folder).map((file) => read(join(folder, file)));
};

test("P10: execute with --budget-usd works with the default agent, which gets its share of the budget as its limit", async () => {
  const made = await workspace(fakeClaude({ submit_output: 0.05, submit_verdict: 0.03 }));
  const command = ["execute", made.run, "--workers", "3", "--budget-usd", "2", "--json"];
  const ran = await scriptoriumProcess(command, { cwd: made.root });
  expect(summary(ran.stdout)).toMatchObject({ state: "completed", tasks: { all: 4, completed: 4 } });
  for (const log of logs(made)) expect(log).toMatch(/--max-budget-usd 0\.\d+/);
  const agents = await made.app.db.read.selectFrom("spends").select(["part", "usd"]).execute();
  expect(agents.filter(({ part }) => part === "worker").map(({ usd }) => usd)).toEqual([0.05, 0.05, 0.05, 0.05]);
  expect(agents.filter(({ part }) => part === "qc").map(({ usd }) => usd)).toEqual([0.03, 0.03, 0.03, 0.03]);
});

test("P10: agents that the budget cannot reserve at the same time wait for each other, and the run completes", async () => {
  const made = await workspace(fakeClaude({ submit_output: 0.01, submit_verdict: 0.01 }, 300));
  const command = ["execute", made.run, "--workers", "4", "--budget-usd", "0.7", "--json"];
  const ran = await scriptoriumProcess(command, { cwd: made.root });
  expect(summary(ran.stdout)).toMatchObject({ state: "completed", tasks: { completed: 4 } });
  expect((await spentOn(made.app.db.read, { run: made.run })).usd).toBeLessThan(0.2);
});

test("P10: a run whose agent uses up the budget stops; report and inbox say so, and resume removes the budget although the configuration has one for new runs", async () => {
  const made = await workspace(fakeClaude({ submit_output: 0.4 }), { budget: { run_usd: 0.5 } });
  const { root, app, run } = made;
  const execute = ["execute", run, "--workers", "1", "--json"];
  const ran = await scriptoriumProcess(execute, { cwd: root });
  expect(summary(ran.stdout)).toMatchObject({
    state: "stopped",
    reason: expect.stringMatching(/^the budget of the run is \$0\.5/),
  });
  expect((await spentOn(app.db.read, { run })).usd).toBeLessThanOrEqual(0.5);

  const inbox = unwrap(await operations.inbox.perform(app, {}, person()));
  expect(inbox).toMatchObject({ waiting: 1, runs: [{ id: run, state: "stopped" }] });
  const report = read(join(root, "runs", run, "execution-report.md"));
  expect(report).not.toContain("Nothing waits for you");
  expect(report).toMatch(/Waiting for you:[\s\S]*scriptorium run resume run-.*--budget-usd N.*--no-budget-usd/);

  const resumed = await scriptoriumProcess(["run", "resume", run, "--no-budget-usd", "--json"], { cwd: root });
  expect(summary(resumed.stdout)).toMatchObject({ state: "completed", tasks: { completed: 4 } });
  expect(await app.runs.find(run)).toMatchObject({ budgetUsd: null });
  expect(read(join(root, "runs", run, "execution-report.md"))).toContain("Nothing waits for you");
});

test("P10: a budget in dollars for an agent of unknown cost is refused before the run starts, with the choices", async () => {
  const made = await workspace("claude", { agents: { all: { runner: "command", command: ["true"] } } });
  const { root, app, run } = made;
  const ran = await scriptoriumProcess(["execute", run, "--budget-usd", "2"], { cwd: root });
  expect(ran.code).toBe(1);
  for (const choice of ["crew.prices", "crew.budget.attempt_usd", "--budget-tokens", "--no-budget-usd"])
    expect(ran.stderr).toContain(choice);
  expect(await app.runs.find(run)).toMatchObject({ state: "planned", budgetUsd: null });
});

test("P10: a token budget smaller than the estimate of one agent is its limit, and does not stop the run before any work", async () => {
  const made = await workspace(fakeClaude());
  const command = ["execute", made.run, "--workers", "1", "--budget-tokens", "60000", "--json"];
  const ran = await scriptoriumProcess(command, { cwd: made.root });
  expect(summary(ran.stdout)).toMatchObject({ state: "completed", tasks: { completed: 4 } });
});
