import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import type { PlanTask } from "../src/crew/rules/plan.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium, serve } from "./support/commands.ts";
import { executed, newRun, type Play, planned, playing, type Scene, verdictOf } from "./support/crew.ts";
import { crewMind } from "./support/crew-mind.ts";
import { modelServer } from "./support/model-server.ts";
import { recordEqualsRows } from "./support/replay.ts";
import { ask } from "./support/requests.ts";
import { atTerminal } from "./support/terminal.ts";
import { agent, allEvents, engines, newWorkspace, person, sampledEngines } from "./support/workspace.ts";

const text = (number: string, more: Partial<PlanTask> = {}) =>
  planned(number, { deliverable: "text", max_retries: 0, verification: [{ criterion: "It is made" }], ...more });

const failing = [
  text("0"),
  text("1.1", { requirements: "Do the impossible." }),
  text("1.2", { depends_on: ["1.1"] }),
  text("1.3"),
];
const split = [
  text("1.1", { requirements: "Do the first half." }),
  text("1.4", { requirements: "Do the second half." }),
];
const splits = [{ task: "1.1", into: ["1.1", "1.4"] }];

/** Workers fail at whatever is impossible; `pm` replans. */
const crew = (pm: Play, made: string[] = []) =>
  playing({
    pm,
    async worker({ number, told, use }: Scene) {
      made.push(number);
      await use("submit_output", { output: `made ${number}${told.includes("impossible") ? " badly" : ""}` });
      return undefined;
    },
    async qc({ number, told, use }: Scene) {
      const met = !told.includes("badly");
      const evidence = [{ criterion: 1, met, quote: `made ${number}`, from: "output" }];
      await use("submit_verdict", verdictOf(met, { evidence, issues: met ? [] : ["nobody can do that"] }));
      return undefined;
    },
  });

const proposes: Play = async ({ use }) => {
  await use("add_plan_tasks", { tasks: split });
  await use("propose_plan", { reason: "It was too much for one task.", splits });
  return undefined;
};

async function failed(engine: (typeof engines)[number] = "sqlite") {
  const { app, root } = await newWorkspace({ engine, config: "crew: { sandbox: none, reports: facts }\n" });
  const run = await newRun(app, failing);
  await executed(
    app,
    run,
    crew(async () => undefined),
  );
  return { app, root, run };
}

const replan = async (app: App, run: string, pm: Play, more: { tasks?: string[]; signal?: AbortSignal } = {}) => {
  const { tasks = [], signal } = more;
  const started = await app.host.replan(run, { by: "Ada", tasks, message: "Halve it.", agents: crew(pm), signal });
  return started.ok ? started.value.ended : started;
};
const dependencies = async (app: App, run: string) =>
  Object.fromEntries((await app.runs.find(run))?.plan?.tasks.map((task) => [task.number, task.depends_on]) ?? []);

