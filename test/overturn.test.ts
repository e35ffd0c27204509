import { appendFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { textNode } from "../src/crew/attempt/text-deliverable.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { recordEqualsRows } from "./support/replay.ts";
import {
  agent,
  allEvents,
  newWorkspace,
  person,
  read,
  sampledEngines,
  type TestWorkspace,
} from "./support/workspace.ts";

type App = TestWorkspace["app"];
const wanted = { description: "", dependsOn: [] as string[], priority: 0, run: null, maxRetries: 2 };

const shown = async (app: App, id: string) =>
  unwrap(await operations.get_task_context.perform(app, { id }, person())) as { state: string; result: object };

describe.each(sampledEngines)("T8: a task that turns out to be wrong (%s)", (engine) => {
  test("T8: makes stale what was made from it, stops what is being made, and all of it is done again as one act", async () => {
    const { app } = await newWorkspace({ engine });
    const { tasks } = app;
    const add = async (title: string, ...dependsOn: string[]) =>
      unwrap(await tasks.create({ ...wanted, title, dependsOn }, "pm")).id;
    const finish = async (id: string) => {
      const claim = unwrap(await tasks.lock(id, "w"));
      if (!("epoch" in claim)) throw new Error("held");
      unwrap(await tasks.step(id, { type: "finish", output: `made ${id}` }, "w", claim));
    };
    const wrong = await add("wrong");
    const child = await add("child", wrong);
    const grandchild = await add("grandchild", child);
    const inWork = await add("in work", child);
    const later = await add("later", grandchild);
    const apart = await add("apart");
    for (const id of [wrong, child, grandchild, apart]) await finish(id);
    const claim = unwrap(await tasks.lock(inWork, "busy"));
    if (!("epoch" in claim)) throw new Error("held");

    const input = { id: wrong, reason: "the figures are of last year" };
    expect(await operations.overturn_task.perform(app, input, agent("engineer"))).toMatchObject({ ok: false });
    const preview = unwrap(await operations.overturn_task.perform(app, input, person()));
    expect(preview).toMatchObject({ overturned: false, stopped: [{ id: inWork }], waiting: [{ id: later }] });
    expect((await shown(app, wrong)).state).toBe("completed");

    const done = unwrap(await operations.overturn_task.perform(app, { ...input, confirm: true }, person()));
    expect(done.stale.map(({ id }) => id)).toEqual([child, grandchild]);
    const states = async () =>
      Promise.all([wrong, child, grandchild, inWork, later, apart].map(async (id) => (await shown(app, id)).state));
    expect(await states()).toEqual(["failed", "stale", "stale", "blocked", "blocked", "completed"]);
    expect(await shown(app, grandchild)).toMatchObject({
      result: { stale: wrong, reason: expect.stringContaining("the figures are of last year") },
      blocked_by: [{ id: wrong }, { id: child }],
    });
    expect(await tasks.claim("anyone")).toBeUndefined();
    expect(await tasks.step(inWork, { type: "finish", output: "late" }, "busy", claim)).toMatchObject({
      problem: { details: { late: true } },
    });
    expect((await allEvents(app)).map(({ kind }) => kind)).toContain("task-write-refused");
    await recordEqualsRows(app);

    const again = unwrap(await operations.update_todo.perform(app, { id: wrong, status: "reopened" }, person()));
    expect(again).toMatchObject({ state: "pending", reopened: [child, grandchild] });
    const order: string[] = [];
    for (let next = await tasks.claim("w"); next; next = await tasks.claim("w")) {
      order.push(next.task.title);
      unwrap(await tasks.step(next.task.id, { type: "finish", output: "right" }, "w", next));
    }
    expect(order.slice(0, 2)).toEqual(["wrong", "child"]);
    expect(order).toHaveLength(5);
    expect(new Set(await states())).toEqual(new Set(["completed"]));
    expect(unwrap(await operations.overturn_task.perform(app, { id: later, reason: "x" }, person())).stale).toEqual([]);
    await recordEqualsRows(app);
  });

  test("T8: fails its run, voids the verdicts behind it, and tells the next worker what was wrong", async () => {
    const made = await newWorkspace({ engine });
    appendFileSync(made.file("scriptorium.yaml"), "crew: {sandbox: none}\n");
    const app = await made.open();
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2", { depends_on: ["1.1"] })]);
    const told = new Map<string, string>();
    const agents = playing({
      worker: async (scene) => {
        told.set(scene.number, scene.told);
        await writes((number) => `${number} ${scene.told.includes("of last year") ? "right" : "wrong"}\n`)(scene);
      },
      qc: passes,
    });
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    const ids = new Map((await app.runs.tasks(run)).map((row) => [row.number, row.task_id]));
    const [zero = "", one = "", two = ""] = ["0", "1.1", "1.2"].map((number) => ids.get(number));
    const reason = "its figures are of last year";
    unwrap(await operations.overturn_task.perform(app, { id: one, reason, confirm: true }, person()));

    const showed = unwrap(await operations.show_run.perform(app, { id: run }, person()));
    expect(showed).toMatchObject({ state: "failed", reason: expect.stringContaining("overturned") });
    expect(showed.tasks.map(({ state }) => state)).toEqual(["completed", "failed", "stale"]);
    const verdicts = await app.db.read.selectFrom("verdicts").selectAll().execute();
    expect(new Map(verdicts.map((row) => [row.task_id, row.voided_at !== null]))).toEqual(
      new Map([
        [zero, false],
        [one, true],
        [two, true],
      ]),
    );
    const report = read(app.runs.reportPath(run));
    expect(report).toContain(reason);
    expect(report).toContain("1 of 3 tasks accepted, 1 failed, 1 stale");

    unwrap(await operations.update_todo.perform(app, { id: one, status: "reopened" }, person()));
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed", tasks: { completed: 3 } });
    expect(told.get("1.1")).toContain(reason);
    expect(made.git("show", `${acceptedBranch(run)}:out/1.1.txt`)).toBe("1.1 right");
    expect(read(app.runs.reportPath(run))).toContain("**Completed.** 3 of 3");
    await recordEqualsRows(app);
  });

  test("T8: takes its accepted words out of the graph, and the new ones take their place", async () => {
    const made = await newWorkspace({ engine });
    appendFileSync(made.file("scriptorium.yaml"), "crew: {sandbox: none}\n");
    const app = await made.open();
    const run = await newRun(app, [planned("0")]);
    let words = "made 0 from gossip";
    const agents = playing({
      worker: async ({ use }) => void (await use("submit_output", { output: words })),
      qc: passes,
    });
    await executed(app, run, agents);
    const [task] = await app.runs.tasks(run);
    const id = task?.task_id ?? "";
    const found = async () =>
      JSON.stringify(
        unwrap(await operations.memory_get_node.perform(app, { id: textNode(id), fields: ["*"] }, person())),
      );
    expect(await found()).toContain("gossip");
    unwrap(await operations.overturn_task.perform(app, { id, reason: "gossip", confirm: true }, person()));
    expect(await found()).not.toContain("gossip");
    unwrap(await operations.update_todo.perform(app, { id, status: "reopened" }, person()));
    words = "made 0 from the record";
    await executed(app, run, agents);
    expect(await found()).toContain("from the record");
    expect(await found()).not.toContain("overturned");
  });
});

test("T8: people overturn a task from the shell, after they have seen what it means", async () => {
  const { root } = await newWorkspace();
  const run = (...args: string[]) => scriptorium(args, { cwd: root });
  const first = (await run("task", "add", "Measure", "--json")).json<{ id: string }>();
  await run("task", "add", "Build", "--after", first.id);
  const early = await run("task", "overturn", first.id, "--reason", "wrong ruler");
  expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining("only a completed task") });
});
