import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { attemptsOf } from "../src/store/queries/attempts.ts";
import { scriptoriumOfPerson, scriptoriumProcess, serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, verdictOf, writes } from "./support/crew.ts";
import { crewOfOneModel } from "./support/crew-mind.ts";
import { ask } from "./support/requests.ts";
import { agent, allEvents, engines, newWorkspace, person } from "./support/workspace.ts";

const workspace = (engine: (typeof engines)[number] = "sqlite") =>
  newWorkspace({ engine, config: "crew: {sandbox: none}\n", files: { "a.txt": "a\n" } });

const waiting = async (app: App) => unwrap(await operations.inbox.perform(app, {}, person())).gates;
const shown = async (app: App, id: string) => unwrap(await operations.show_run.perform(app, { id }, person()));
const gated = () => [
  planned("0"),
  planned("1.1", { gate: "person", max_retries: 0 }),
  planned("1.2", { depends_on: ["1.1"] }),
];

describe.each(engines)("gates of a plan on %s", (engine) => {
  test("O5, O8, O18: a verified result waits at its gate before it is merged, and what depends on it waits too", async () => {
    const { app, git } = await workspace(engine);
    const run = await newRun(app, gated());
    const agents = playing({ worker: writes(), qc: passes });
    const stopped = await executed(app, run, agents);
    const [gate] = await waiting(app);
    expect(stopped).toMatchObject({
      state: "stopped",
      reason: `task 1.1 waits for the approval of a person: scriptorium task approve ${gate?.task}`,
    });
    expect((await shown(app, run)).tasks.map(({ state, waits_for_approval }) => [state, waits_for_approval])).toEqual([
      ["completed", false],
      ["qc_passed", true],
      ["pending", false],
    ]);
    expect(git("ls-tree", "-r", "--name-only", acceptedBranch(run))).not.toContain("out/1.1.txt");
    const seen = unwrap(await operations.show_gate.perform(app, { id: gate?.task ?? "" }, person()));
    expect(seen).toMatchObject({ number: "1.1", output: "made 1.1", score: 92, files_changed: ["out/1.1.txt"] });
    expect(seen.diff).toContain("+1.1");

    const input = { id: gate?.task ?? "", hash: gate?.hash ?? "" };
    for (const caller of [agent("engineer"), person("reader"), { ...person(), proof: undefined } as never])
      expect(await operations.approve_task.perform(app, input, caller)).toMatchObject({ problem: { code: "denied" } });
    expect(await operations.approve_task.perform(app, { ...input, hash: "other" }, person())).toMatchObject({
      problem: { code: "conflict" },
    });
    unwrap(await operations.approve_task.perform(app, { ...input, note: "fine" }, person()));
    expect(await operations.return_task.perform(app, { ...input, note: "no" }, person())).toMatchObject({ ok: false });

    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    expect(git("show", `${acceptedBranch(run)}:out/1.1.txt`)).toBe("1.1");
    expect(await waiting(app)).toEqual([]);
    expect((await allEvents(app)).map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["gate-reached", "gate-approved"]),
    );
  });

  test("O9: a returned result is retried with the person's note, and uses up no retry", async () => {
    const { app } = await workspace(engine);
    const run = await newRun(app, gated());
    const told: string[] = [];
    const agents = playing({
      worker: async (scene) => {
        if (scene.number === "1.1") told.push(scene.told);
        await writes((number) => `${number} ${told.length}\n`)(scene);
      },
      qc: passes,
    });
    for (const note of ["Use the metric system.", "Round to two digits."]) {
      await executed(app, run, agents);
      const [gate] = await waiting(app);
      const input = { id: gate?.task ?? "", hash: gate?.hash ?? "", note };
      unwrap(await operations.return_task.perform(app, input, person()));
    }
    await executed(app, run, agents);
    expect(told).toHaveLength(3);
    expect(told[1]).toContain("Ada Lovelace returned the result: Use the metric system.");
    expect(told[2]).toContain("Round to two digits.");
    const [gate] = await waiting(app);
    unwrap(await operations.approve_task.perform(app, { id: gate?.task ?? "", hash: gate?.hash ?? "" }, person()));
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    const attempts = (await attemptsOf(app.db.read, { run })).filter(({ task_id }) => task_id === gate?.task);
    expect(attempts.map(({ attempt, phase }) => [attempt, phase])).toEqual([
      [1, "qc_failed"],
      [2, "qc_failed"],
      [3, "qc_passed"],
    ]);
  });
});

