import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { type Claim, type Strategy, taskEngine } from "../src/tasks/engine.ts";
import {
  createTodo,
  getTaskContext,
  listTodos,
  lockTodo,
  releaseTask,
  unlockTodo,
  updateTodo,
} from "../src/tasks/operations.ts";
import { scriptorium } from "./support/commands.ts";
import { agent, allEvents, engines, newWorkspace, person, type TestWorkspace } from "./support/workspace.ts";

type App = TestWorkspace["app"];
type Locked = { epoch: number; secret: string; expires_at: string };
const strategies: Strategy[] = ["queue", "lease", "optimistic"];
const every = engines.flatMap((engine) => strategies.map((strategy) => ({ engine, strategy })));

const engineWith = (app: App, strategy: Strategy, leaseMs = 60_000) =>
  taskEngine({ db: app.db, strategy, leaseMs, now: app.now, newId: app.newId });

const wanted = { title: "T", description: "", dependsOn: [] as string[], priority: 0, run: null, maxRetries: 2 };

describe.each(every)("O12: claims by $strategy on $engine", ({ engine, strategy }) => {
  test("no task is ever worked by two: twenty claimers from two connections, fifty tasks, each once", async () => {
    const { app, open } = await newWorkspace({ engine });
    const other = await open();
    const [a, b] = [engineWith(app, strategy), engineWith(other, strategy)];
    for (let i = 0; i < 50; i++) unwrap(await a.create({ ...wanted, title: `T${i}` }, "test"));
    const claimed: string[] = [];
    await Promise.all(
      Array.from({ length: 20 }, async (_, worker) => {
        const tasks = worker % 2 ? a : b;
        for (;;) {
          const claim = await tasks.claim(`w${worker}`);
          if (!claim) return;
          claimed.push(claim.task.id);
          unwrap(await tasks.step(claim.task.id, { type: "finish", output: "ok" }, `w${worker}`, claim));
        }
      }),
    );
    expect(new Set(claimed).size).toBe(50);
    expect(claimed).toHaveLength(50);
    expect((await a.list({ limit: 200 })).every((task) => task.state === "completed")).toBe(true);
  });

  test("an expired lease goes to the next claimer, and whoever had it can change nothing any more", async () => {
    const { app } = await newWorkspace({ engine });
    const tasks = engineWith(app, strategy, 600);
    const { id } = unwrap(await tasks.create(wanted, "test"));
    const first = await tasks.claim("sleeper");
    expect(await tasks.claim("other")).toBeUndefined();
    await sleep(700);
    const late = { type: "finish", output: "late" } as const;
    expect(await tasks.step(id, late, "sleeper", first)).toMatchObject({
      ok: false,
      problem: { code: "conflict" },
    });
    const second = await tasks.claim("other");
    expect(second).toMatchObject({ task: { id, holder: "other", attempt: 1 }, epoch: (first?.epoch ?? 0) + 1 });
    expect(await tasks.step(id, late, "sleeper", first)).toMatchObject({ ok: false });
    expect(await tasks.renew(id, first ?? {})).toMatchObject({ ok: false });
    expect(unwrap(await tasks.step(id, { type: "finish", output: "mine" }, "other", second)).result.output).toBe(
      "mine",
    );
    const refused = (await allEvents(app)).filter((event) => event.kind === "task-write-refused");
    expect(refused).toHaveLength(2);
    expect(refused[0]).toMatchObject({ actor: "sleeper", subject: `task:${id}`, data: { step: "finish", epoch: 1 } });
  });

  test("higher priority goes first, then age", async () => {
    const { app } = await newWorkspace({ engine });
    const tasks = engineWith(app, strategy);
    for (const [title, priority] of [
      ["low", 0],
      ["high", 5],
      ["mid", 2],
    ] as const) {
      unwrap(await tasks.create({ ...wanted, title, priority }, "test"));
    }
    const order = [];
    for (let i = 0; i < 3; i++) order.push((await tasks.claim("w"))?.task.title);
    expect(order).toEqual(["high", "mid", "low"]);
  });
});

