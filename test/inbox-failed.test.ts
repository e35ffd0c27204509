import { expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, verdictOf, writes } from "./support/crew.ts";
import { agent, newWorkspace, person, sampledEngines } from "./support/workspace.ts";

const failing = playing({
  worker: writes(),
  qc: async ({ use }) => {
    await use("submit_verdict", verdictOf(false));
  },
});

const inboxOf = async (app: App) => unwrap(await operations.inbox.perform(app, {}, person()));

test.each(sampledEngines)(
  "O9: a failed run is in the inbox with its cause until a person closes it, and again when it fails again (%s)",
  async (engine) => {
    const { app, root } = await newWorkspace({ engine });
    const run = await newRun(app, [planned("0", { max_retries: 0 })]);
    expect(await inboxOf(app)).toMatchObject({ waiting: 0, runs: [] });
    expect(await executed(app, run, failing)).toMatchObject({ state: "failed" });

    const failed = { id: run, state: "failed", reason: expect.stringMatching(/^task 0 failed: it is wrong/) };
    expect(await inboxOf(app)).toMatchObject({ waiting: 1, runs: [failed] });
    const shown = await scriptorium(["inbox"], { cwd: root });
    expect(shown.stdout).toMatch(/1 decision\b/);
    expect(shown.stdout).toMatch(
      new RegExp(`failed run .*task 0 failed.*scriptorium run show ${run}, run close ${run}`),
    );

    expect(await operations.close_run.perform(app, { id: run }, agent("engineer"))).toMatchObject({ ok: false });
    expect(await scriptorium(["run", "close", run], { cwd: root })).toMatchObject({
      code: 0,
      stdout: `${run} is no longer in the inbox\n`,
    });
    expect(await inboxOf(app)).toMatchObject({ waiting: 0, runs: [] });
    expect((await scriptorium(["run", "close", run], { cwd: root })).stderr).toContain("is closed already");

    const [task] = await app.runs.tasks(run);
    unwrap(await operations.update_todo.perform(app, { id: task?.task.id, status: "reopened" }, person()));
    expect(await executed(app, run, failing)).toMatchObject({ state: "failed" });
    expect(await inboxOf(app)).toMatchObject({ waiting: 1, runs: [failed] });

    unwrap(await operations.update_todo.perform(app, { id: task?.task.id, status: "reopened" }, person()));
    expect(await executed(app, run, playing({ worker: writes(), qc: passes }))).toMatchObject({ state: "completed" });
    expect(await inboxOf(app)).toMatchObject({ waiting: 0, runs: [] });
    expect((await scriptorium(["run", "close", run], { cwd: root })).stderr).toContain("only a failed run is closed");
  },
);
