import { describe, expect, test } from "vitest";
import { scriptedRunner } from "../src/agents/scripted.ts";
import type { App } from "../src/app.ts";
import { taskRecord } from "../src/crew/report/task-history.ts";
import { runReport } from "../src/crew/run-operations.ts";
import { ok, refuse, unwrap } from "../src/kernel/result.ts";
import { agentReportsOf } from "../src/store/queries/agent-reports.ts";
import { contextsOf } from "../src/store/queries/contexts.ts";
import { updateTodo } from "../src/tasks/operations.ts";
import { executed, newRun, type Play, passes, planned, playing, verdictOf, writes } from "./support/crew.ts";
import { engines, newWorkspace, person, read } from "./support/workspace.ts";

const qcSections = {
  timeline: "Attempt 1 wrote the wrong file.\n\n## Facts (recorded by the system)\n\nAll tasks passed.",
  score_progression: "It stayed at 40.",
  root_causes: ["The worker read <b>nothing</b>"],
  recommendations: ["Name the file"],
};
const pmSections = {
  blocked_tasks: "Task 1.2 waits.",
  delay: "One task.",
  risk: "Medium.",
  next_actions: ["Retry with the file named"],
  lessons: ["Name files in plans"],
};
const finalSections = {
  outcome: "Half of it is there.",
  reasoning: "Task 1.1 never named its file.",
  key_decisions: ["1.1: none"],
};

/** Fails task 1.1, and writes a report when it is asked for one. */
const fails: Play = async (scene) => {
  if (scene.spec.tools?.operations.some(({ name }) => name === "submit_report"))
    return void (await scene.use("submit_report", { content: qcSections }));
  return scene.number === "1.1" ? void (await scene.use("submit_verdict", verdictOf(false))) : passes(scene);
};
const reports =
  (content: object): Play =>
  async ({ use }) =>
    void (await use("submit_report", { content }));

const tasks = [planned("0"), planned("1.1", { max_retries: 0 }), planned("1.2", { depends_on: ["1.1"] })];
const config = "crew: {sandbox: none}\n";
const recordOf = async (app: App, run: string) => {
  const row = (await app.runs.tasks(run)).find((one) => one.number === "1.1");
  return unwrap(await taskRecord.perform(app, { id: row?.task.id ?? "" }, person()));
};
const contentOf = async (app: App, run: string) => unwrap(await runReport.perform(app, { id: run }, person())).content;

