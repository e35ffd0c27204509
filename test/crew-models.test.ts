import { expect, onTestFinished, test } from "vitest";
import { openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { configuredAgents } from "../src/crew/agent/parts.ts";
import { chooseModel } from "../src/crew/agent/plan-model.ts";
import type { News } from "../src/crew/record/run-host.ts";
import { runUsage } from "../src/crew/report/usage.ts";
import { unwrap } from "../src/kernel/result.ts";
import { newRun, planned } from "./support/crew.ts";
import { crewMind } from "./support/crew-mind.ts";
import { modelServer } from "./support/model-server.ts";
import { newWorkspace, person, testEnvironment } from "./support/workspace.ts";

test("W8: a task's model is used when its provider is configured, else the configured one with a note; usage and cost are shown by model", async () => {
  const text = { deliverable: "text" as const };
  const tasks = [
    planned("0", text),
    planned("1.1", { ...text, model: "second/large" }),
    planned("1.2", { ...text, model: "elsewhere/huge" }),
  ];
  const first = await modelServer(crewMind(tasks));
  const second = await modelServer(crewMind(tasks));
  const crew = {
    agents: { all: { runner: "model", model: "first/small" } },
    providers: {
      first: { kind: "openai", base_url: `${first.url}/v1`, key_env: "FAKE_KEY" },
      second: { kind: "anthropic", base_url: `${second.url}/v1`, key_env: "FAKE_KEY" },
    },
    prices: { "first/small": { input: 1, output: 1 }, "second/large": { input: 10, output: 10 } },
    sandbox: "none",
  };
  const { root } = await newWorkspace({ config: `crew: ${JSON.stringify(crew)}\n` });
  const app = await openApp(unwrap(loadConfig(root, { ...testEnvironment(), FAKE_KEY: "sk-1" })));
  onTestFinished(() => app.close());
  const run = await newRun(app, tasks);
  const news: News[] = [];
  app.host.onNews((one) => void news.push(one));
  const started = unwrap(await app.host.execute(run, { by: "Ada", budgetUsd: 100 }));
  expect(unwrap(await started.ended)).toMatchObject({ state: "completed" });
  expect(new Set(second.heard.map(({ model }) => model))).toEqual(new Set(["large"]));
  const notes = news.filter(({ kind }) => kind === "model-not-used").map(({ reason }) => reason);
  expect(notes).toEqual([
    expect.stringMatching(
      /^the plan's model elsewhere\/huge is not used: .*names no provider.*; used instead: first\/small$/,
    ),
  ]);
  const { models } = unwrap(await runUsage.perform(app, { id: run }, person()));
  expect(models.map(({ model }) => model).sort()).toEqual(["first/small", "second/large"]);
  const dearer = models.find(({ model }) => model === "second/large");
  expect(dearer?.agents).toBe(1);
  expect(dearer?.usd).toBeCloseTo(((dearer?.tokens ?? 0) * 10) / 1e6, 9);
});

test.each([
  ["claude", "anthropic/claude-haiku-4-5", "claude-haiku-4-5"],
  ["claude", "openai/gpt-5", undefined],
  ["codex", "gpt-5-codex", "gpt-5-codex"],
  ["codex", "sonnet", undefined],
])("W8: the runner %s asked for %s runs %s", async (runner, wanted, used) => {
  const { root } = await newWorkspace({ config: `crew: { agents: { all: { runner: ${runner} } } }\n` });
  const config = unwrap(loadConfig(root, testEnvironment()));
  const agent = unwrap(configuredAgents(config)("worker"));
  const runnerThatIsThere = { ...agent.runner, check: undefined } as unknown as typeof agent.runner;
  const chosen = chooseModel({ ...agent, runner: runnerThatIsThere }, wanted, root);
  expect(chosen.model).toBe(used);
  expect(chosen.note === undefined).toBe(used !== undefined);
});