describe.each(engines)("O18: dependencies (%s)", (engine) => {
  test("a child is ready when all its parents are completed, not before", async () => {
    const { app } = await newWorkspace({ engine });
    const { tasks } = app;
    const [a, b] = [unwrap(await tasks.create(wanted, "t")), unwrap(await tasks.create(wanted, "t"))];
    const child = unwrap(await tasks.create({ ...wanted, dependsOn: [a.id, b.id] }, "t"));
    expect(child.blockersLeft).toBe(2);
    expect(await tasks.lock(child.id, "w")).toMatchObject({
      ok: false,
      problem: { message: expect.stringContaining("waits for 2") },
    });
    for (const { id } of [a, b]) {
      const claim = unwrap(await tasks.lock(id, "w")) as Claim;
      unwrap(await tasks.step(id, { type: "finish", output: "" }, "w", claim));
    }
    expect(await tasks.claim("w")).toMatchObject({ task: { id: child.id } });
  });

  test("a lost task blocks just what is behind it, says so, and frees it when tried again", async () => {
    const { app } = await newWorkspace({ engine });
    const { tasks } = app;
    const root = unwrap(await tasks.create({ ...wanted, title: "root" }, "t"));
    const child = unwrap(await tasks.create({ ...wanted, dependsOn: [root.id] }, "t"));
    const grandchild = unwrap(await tasks.create({ ...wanted, dependsOn: [child.id] }, "t"));
    const apart = unwrap(await tasks.create(wanted, "t"));
    unwrap(await updateTodo.perform(app, { id: root.id, status: "cancelled", output: "no money" }, person()));
    const state = async (id: string) => unwrap(await getTaskContext.perform(app, { id }, person()));
    expect(await state(grandchild.id)).toMatchObject({
      state: "blocked",
      blocked_by: [{ id: root.id, title: "root", state: "cancelled" }],
    });
    expect((await state(apart.id)).state).toBe("pending");
    const later = unwrap(await tasks.create({ ...wanted, dependsOn: [grandchild.id] }, "t"));
    expect((await state(later.id)).state).toBe("blocked");
    unwrap(await updateTodo.perform(app, { id: root.id, status: "reopened" }, person()));
    for (const { id } of [child, grandchild, later]) expect((await state(id)).state).toBe("pending");
  });

  test("a task that depends on one that does not exist is refused with its id", async () => {
    const { app } = await newWorkspace({ engine });
    const refused = await createTodo.perform(app, { title: "x", depends_on: ["task-nope"] }, agent("engineer"));
    expect(refused).toMatchObject({
      ok: false,
      problem: { code: "invalid", message: expect.stringContaining("task-nope") },
    });
  });
});

describe.each(engines)("O1, O12: todos as agents use them (%s)", (engine) => {
  test("create, lock, held, complete, list", async () => {
    const { app } = await newWorkspace({ engine });
    const engineer = agent("engineer");
    const { id } = unwrap(await createTodo.perform(app, { title: "Write the docs" }, engineer));
    const locked = unwrap(await lockTodo.perform(app, { id, agentId: "e-1" }, engineer)) as Locked;
    expect(locked).toMatchObject({
      status: "locked",
      epoch: 1,
      secret: expect.stringMatching(/^secret-[0-9a-f]{32}$/),
    });
    const mine = { id, epoch: locked.epoch, secret: locked.secret };
    const held = unwrap(await lockTodo.perform(app, { id, agent_id: "e-2" }, engineer));
    expect(held).toMatchObject({ status: "held", holder: "e-1", alive: true });
    expect(await updateTodo.perform(app, { id, status: "completed" }, engineer)).toMatchObject({ ok: false });
    expect(await updateTodo.perform(app, { ...mine, title: "Write all the docs" }, engineer)).toMatchObject({
      ok: true,
    });
    expect(
      unwrap(await updateTodo.perform(app, { ...mine, status: "completed", output: "done" }, engineer)).state,
    ).toBe("completed");
    expect(unwrap(await listTodos.perform(app, {}, engineer)).todos).toMatchObject([
      { id, title: "Write all the docs", state: "completed" },
    ]);
  });

  test("a lock can be made longer, given back, and broken by a person, who is told whose it was", async () => {
    const { app } = await newWorkspace({ engine });
    const engineer = agent("engineer");
    const { id } = unwrap(await createTodo.perform(app, { title: "x" }, engineer));
    const lock = async (input: object) => unwrap(await lockTodo.perform(app, { id, ...input }, engineer)) as Locked;
    const first = await lock({ agentId: "e-1", lease_seconds: 5 });
    const { secret } = first;
    const longer = await lock({ agentId: "e-1", epoch: 1, secret, lease_seconds: 500 });
    expect(longer.secret).toBeUndefined();
    expect(Date.parse(longer.expires_at)).toBeGreaterThan(Date.parse(first.expires_at) + 400_000);
    expect(unwrap(await unlockTodo.perform(app, { id, epoch: 1, secret }, engineer)).state).toBe("pending");
    const second = await lock({ agent_id: "e-2" });
    expect(await releaseTask.perform(app, { id }, engineer)).toMatchObject({ ok: false, problem: { code: "denied" } });
    expect(unwrap(await releaseTask.perform(app, { id }, person()))).toMatchObject({
      from: { holder: "e-2", alive: true },
      state: "pending",
    });
    expect(await unlockTodo.perform(app, { id, epoch: 2, secret: second.secret }, engineer)).toMatchObject({
      ok: false,
    });
  });

  test("C8: an agent neither cancels nor reopens, and completes no task of a run by itself", async () => {
    const { app } = await newWorkspace({ engine });
    const engineer = agent("engineer");
    const task = unwrap(await app.tasks.create({ ...wanted, run: "r-1" }, "pm"));
    const locked = unwrap(await lockTodo.perform(app, { id: task.id, agentId: "e" }, engineer)) as Locked;
    const mine = { id: task.id, epoch: locked.epoch, secret: locked.secret };
    expect(await updateTodo.perform(app, { ...mine, status: "completed" }, engineer)).toMatchObject({
      ok: false,
    });
    expect(unwrap(await updateTodo.perform(app, { ...mine, status: "submitted", output: "o" }, engineer)).state).toBe(
      "worker_completed",
    );
    for (const status of ["cancelled", "reopened"]) {
      expect(await updateTodo.perform(app, { id: task.id, status }, engineer)).toMatchObject({
        problem: { code: "denied" },
      });
    }
  });

  test("a thousand tasks are listed in small answers, page by page, each once", async () => {
    const { app } = await newWorkspace({ engine });
    await Promise.all(
      Array.from({ length: 300 }, (_, i) => app.tasks.create({ ...wanted, title: `Task number ${i}` }, "t")),
    );
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = unwrap(await listTodos.perform(app, cursor ? { cursor } : {}, agent("engineer")));
      expect(JSON.stringify(page).length).toBeLessThan(8000);
      seen.push(...page.todos.map((todo) => todo.id));
      cursor = page.cursor;
    } while (cursor);
    expect(new Set(seen).size).toBe(300);
    expect(seen).toHaveLength(300);
  });
});

