import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { attemptsOf } from "../src/store/queries/attempts.ts";
import { scriptoriumProcess } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, type Scene, writes } from "./support/crew.ts";
import { agent, allEvents, newWorkspace, person, sampledEngines } from "./support/workspace.ts";

const workspace = (engine: (typeof sampledEngines)[number] = "sqlite") =>
  newWorkspace({ engine, config: "crew: {sandbox: none}\n", files: { "a.txt": "a\n" } });

const shown = async (app: App, id: string) => unwrap(await operations.show_run.perform(app, { id }, person()));

/** Opened from outside. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((done) => {
    open = done;
  });
  return { opened, open };
}

describe.each(sampledEngines)("pausing a run on %s", (engine) => {
  test("O5, O18: a paused run lets its agent end the stage, starts nothing new, and is resumed without a lost attempt", async () => {
    const { app } = await workspace(engine);
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2")]);
    const [begun, go] = [gate(), gate()];
    const started: string[] = [];
    const agents = playing({
      worker: async (scene) => {
        started.push(scene.number);
        if (scene.number === "0") {
          begun.open();
          await go.opened;
        }
        await writes()(scene);
      },
      qc: async (scene: Scene) => {
        started.push(`qc ${scene.number}`);
        await passes(scene);
      },
    });
    const execution = executed(app, run, agents);
    await begun.opened;
    const paused = unwrap(await operations.pause_run.perform(app, { id: run, reason: "look first" }, person()));
    expect(paused).toMatchObject({ state: "stopped", in_progress: 1, released: [] });
    go.open();
    expect(await execution).toMatchObject({ state: "stopped", reason: "paused by Ada Lovelace: look first" });
    expect(started).toEqual(["0"]);
    expect((await shown(app, run)).tasks[0]).toMatchObject({ state: "worker_completed" });
    const { runs } = unwrap(await operations.inbox.perform(app, {}, person()));
    expect(runs[0]).toMatchObject({ id: run, state: "stopped", reason: "paused by Ada Lovelace: look first" });

    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    expect((await attemptsOf(app.db.read, { run })).map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    expect((await allEvents(app)).filter(({ kind }) => kind === "run-pause")).toHaveLength(1);
  });

  test("O5: pausing now stops the agents of every process and releases their tasks without a lost attempt", async () => {
    const { app } = await workspace(engine);
    const run = await newRun(app, [planned("0")]);
    const begun = gate();
    let isStopped = false;
    const agents = playing({
      worker: async ({ signal, ...scene }) => {
        if (isStopped) return writes()({ ...scene, signal });
        begun.open();
        await new Promise((done) => signal.addEventListener("abort", done));
        isStopped = true;
        return undefined;
      },
      qc: passes,
    });
    const execution = executed(app, run, agents);
    await begun.opened;
    const paused = unwrap(await operations.pause_run.perform(app, { id: run, now: true }, person()));
    expect(paused.released).toHaveLength(1);
    expect(await execution).toMatchObject({ state: "stopped", reason: "paused by Ada Lovelace" });
    expect(isStopped).toBe(true);
    expect((await shown(app, run)).tasks[0]).toMatchObject({ state: "pending", holder: null });
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    const attempts = await attemptsOf(app.db.read, { run });
    expect(attempts.map(({ attempt, phase }) => [attempt, phase])).toEqual([
      [1, "abandoned"],
      [1, "qc_passed"],
    ]);
  });

  test("O5: a run that is resumed while an agent still ends its stage goes on beside it", async () => {
    const { app } = await workspace(engine);
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const [begun, go] = [gate(), gate()];
    const agents = playing({
      worker: async (scene) => {
        begun.open();
        await go.opened;
        await writes()(scene);
      },
      qc: passes,
    });
    const execution = executed(app, run, agents);
    await begun.opened;
    unwrap(await operations.pause_run.perform(app, { id: run }, person()));
    unwrap(await app.host.execute(run, { by: "Ada", agents }));
    expect(await shown(app, run)).toMatchObject({ state: "running", reason: null });
    go.open();
    expect(await execution).toMatchObject({ state: "completed" });
  });
});

test("O5: a task that a person cancels stops its agent soon, and the rest of the run goes on", async () => {
  const { app } = await workspace();
  const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2")]);
  const begun = gate();
  let isStopped = false;
  const agents = playing({
    worker: async (scene) => {
      if (scene.number !== "1.1") return writes()(scene);
      begun.open();
      await new Promise((done) => scene.signal.addEventListener("abort", done));
      isStopped = true;
      return undefined;
    },
    qc: passes,
  });
  const execution = executed(app, run, agents);
  await begun.opened;
  const id = (await shown(app, run)).tasks.find(({ number }) => number === "1.1")?.id ?? "";
  unwrap(await operations.update_todo.perform(app, { id, status: "cancelled", output: "not needed" }, person()));
  expect(await execution).toMatchObject({ state: "failed", tasks: { completed: 2, lost: 1 } });
  expect(isStopped).toBe(true);
});

test("O5: only people pause runs, and only running ones", async () => {
  const { app } = await workspace();
  const run = await newRun(app, [planned("0")]);
  expect(await operations.pause_run.perform(app, { id: run }, agent("engineer"))).toMatchObject({
    problem: { code: "denied" },
  });
  expect(await operations.pause_run.perform(app, { id: run }, person())).toMatchObject({
    problem: { code: "conflict", message: `run ${run} is planned and cannot be paused` },
  });
});

test("O19: run pause works from another process, and says how to continue", async () => {
  const { app, root } = await workspace();
  const run = await newRun(app, [planned("0")]);
  const [begun, go] = [gate(), gate()];
  const agents = playing({
    worker: async (scene) => {
      begun.open();
      await go.opened;
      await writes()(scene);
    },
    qc: passes,
  });
  const execution = executed(app, run, agents);
  await begun.opened;
  const paused = await scriptoriumProcess(["run", "pause", run, "--reason", "lunch"], { cwd: root });
  expect(paused.stdout).toContain(`continue with: scriptorium run resume ${run}`);
  go.open();
  expect(await execution).toMatchObject({ state: "stopped", reason: expect.stringContaining("lunch") });
  const { stdout } = await scriptoriumProcess(["run", "show", run], { cwd: root });
  expect(stdout).toContain(": lunch");
});