describe.each(engines)("W7: replanning failed tasks on %s", (engine) => {
  test("the planner splits a failed task, a person confirms the diff, and the run ends without repeating accepted work", async () => {
    const { app, run } = await failed(engine);
    const told: string[] = [];
    const change = unwrap(
      await replan(app, run, async (scene) => {
        told.push(scene.told);
        return proposes(scene);
      }),
    );
    expect(told[0]).toContain("nobody can do that");
    expect(told[0]).toContain("Halve it.");
    expect(told[0]).toContain("## 1.3: Do 1.3 (completed)");

    // Nothing has changed yet; the change waits in the inbox.
    expect((await app.runs.find(run))?.plan?.tasks).toHaveLength(4);
    const waiting = unwrap(await operations.inbox.perform(app, {}, person()));
    expect(waiting.plan_changes).toMatchObject([{ id: change.id, run, tasks: ["1.1"] }]);
    const shown = unwrap(await operations.show_plan_change.perform(app, { id: change.id }, person()));
    expect(shown).toMatchObject({ state: "open", reason: "It was too much for one task." });
    expect(shown.diff).toMatch(/-Do the impossible\.\n\+Do the first half\./);
    expect(shown.diff).toContain("+## Task 1.4");

    const { proof: _, ...unproven } = person() as { proof?: string };
    for (const caller of [agent("planner"), unproven as never])
      expect(await operations.confirm_plan_change.perform(app, { id: change.id }, caller)).toMatchObject({
        problem: { code: "denied" },
      });
    const confirmed = unwrap(await operations.confirm_plan_change.perform(app, { id: change.id }, person()));
    expect(confirmed).toMatchObject({ run, reopened: ["1.1"], diff: shown.diff });
    expect(readFileSync(app.runs.chainPath(run), "utf8")).toContain("Do the second half.");
    expect(await dependencies(app, run)).toMatchObject({ "1.2": ["1.1", "1.4"] });
    await recordEqualsRows(app);

    const made: string[] = [];
    const outcome = await executed(
      app,
      run,
      crew(async () => undefined, made),
    );
    expect(outcome).toMatchObject({ state: "completed", tasks: { all: 5, completed: 5 } });
    expect(made.at(-1)).toBe("1.2");
    expect(made.sort()).toEqual(["1.1", "1.2", "1.4"]);
    await recordEqualsRows(app);
    const kinds = (await allEvents(app)).map(({ kind }) => kind).filter((kind) => kind.startsWith("run-replan"));
    expect(kinds).toEqual(["run-replan-started", "run-replan-proposed", "run-replan-confirmed"]);
    expect(await operations.confirm_plan_change.perform(app, { id: change.id }, person())).toMatchObject({
      problem: { code: "conflict", message: `plan change ${change.id} is confirmed already` },
    });
  });
});

describe.each(sampledEngines)("W7: replanning on %s", (engine) => {
  test("a planner that changes accepted work or nothing is told so, and corrects it", async () => {
    const { app, run } = await failed(engine);
    const answers: unknown[] = [];
    await replan(app, run, async ({ use }) => {
      answers.push(await use("propose_plan", { reason: "None." }));
      await use("add_plan_tasks", { tasks: [text("1.3", { requirements: "Otherwise." }), ...split] });
      answers.push(await use("propose_plan", { reason: "All." }));
      await use("add_plan_tasks", { tasks: [text("1.3")] });
      answers.push(await use("propose_plan", { reason: "Right.", splits }));
      return undefined;
    });
    expect(answers).toMatchObject([
      { refused: "task 1.1 is not changed: rewrite it, or split it" },
      { refused: expect.stringContaining("task 1.3 is completed and cannot be changed") },
      { status: "proposed" },
    ]);
  });

  test("a rejected change, a newer one and a plan that a person edited meanwhile change nothing", async () => {
    const { app, run } = await failed(engine);
    const first = unwrap(await replan(app, run, proposes));
    const second = unwrap(await replan(app, run, proposes));
    expect(await operations.confirm_plan_change.perform(app, { id: first.id }, person())).toMatchObject({
      problem: { message: `plan change ${first.id} is replaced by a newer one` },
    });
    unwrap(await operations.reject_plan_change.perform(app, { id: second.id, note: "Too long." }, person()));
    expect((await app.runs.find(run))?.plan?.tasks).toHaveLength(4);
    expect(unwrap(await operations.inbox.perform(app, {}, person())).plan_changes).toEqual([]);

    const third = unwrap(await replan(app, run, proposes));
    const file = app.runs.chainPath(run);
    writeFileSync(file, readFileSync(file, "utf8").replace("Do the impossible.", "Do it by hand."));
    expect(await operations.confirm_plan_change.perform(app, { id: third.id }, person())).toMatchObject({
      problem: { message: expect.stringContaining(`the plan of run ${run} changed since`) },
    });
    expect(readFileSync(file, "utf8")).toContain("Do it by hand.");
    expect((await app.runs.find(run))?.plan?.tasks[1]?.requirements).toBe("Do it by hand.");
  });

  test("a planner that is interrupted keeps its draft, and the next one continues from it", async () => {
    const { app, run } = await failed(engine);
    const stop = new AbortController();
    const cut = await replan(
      app,
      run,
      async ({ use }) => {
        await use("add_plan_tasks", { tasks: split.slice(0, 1) });
        stop.abort();
        return undefined;
      },
      { signal: stop.signal },
    );
    expect(cut.ok).toBe(false);
    let told = "";
    const made = await replan(app, run, async (scene) => {
      told = scene.told;
      await scene.use("propose_plan", { reason: "Smaller." });
      return undefined;
    });
    expect(told).toContain("An earlier planner was interrupted. It changed: 1.1.");
    expect(unwrap(made).plan?.tasks[1]?.requirements).toBe("Do the first half.");
  });

  test("only tasks that are not accepted, of a run that stopped or failed, can be replanned", async () => {
    const { app, run } = await failed(engine);
    for (const [tasks, message] of [
      [["1.3"], "task 1.3 is completed"],
      [["1.9"], `run ${run} has no task 1.9; it has 0, 1.1, 1.2, 1.3`],
    ] as const)
      expect(await replan(app, run, proposes, { tasks: [...tasks] })).toMatchObject({
        problem: { message: expect.stringContaining(message) },
      });
    const fresh = await newRun(app, failing);
    expect(await replan(app, fresh, proposes)).toMatchObject({
      problem: { message: `run ${fresh} is planned; only a stopped or failed run can be replanned` },
    });
    const silent = await replan(app, run, async () => undefined);
    expect(silent).toMatchObject({
      problem: { message: expect.stringContaining("could not be replanned: the planner") },
    });
  });
});

