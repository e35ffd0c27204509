import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { type PlanTask, planTask } from "../src/crew/rules/plan.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import type { Event } from "../src/store/events.ts";
import { attemptsOf } from "../src/store/queries/attempts.ts";
import { replayTasks } from "../src/tasks/replay.ts";
import { scriptoriumOfPerson, scriptoriumProcess, serve, serveProcess } from "./support/commands.ts";
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

/** A step that only asks a person, beside a task that does not depend on it. */
const asking = (more: Partial<PlanTask> = {}) => [
  planned("0"),
  planTask.parse({ number: "1.1", title: "Go on?", requirements: "Is the backup done?", gate: "person", ...more }),
  planned("1.2", { depends_on: ["1.1"] }),
  planned("1.3"),
];

describe.each(engines)("questions of a plan on %s", (engine) => {
  test("O3, O18: a step without a worker asks a person, and the answer is its output for what depends on it", async () => {
    const { app } = await workspace(engine);
    const run = await newRun(app, asking());
    const told = new Map<string, string>();
    const verifierTold = new Map<string, string>();
    const agents = playing({
      worker: async (scene) => {
        told.set(scene.number, scene.told);
        await writes()(scene);
      },
      qc: async (scene) => {
        verifierTold.set(scene.number, scene.told);
        await passes(scene);
      },
    });
    const stopped = await executed(app, run, agents);
    const [gate] = await waiting(app);
    expect(gate).toMatchObject({ number: "1.1", on_reject: "stop" });
    expect(stopped).toMatchObject({
      state: "stopped",
      reason: `task 1.1 waits for the answer of a person: scriptorium task approve ${gate?.task}`,
    });
    expect((await shown(app, run)).tasks.map(({ state, asks }) => [state, asks])).toEqual([
      ["completed", false],
      ["pending", true],
      ["pending", false],
      ["completed", false],
    ]);
    const id = gate?.task ?? "";
    const input = { id, hash: gate?.hash ?? "" };
    expect(unwrap(await operations.show_gate.perform(app, { id }, person()))).toMatchObject({
      requirements: "Is the backup done?",
      score: null,
      diff: "",
    });
    for (const caller of [agent("engineer"), person("reader"), { ...person(), proof: undefined } as never])
      for (const name of ["approve_task", "reject_task"] as const)
        expect(await operations[name].perform(app, input, caller)).toMatchObject({ problem: { code: "denied" } });
    expect(await operations.return_task.perform(app, { ...input, note: "no" }, person())).toMatchObject({
      problem: { message: expect.stringContaining("approve or reject it") },
    });
    expect(await operations.take_task.perform(app, { id }, person())).toMatchObject({ problem: { code: "conflict" } });
    unwrap(await operations.approve_task.perform(app, { ...input, note: "Yes, on disk 7." }, person()));
    expect(await operations.reject_task.perform(app, input, person())).toMatchObject({ ok: false });
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    expect([...told.keys()].sort()).toEqual(["0", "1.2", "1.3"]);
    expect(told.get("1.2")).toContain("Yes, on disk 7.");
    expect(told.get("1.3")).not.toContain("disk 7");
    // O6, O8: its verifier gets the person's answer, and no output of other dependencies.
    expect(verifierTold.get("1.2")).toContain("Asked in task 1.1: Is the backup done?\nAnswer: Yes, on disk 7.");
    expect(verifierTold.get("1.2")).not.toContain("made 0");
    expect(verifierTold.get("1.3")).not.toContain("disk 7");
    const report = readFileSync(app.runs.reportPath(run), "utf8");
    expect(report).toContain("It asks a person and has no worker.");
    expect(report).toContain("approved by Ada Lovelace: Yes, on disk 7.");
    const events = (await allEvents(app)).map((event) => ({ ...event, at: "" }) as Omit<Event, "id">);
    expect(replayTasks(events).get(id)).toMatchObject({ state: "completed", result: { output: "Yes, on disk 7." } });
  });

  test("O9: why a run is stopped is recorded: the words of a person's note do not make it a pause or a used-up budget", async () => {
    const { app } = await workspace(engine);
    const run = await newRun(app, asking());
    const agents = playing({ worker: writes(), qc: passes });
    await executed(app, run, agents);
    const [gate] = await waiting(app);
    const note = "Too dear for the budget of the run; paused by me.";
    const input = { id: gate?.task ?? "", hash: gate?.hash ?? "", note };
    unwrap(await operations.reject_task.perform(app, input, person()));
    expect(await shown(app, run)).toMatchObject({ state: "stopped", stopped_by: "other" });
    await executed(app, run, agents);
    unwrap(await app.runs.step(run, { type: "start" }, "ada"));
    expect(await shown(app, run)).toMatchObject({ state: "running", stopped_by: null });
    unwrap(await operations.pause_run.perform(app, { id: run }, person()));
    expect(await shown(app, run)).toMatchObject({ state: "stopped", stopped_by: "person" });
    unwrap(await app.runs.step(run, { type: "stop", reason: "no room", cause: "budget" }, "crew"));
    expect(await shown(app, run)).toMatchObject({ stopped_by: "budget" });
  });

  test("O9, O18: a rejected question stops the run and is asked again, or fails its task and blocks what depends on it", async () => {
    const { app } = await workspace(engine);
    const agents = playing({ worker: writes(), qc: passes });
    const reject = async () => {
      const [gate] = await waiting(app);
      const input = { id: gate?.task ?? "", hash: gate?.hash ?? "", note: "Not before Monday." };
      unwrap(await operations.reject_task.perform(app, input, person()));
    };
    const stops = await newRun(app, asking());
    await executed(app, stops, agents);
    await reject();
    expect(await shown(app, stops)).toMatchObject({
      state: "stopped",
      reason: "task 1.1: Ada Lovelace rejected it: Not before Monday.",
    });
    expect(await waiting(app)).toEqual([]);
    await executed(app, stops, agents);
    const [again] = await waiting(app);
    unwrap(await operations.approve_task.perform(app, { id: again?.task ?? "", hash: again?.hash ?? "" }, person()));
    expect(await executed(app, stops, agents)).toMatchObject({ state: "completed" });

    const fails = await newRun(app, asking({ on_reject: "fail" }));
    await executed(app, fails, agents);
    await reject();
    expect(await executed(app, fails, agents)).toMatchObject({ state: "failed", tasks: { lost: 2 } });
    const { tasks, failures } = await shown(app, fails);
    expect(tasks.map(({ state }) => state)).toEqual(["completed", "failed", "blocked", "completed"]);
    expect(failures).toMatchObject([{ number: "1.1", cause: "Ada Lovelace rejected it: Not before Monday." }]);
    expect(readFileSync(app.runs.reportPath(fails), "utf8")).toContain("rejected by Ada Lovelace");
    unwrap(await operations.update_todo.perform(app, { id: tasks[1]?.id ?? "", status: "reopened" }, person()));
    await executed(app, fails, agents);
    expect(await waiting(app)).toHaveLength(1);
  });
});