test("O9: after a return the retries of the plan still count: a failed verdict ends the task", async () => {
  const { app } = await workspace();
  const run = await newRun(app, gated().slice(0, 2));
  let isReturned = false;
  const agents = playing({
    worker: writes(),
    qc: async (scene) => {
      if (scene.number === "1.1" && isReturned) await scene.use("submit_verdict", verdictOf(false));
      else await passes(scene);
    },
  });
  await executed(app, run, agents);
  const [gate] = await waiting(app);
  const input = { id: gate?.task ?? "", hash: gate?.hash ?? "", note: "Again." };
  unwrap(await operations.return_task.perform(app, input, person()));
  isReturned = true;
  expect(await executed(app, run, agents)).toMatchObject({ state: "failed", tasks: { lost: 1 } });
});

test("O3: a gate is a line of the plan's file, and cannot be removed once the run has started", async () => {
  const { app } = await workspace();
  const run = await newRun(app, gated());
  const file = app.runs.chainPath(run);
  const text = readFileSync(file, "utf8");
  expect(text).toContain("- Deliverable: files\n- Gate: person\n");
  writeFileSync(file, text.replace("- Gate: person", "- Gate: robot"));
  expect(
    await app.host.execute(run, { by: "Ada", agents: playing({}) }).then(async (one) => one.ok && one.value.ended),
  ).toMatchObject({
    problem: { message: expect.stringMatching(/chain-output\.md:\d+: .*person/) },
  });
  writeFileSync(file, text);
  const agents = playing({ worker: writes(), qc: passes });
  await executed(app, run, agents);
  writeFileSync(file, text.replace("- Gate: person\n", ""));
  const opened = await app.host.execute(run, { by: "Ada", agents });
  expect(opened.ok && (await opened.value.ended)).toMatchObject({
    problem: { code: "conflict", message: expect.stringContaining("task 1.1") },
  });
  expect(await waiting(app)).toHaveLength(1);
});

test("O5: in a server a gate holds back only what depends on it, survives a restart, and opens over HTTP", async () => {
  const tasks = [...gated(), planned("1.3")];
  const { app, root } = await newWorkspace({ config: await crewOfOneModel(tasks), files: { "a.txt": "a\n" } });
  const run = await newRun(app, tasks);
  const states = async () => (await shown(app, run)).tasks.map(({ state }) => state);
  const env = { FAKE_KEY: "k" };
  const first = await serve(root, env);
  await ask(first.url, `/api/runs/${run}/execute`, { method: "POST", token: first.token, body: {} });
  await expect.poll(states, { timeout: 30_000 }).toEqual(["completed", "qc_passed", "pending", "completed"]);
  await expect.poll(async () => (await waiting(app)).length).toBe(1);
  expect(await shown(app, run)).toMatchObject({ state: "running" });
  await first.stop();

  const { url, token } = await serve(root, env);
  const [gate] = (await ask(url, "/api/inbox", { token })).json().gates;
  expect((await ask(url, `/api/tasks/${gate.task}/gate`, { token })).json()).toMatchObject({ output: "made 1.1" });
  await ask(url, `/api/runs/${run}/execute`, { method: "POST", token, body: {} });
  const body = { hash: gate.hash };
  const approved = await ask(url, `/api/tasks/${gate.task}/approve`, { method: "POST", token, body });
  expect(approved.json()).toMatchObject({ id: gate.task, run });
  await expect.poll(async () => (await shown(app, run)).state, { timeout: 30_000 }).toBe("completed");
});

test("O19: task approve and task return need a person, show the result, and say how the run continues", async () => {
  const { app, root } = await workspace();
  const run = await newRun(app, gated());
  await executed(app, run, playing({ worker: writes(), qc: passes }));
  const [gate] = await waiting(app);
  const id = gate?.task ?? "";
  const { stdout: listed } = await scriptoriumProcess(["inbox"], { cwd: root });
  expect(listed).toContain(`scriptorium task approve ${id}`);
  const { stdout: seen } = await scriptoriumProcess(["task", "approve", id, "--show"], { cwd: root });
  expect(seen).toContain("made 1.1");
  const unproven = await scriptoriumProcess(["task", "approve", id], { cwd: root, env: { SCRIPTORIUM_TOKEN: "" } });
  expect(unproven.stderr).toContain("a person must confirm this");
  const done = await scriptoriumOfPerson(["task", "approve", id], { cwd: root });
  expect(done.stdout).toContain(`continue with: scriptorium run resume ${run}`);
  expect(await waiting(app)).toEqual([]);
});