test("W7: run replan prints the diff and how to decide; a terminal asks; HTTP starts it in the background", async () => {
  const think = crewMind(failing);
  const { url } = await modelServer((heard) => {
    if (!heard.tools.includes("propose_plan")) return think(heard);
    return {
      calls: [
        { name: "add_plan_tasks", input: { tasks: split } },
        { name: "propose_plan", input: { reason: "It was too much.", splits } },
      ],
    };
  });
  const { app, root, run } = await failed();
  const crewConfig = {
    ...{ sandbox: "none", reports: "facts", agents: { all: { runner: "model", model: "fake/one" } } },
    providers: { fake: { kind: "openai", base_url: `${url}/v1`, key_env: "FAKE_KEY" } },
  };
  const config = `${root}/scriptorium.yaml`;
  writeFileSync(config, readFileSync(config, "utf8").replace(/^crew:.*\n/m, ""));
  appendFileSync(config, `crew: ${JSON.stringify(crewConfig)}\n`);
  const env = { FAKE_KEY: "k" };

  const text = await scriptorium(["run", "replan", run, "--task", "1.1"], { cwd: root, env });
  expect([text.code, text.stderr]).toEqual([0, ""]);
  expect(text.stdout).toContain("+Do the first half.");
  const id = /--confirm (change-\S+)/.exec(text.stdout)?.[1] ?? "";
  const rejected = await scriptorium(["run", "replan", run, "--reject", id, "--note", "no", "--json"], {
    cwd: root,
    env,
  });
  expect(rejected.json()).toEqual({ id, run });
  expect((await app.runs.find(run))?.plan?.tasks).toHaveLength(4);

  const terminal = atTerminal(["run", "replan", run], { cwd: root, env });
  await terminal.answer("Type confirm to confirm: ", "confirm\r");
  const { code, screen } = await terminal.end();
  expect([code, screen]).toEqual([0, expect.stringContaining("reopened: 1.1")]);
  expect((await app.runs.find(run))?.plan?.tasks).toHaveLength(5);

  const other = await newRun(app, failing);
  await executed(
    app,
    other,
    crew(async () => undefined),
  );
  const server = await serve(root, env);
  const asked = { method: "POST", token: server.token, body: {} };
  const started = await ask(server.url, `/api/runs/${other}/replan`, asked);
  expect(started.status).toBe(200);
  const waiting = async () =>
    (await operations.inbox.perform(app, {}, person())) as { value: { plan_changes: object[] } };
  await expect.poll(async () => (await waiting()).value.plan_changes).toMatchObject([{ run: other }]);
});