describe.each(engines)("T6: a stopped worker (%s)", (engine) => {
  test("that wakes after its lease, when another has finished, changes nothing", async () => {
    const workspace = await newWorkspace({ engine });
    const { app, root } = workspace;
    const { id } = unwrap(await app.tasks.create(wanted, "t"));
    const script = join(root, "worker.mjs");
    writeFileSync(
      script,
      `import { openWorkspace } from ${JSON.stringify(new URL("../dist/library.js", import.meta.url).href)};
       const workspace = await openWorkspace(${JSON.stringify(root)});
       const locked = await workspace.call("lock_todo", { id: ${JSON.stringify(id)}, agentId: "zombie", lease_seconds: 1 });
       process.stdout.write(JSON.stringify(locked.value) + "\\n");
       process.stdin.once("data", async () => {
         const done = await workspace.call("update_todo", { id: ${JSON.stringify(id)}, epoch: locked.value.epoch, secret: locked.value.secret, status: "completed", output: "from the dead" });
         process.stdout.write(JSON.stringify(done) + "\\n");
         await workspace.close();
         process.exit(0);
       });`,
    );
    const child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "inherit"] });
    const said: string[] = [];
    const heard = async (lines: number) => {
      while (said.join("").split("\n").length <= lines) await sleep(20);
      return JSON.parse(said.join("").split("\n")[lines - 1] ?? "");
    };
    child.stdout.on("data", (chunk) => said.push(String(chunk)));
    expect(await heard(1)).toMatchObject({ status: "locked", epoch: 1 });
    child.kill("SIGSTOP");
    await sleep(1200);
    const mine = unwrap(await app.tasks.lock(id, "living")) as Claim;
    expect(mine.epoch).toBe(2);
    unwrap(await app.tasks.step(id, { type: "finish", output: "by the living" }, "living", mine));
    child.kill("SIGCONT");
    child.stdin.write("go\n");
    expect(await heard(2)).toMatchObject({ ok: false, problem: { code: "conflict" } });
    expect(await app.tasks.find(id)).toMatchObject({ state: "completed", result: { output: "by the living" } });
    const refused = (await allEvents(app)).filter((event) => event.kind === "task-write-refused");
    expect(refused).toHaveLength(1);
  });
});

test("people see and move tasks from the command line", async () => {
  const { root } = await newWorkspace();
  const run = (...args: string[]) => scriptorium([...args, "--json"], { cwd: root });
  const first = (await run("task", "add", "Lay", "the", "table")).json<{ id: string }>();
  const second = (await run("task", "add", "Eat", "--after", first.id)).json<{ id: string }>();
  expect((await run("task", "list")).json()).toMatchObject([
    { title: "Lay the table" },
    { title: "Eat", waits_for: 1 },
  ]);
  expect((await run("task", "claim", first.id, "--as", "Ada")).json()).toMatchObject({ status: "locked", epoch: 1 });
  const held = await scriptorium(["task", "claim", first.id, "--as", "Bob"], { cwd: root });
  expect(held).toMatchObject({ code: 1, stdout: expect.stringContaining("is held by Ada since") });
  expect((await run("task", "release", first.id, "--force")).json()).toMatchObject({ from: { holder: "Ada" } });
  expect((await run("task", "cancel", first.id, "--reason", "no table")).json()).toMatchObject({ state: "cancelled" });
  expect((await run("task", "show", second.id)).json()).toMatchObject({
    state: "blocked",
    blocked_by: [{ id: first.id }],
  });
  expect((await run("task", "retry", first.id)).json()).toMatchObject({ state: "pending" });
});
