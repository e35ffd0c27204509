import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { type TaskEngine, taskEngine } from "../src/tasks/engine.ts";
import { type Execute, workerPool } from "../src/tasks/pool.ts";
import type { Step } from "../src/tasks/transition.ts";
import { engines, newWorkspace } from "./support/workspace.ts";

const wanted = { title: "T", description: "", dependsOn: [] as string[], priority: 0, run: null, maxRetries: 2 };

describe.each(engines)("O13: the pool (%s)", (engine) => {
  async function pooled(execute: Execute, leaseMs = 60_000) {
    const { app } = await newWorkspace({ engine });
    const tasks = taskEngine({ db: app.db, strategy: "queue", leaseMs, now: app.now, newId: app.newId });
    return { app, tasks, pool: workerPool({ db: app.db, tasks, execute, name: "w", leaseMs }) };
  }

  test("O16, O18: ten workers do a hundred tasks with dependencies, each once, parents first", async () => {
    const done: string[] = [];
    const { tasks, pool } = await pooled(async ({ task }) => {
      await sleep(5);
      done.push(task.id);
      return { type: "finish", output: "ok" };
    });
    const ids: string[] = [];
    const parents = new Map<string, string[]>();
    for (let i = 0; i < 100; i++) {
      const dependsOn = i < 10 ? [] : [ids[i - 10] as string, ids[Math.floor(i / 2)] as string];
      const { id } = unwrap(await tasks.create({ ...wanted, dependsOn }, "test"));
      ids.push(id);
      parents.set(id, dependsOn);
    }
    pool.spawn(10);
    while (done.length < 100) await sleep(20);
    await pool.stop(1000);
    expect(new Set(done).size).toBe(100);
    for (const [index, id] of done.entries()) {
      for (const parent of parents.get(id) ?? []) expect(done.indexOf(parent)).toBeLessThan(index);
    }
    expect((await tasks.list({ limit: 200 })).every((task) => task.state === "completed" && task.attempt === 1)).toBe(
      true,
    );
    expect(pool.metrics()).toMatchObject({ done: 100, failed: 0, late: 0, workers: 0 });
  });

  test("an idle worker starts on a task that comes later, without being asked", async () => {
    const { tasks, pool } = await pooled(async () => ({ type: "finish", output: "" }));
    pool.spawn(2);
    await sleep(300);
    const { id } = unwrap(await tasks.create(wanted, "test"));
    while ((await tasks.find(id))?.state !== "completed") await sleep(10);
    await pool.stop(500);
  });

  test("each task gets a fresh worker, a failed one gives its task back, and the pool keeps its size", async () => {
    const seen: string[] = [];
    const { tasks, pool } = await pooled(async ({ task }) => {
      seen.push(task.holder ?? "");
      if (seen.length === 1) throw new Error("out of memory");
      return { type: "finish", output: "" };
    });
    for (let i = 0; i < 4; i++) unwrap(await tasks.create(wanted, "test"));
    pool.scale(1);
    while (pool.metrics().done < 4) await sleep(10);
    expect(pool.healthCheck()).toMatchObject({ healthy: true, workers: [{ task: null }] });
    expect(new Set(seen).size).toBe(5);
    expect(pool.metrics()).toMatchObject({ done: 4, failed: 1 });
    await pool.stop(500);
  });

  test("long work keeps its lease, and a graceful stop hands back what does not end in time", async () => {
    const { tasks, pool } = await pooled(
      (_claim, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve({ type: "release", reason: "asked to stop" }));
        }),
      1500,
    );
    const { id } = unwrap(await tasks.create(wanted, "test"));
    pool.spawn(1);
    const leased = async () => {
      const { claimedAt, leaseUntil } = (await tasks.find(id)) ?? {};
      return (leaseUntil ?? 0) - (claimedAt ?? 0);
    };
    await expect.poll(leased).toBeGreaterThan(2 * 1500);
    expect(await tasks.find(id)).toMatchObject({ state: "worker_executing", epoch: 1 });
    await pool.stop(100);
    expect(await tasks.find(id)).toMatchObject({ state: "pending", holder: null, attempt: 0 });
  });

  test("work that does not listen is taken away at the end, and what it brings later counts for nothing", async () => {
    let end: (step: Step) => void = () => undefined;
    const { tasks, pool } = await pooled(() => new Promise((done) => (end = done)));
    const { id } = unwrap(await tasks.create(wanted, "test"));
    pool.spawn(1);
    await expect.poll(async () => (await tasks.find(id))?.state).toBe("worker_executing");
    await pool.stop(50);
    expect(await tasks.find(id)).toMatchObject({ state: "pending", holder: null, attempt: 0 });
    end({ type: "finish", output: "late" });
    await expect.poll(() => pool.metrics().late).toBe(1);
    expect(await tasks.find(id)).toMatchObject({ state: "pending", result: {} });
  });

  test("a store that does not answer for a while ends no pool", async () => {
    const { app } = await newWorkspace({ engine });
    let failures = 2;
    const claim: TaskEngine["claim"] = async (...asked) => {
      if (failures-- > 0) throw new Error("the connection was lost");
      return app.tasks.claim(...asked);
    };
    const execute = async () => ({ type: "finish" as const, output: "done" });
    const pool = workerPool({ db: app.db, tasks: { ...app.tasks, claim }, execute, name: "p", leaseMs: 60_000 });
    const { id } = unwrap(await app.tasks.create(wanted, "test"));
    pool.spawn(2);
    await expect.poll(async () => (await app.tasks.find(id))?.state).toBe("completed");
    expect(pool.metrics().failed).toBe(2);
    await pool.stop(500);
  });

  test("scaling down lets idle workers go", async () => {
    const { pool } = await pooled(async () => ({ type: "finish", output: "" }));
    pool.spawn(6);
    expect(pool.healthCheck().workers).toHaveLength(6);
    pool.scale(2);
    await expect.poll(() => pool.healthCheck().workers).toHaveLength(2);
    await pool.stop(100);
    expect(pool.healthCheck().workers).toHaveLength(0);
  });
});