test("O3: a question is a task of the plan's file without a worker, and half a worker is refused by line", async () => {
  const { app } = await workspace();
  const run = await newRun(app, asking());
  const file = app.runs.chainPath(run);
  const text = readFileSync(file, "utf8");
  expect(text).toContain(
    "## Task 1.1: Go on?\n\n- Gate: person\n- On reject: stop\n\n### Requirements\n\nIs the backup done?\n\n## Task 1.2",
  );
  expect(await app.runs.editedPlan((await app.runs.find(run)) as never)).toEqual({ ok: true, value: undefined });
  const refused = async (from: string, to: string) => {
    writeFileSync(file, text.replace(from, to));
    const edited = await app.runs.editedPlan((await app.runs.find(run)) as never);
    return edited.ok ? "" : edited.problem.message;
  };
  expect(await refused("- On reject: stop", "- Worker: an engineer\n- On reject: stop")).toMatch(
    /chain-output\.md:\d+: .*a task needs a verifier/,
  );
  expect(await refused("- Gate: person\n- On reject: stop\n", "")).toMatch(/a task needs a worker/);
  expect(await refused("- On reject: stop", "- On reject: shrug")).toMatch(/on_reject|On reject|fail/);
  expect(
    planTask.safeParse({ number: "0", title: "Go?", requirements: "Go?", gate: "person" }).error?.message,
  ).toContain("task 0 validates the environment");
});

test("C4, O5: a question waits through the kill of its server, and is answered over HTTP or with task reject", async () => {
  const tasks = asking({ on_reject: "fail" });
  const { app, root } = await newWorkspace({ config: await crewOfOneModel(tasks), files: { "a.txt": "a\n" } });
  const run = await newRun(app, tasks);
  const states = async () => (await shown(app, run)).tasks.map(({ state }) => state);
  const env = { FAKE_KEY: "k" };
  const first = await serveProcess(root, env);
  await ask(first.url, `/api/runs/${run}/execute`, { method: "POST", token: first.token, body: {} });
  await expect.poll(async () => (await waiting(app)).length, { timeout: 30_000 }).toBe(1);
  await expect.poll(states, { timeout: 30_000 }).toEqual(["completed", "pending", "pending", "completed"]);
  await first.stop("SIGKILL");

  const { url, token } = await serve(root, env);
  const [gate] = (await ask(url, "/api/inbox", { token })).json().gates;
  expect(gate).toMatchObject({ number: "1.1", on_reject: "fail" });
  const { stdout: seen } = await scriptoriumProcess(["task", "approve", gate.task, "--show"], { cwd: root });
  expect(seen).toContain("Is the backup done?");
  expect(seen).toContain("A rejection fails the task.");
  const unproven = await scriptoriumProcess(["task", "reject", gate.task], {
    cwd: root,
    env: { SCRIPTORIUM_TOKEN: "" },
  });
  expect(unproven.stderr).toContain("a person must confirm this");
  const body = { hash: gate.hash, note: "Yes." };
  const approved = await ask(url, `/api/tasks/${gate.task}/approve`, { method: "POST", token, body });
  expect(approved.json()).toMatchObject({ id: gate.task, run });
  await expect.poll(async () => (await shown(app, run)).state, { timeout: 30_000 }).toBe("completed");
});