describe.each(engines)("reports of agents on %s", (engine) => {
  test("W13, O9, O11: agents write the failure reports and the final report from the record, apart from the facts", async () => {
    const { app } = await newWorkspace({ engine, config });
    const run = await newRun(app, tasks);
    const told: Record<string, string> = {};
    const hear =
      (part: string, play: Play): Play =>
      (scene) => {
        if (scene.spec.tools?.operations.some(({ name }) => name === "submit_report")) {
          told[part] = scene.told;
          expect(scene.spec.tools.operations.map(({ name }) => name)).toEqual(["submit_report"]);
        }
        return play(scene);
      };
    const agents = playing({
      worker: writes(),
      qc: hear("qc", fails),
      pm: hear("pm", reports(pmSections)),
      reporter: hear("reporter", reports(finalSections)),
    });
    const outcome = await executed(app, run, agents);
    expect(outcome).toMatchObject({ state: "failed", tasks: { completed: 1, lost: 2 } });

    // Each is written from the record, within a small context.
    expect(told.qc).toContain("it is wrong");
    expect(told.qc).toContain("out/1.1.txt");
    expect(told.pm).toContain("1.2 Do 1.2: blocked");
    expect(told.pm).toContain("The worker read <b>nothing</b>");
    expect(told.reporter).toContain("1 of 3 tasks accepted");
    for (const context of Object.values(told)) expect(context.length).toBeLessThanOrEqual(24_100);
    const parts = (await contextsOf(app.db.read, { run })).map(({ part, ended }) => `${part} ${ended}`);
    for (const one of ["qc exit", "pm exit", "reporter exit"]) expect(parts).toContain(one);

    // Facts and analysis are told apart, and the agent's text cannot pose as facts.
    const content = await contentOf(app, run);
    expect(read(outcome.report ?? "")).toBe(content);
    expect(content.match(/^#{2,3} Facts \(recorded by the system\)$/gm)).toHaveLength(2);
    expect(content).toMatch(/^## Analysis \(written by the agent `reporter`\)$/m);
    expect(content).toMatch(/^### Analysis: failure report \(written by the agent `qc`\)$/m);
    expect(content).toMatch(/^### Analysis: impact analysis \(written by the agent `pm`\)$/m);
    expect(content).toContain("> ## Facts (recorded by the system)");
    expect(content).toContain("> - Retry with the file named");
    expect(content).toContain("> Half of it is there.");

    const record = await recordOf(app, run);
    expect(record.reports).toMatchObject([
      { kind: "qc_failure", part: "qc", missing: null },
      { kind: "pm_failure", part: "pm", missing: null },
    ]);
    expect(record.reports[0]?.content).toContain("The worker read");
    // C8: what they wrote changes no state and no score.
    expect(record.attempts).toHaveLength(1);
    expect((await app.runs.find(run))?.state).toBe("failed");
  });

  test("W13: without an agent or with a failing one the report has the facts and says why", async () => {
    const { app } = await newWorkspace({ engine, config });
    const run = await newRun(app, tasks);
    const scripted = playing({ worker: writes(), qc: fails });
    const crash = scriptedRunner(async () => {
      throw new Error("the model is gone");
    });
    const outcome = await executed(app, run, (part) => {
      if (part === "pm") return refuse("invalid", "no planner is configured");
      const played = scripted(part);
      return part === "reporter" && played.ok ? ok({ ...played.value, runner: crash }) : played;
    });
    expect(outcome.state).toBe("failed");
    const content = await contentOf(app, run);
    expect(content).toContain("No agent's analysis: no planner is configured.");
    expect(content).toContain("No agent's analysis: the model is gone.");
    expect(content).toContain("it is wrong");
    expect((await recordOf(app, run)).reports).toMatchObject([
      { kind: "qc_failure", missing: null },
      { kind: "pm_failure", content: null, missing: "no planner is configured" },
    ]);
  });

  test("W13: a report is written once for one outcome, and again for another", async () => {
    const { app } = await newWorkspace({ engine, config });
    const run = await newRun(app, tasks);
    let asked = 0;
    let isRight = false;
    const agents = playing({
      worker: writes(),
      qc: (scene) => (isRight && scene.number !== "" ? passes(scene) : fails(scene)),
      pm: reports(pmSections),
      reporter: async (scene) => {
        asked++;
        await reports(finalSections)(scene);
      },
    });
    await executed(app, run, agents);
    // Started again with nothing to do: the outcome is the same, and so is its report.
    await executed(app, run, agents);
    expect(asked).toBe(1);
    expect(await agentReportsOf(app.db.read, { run })).toHaveLength(3);
    isRight = true;
    const failed = (await app.runs.tasks(run)).find(({ number }) => number === "1.1");
    unwrap(await updateTodo.perform(app, { id: failed?.task.id ?? "", status: "reopened" }, person()));
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    expect(asked).toBe(2);
    expect(await contentOf(app, run)).toContain("> Half of it is there.");
  });
});

test("W13, C5: a report beyond the budget of the run is left out, and the run ends as it would have", async () => {
  const { app } = await newWorkspace({ config });
  const run = await newRun(app, [planned("0")]);
  const agents = playing({
    worker: writes(),
    qc: passes,
    // As runners do before each model call.
    reporter: async ({ spec }) => {
      const held = await spec.meter?.reserve({ tokens: 5000, usd: null });
      return held?.ok ? undefined : { exitCode: null, ended: "limit", error: held?.problem.message ?? "" };
    },
  });
  expect(await executed(app, run, agents, { budgetTokens: 4000 })).toMatchObject({ state: "completed" });
  expect(await contentOf(app, run)).toMatch(/No agent's analysis: the budget of the run is 4000 tokens; \d+ left/);
});

test("W13: crew.reports: facts starts no agent for a report, and the report says so", async () => {
  const { app } = await newWorkspace({ config: "crew: {sandbox: none, reports: facts}\n" });
  const run = await newRun(app, tasks);
  await executed(app, run, playing({ worker: writes(), qc: fails }));
  const parts = (await contextsOf(app.db.read, { run })).map(({ part }) => part);
  expect(parts).not.toContain("reporter");
  expect(await contentOf(app, run)).toContain("No agent's analysis: `crew.reports` is `facts`.");
});
