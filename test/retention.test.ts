import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { doctor } from "../src/doctor/doctor.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { archiveEvents } from "../src/store/archive-events.ts";
import { verifyChain } from "../src/store/event-chain.ts";
import { eventsAfter } from "../src/store/events.ts";
import {
  graphEventsWith,
  lastEvent,
  mergeEvents,
  withdrawalEvents,
  writingEvents,
} from "../src/store/queries/event-log.ts";
import { lastChangesOf } from "../src/store/queries/runs.ts";
import { scriptorium } from "./support/commands.ts";
import { agent, engines, newWorkspace, person } from "./support/workspace.ts";

const never = "9999";

/** Work of every kind that something reads from the log later. */
async function work(app: App) {
  const engineer = agent("engineer");
  for (let n = 0; n < 12; n++) unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", `line ${n}`));
  for (let n = 0; n < 5; n++) {
    const { id } = unwrap(await operations.create_todo.perform(app, { title: `Task ${n}` }, engineer)) as {
      id: string;
    };
    const { epoch, secret } = unwrap(await operations.lock_todo.perform(app, { id, agent_id: "a" }, engineer)) as {
      epoch: number;
      secret: string;
    };
    unwrap(
      await operations.update_todo.perform(app, { id, epoch, secret, status: "completed", output: "done" }, engineer),
    );
  }
  for (let n = 0; n < 5; n++)
    unwrap(
      await operations.memory_add_node.perform(app, { type: "concept", properties: { title: `Node ${n}` } }, engineer),
    );
}

const activityOf = async (app: App) =>
  unwrap(await operations.activity.perform(app, { limit: 100 }, person())) as { activity: object[] };

const examined = async (app: App) => unwrap(await doctor.perform(app, {}, person())).findings;

const change = (app: App, statement: ReturnType<typeof sql>) => app.db.write((tx) => statement.execute(tx));

async function logOf(app: App) {
  const all = [];
  for (;;) {
    const some = await eventsAfter(app.db, all.at(-1)?.id, 40);
    if (some.length === 0) return all;
    all.push(...some);
  }
}

describe.each(engines)("M14: archived events (%s)", (engine) => {
  test("M14, C7: the log, the chain, doctor and activity are the same after events were archived", async () => {
    const { app } = await newWorkspace({ engine });
    await work(app);
    await app.recorder.record();
    const before = {
      events: await logOf(app),
      head: (await verifyChain(app.db)).head,
      activity: await activityOf(app),
      findings: await examined(app),
    };
    const count = before.events.length;

    const archived = await archiveEvents(app.db, { before: never, size: 10 });
    expect(archived).toBe(Math.floor((count - 1) / 10) * 10);
    const { rows } = await sql<{ n: number }>`SELECT count(*) AS n FROM events`.execute(app.db.read);
    expect(Number(rows[0]?.n)).toBe(count - archived);

    expect(await logOf(app)).toEqual(before.events);
    for (const cursor of [0, 3, 9, 10, 11, archived - 1, archived, count - 1])
      for (const limit of [1, 7, 25])
        expect(await eventsAfter(app.db, String(cursor), limit)).toEqual(before.events.slice(cursor, cursor + limit));
    expect(await verifyChain(app.db)).toEqual({ head: before.head, broken: undefined, archived });
    expect(await activityOf(app)).toEqual(before.activity);
    const after = await examined(app);
    const chained = (findings: typeof after) => findings.filter(({ check }) => check === "event chain");
    const others = (findings: typeof after) => findings.filter(({ check }) => check !== "event chain");
    expect(others(after)).toEqual(others(before.findings));
    expect(chained(after)[0]?.message).toContain(`${count} events are chained, ${archived} of them archived`);

    // The log goes on, and what comes is archived as well.
    await work(app);
    await archiveEvents(app.db, { before: never, size: 10 });
    expect((await logOf(app)).slice(0, count)).toEqual(before.events);
    expect((await verifyChain(app.db)).broken).toBeUndefined();
    expect((await examined(app)).filter(({ state }) => state === "problem")).toEqual([]);
  });

  test("M14: what is read by subject or by property is found in archives too", async () => {
    const { app } = await newWorkspace({ engine });
    const at = "2026-01-01T00:00:00.000Z";
    for (let n = 0; n < 8; n++) unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", `line ${n}`));
    await app.db.write(async (tx) => {
      const log = (kind: "run-merged" | "run-reverted" | "node-added" | "task-edited", subject: string, data: object) =>
        tx
          .insertInto("events")
          .values({ at, actor: "Ada", kind, subject, data: JSON.stringify(data) } as never)
          .execute();
      await log("run-merged", "run:run-1", { into: "main", accepted: "a", commit: "c", squash: false });
      await log("run-reverted", "run:run-1", {});
      await log("node-added", "node:n-1", { task: "task-1" });
      for (let n = 0; n < 30; n++) await log("task-edited", "task:other", {});
      await log("node-added", "node:n-2", { task: "task-2" });
    });
    const read = async () => [
      await writingEvents(app.db.read, "entry:decisions", 50),
      await withdrawalEvents(app.db.read, ["run:run-1"]),
      await mergeEvents(app.db.read, "run-1"),
      await lastEvent(app.db.read, "run:run-1", ["run-merged"]),
      [...(await lastChangesOf(app.db.read, ["run-1"]))],
      await graphEventsWith(app.db.read, "task", "task-1"),
      await graphEventsWith(app.db.read, "task", "task-2"),
    ];
    const before = await read();
    expect(before.map((one) => JSON.stringify(one)?.length ?? 0).every((length) => length > 2)).toBe(true);
    expect(await archiveEvents(app.db, { before: never, size: 10 })).toBeGreaterThan(20);
    expect(await read()).toEqual(before);
  });

  test("M14: only whole archives of events before the time are made, and a changed log is not archived", async () => {
    const { app } = await newWorkspace({ engine });
    await work(app);
    expect(await archiveEvents(app.db, { before: "2000", size: 10 })).toBe(0);
    expect(await archiveEvents(app.db, { before: never, size: 100_000 })).toBe(0);
    await change(
      app,
      sql`UPDATE events SET actor = 'Mallory' WHERE seq = (SELECT seq FROM event_chain WHERE position = 12)`,
    );
    await expect(archiveEvents(app.db, { before: never, size: 10 })).rejects.toThrow(
      "event 12 is not as it was sealed",
    );
    expect((await verifyChain(app.db)).broken).toMatchObject({ position: 12, what: "hash_differs" });
  });

  test("M14: doctor names an archive that was changed or deleted", async () => {
    const { app } = await newWorkspace({ engine });
    await work(app);
    await archiveEvents(app.db, { before: never, size: 10 });
    await change(
      app,
      sql`UPDATE event_archives SET content = (SELECT content FROM event_archives WHERE first = 1) WHERE first = 11`,
    );
    expect((await verifyChain(app.db)).broken).toMatchObject({ position: 11, what: "archive_differs" });
    const chain = async () => (await examined(app)).find(({ check }) => check === "event chain");
    expect(await chain()).toMatchObject({ state: "problem", message: expect.stringContaining("event 11 or one of") });
    await change(app, sql`DELETE FROM event_archives WHERE first = 11`);
    expect((await verifyChain(app.db)).broken).toMatchObject({ position: 11, what: "link_missing" });
  });

  test("M14: several servers that archive at once keep every event once", async () => {
    const { app } = await newWorkspace({ engine });
    await work(app);
    const before = await logOf(app);
    const counts = await Promise.all([1, 2, 3].map(() => archiveEvents(app.db, { before: never, size: 10 })));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
    expect(await logOf(app)).toEqual(before);
  });
});

test("M14: the policy archives old events, deletes old logs and packs git, and a dry run only tells", async () => {
  const { app, root, git } = await newWorkspace();
  for (let n = 0; n < 2100; n += 100)
    await app.db.write(async (tx) => {
      for (let m = 0; m < 100; m++)
        await sql`INSERT INTO events (at, actor, kind, subject, data)
          VALUES ('2020-01-01T00:00:00.000Z', 'Ada', 'task-edited', ${`task:${n + m}`}, '{}')`.execute(tx);
    });
  const logs = join(root, ".scriptorium/agent-logs");
  mkdirSync(logs, { recursive: true });
  for (const name of ["old.log", "new.log", "old.txt"]) writeFileSync(join(logs, name), "x".repeat(100));
  for (const name of ["old.log", "old.txt"]) utimesSync(join(logs, name), 0, 0);
  for (let n = 0; n < 51; n++) {
    const input = (text: string) => ({ cwd: root, input: text, encoding: "utf8" }) as const;
    const blob = execFileSync("git", ["hash-object", "-w", "--stdin"], input(`blob ${n}`));
    execFileSync("git", ["pack-objects", "-q", ".git/objects/pack/pack"], input(blob));
  }
  const packs = () => readdirSync(join(root, ".git/objects/pack")).filter((name) => name.endsWith(".pack")).length;
  expect(packs()).toBeGreaterThan(50);
  const head = git("rev-parse", "HEAD");
  writeFileSync(join(root, "scriptorium.yaml"), "name: Test\nretention: { events_days: 365, logs_days: 30 }\n");
  await app.close();

  const apply = async (...args: string[]) => {
    const { code, stdout, stderr } = await scriptorium(["retention", ...args], { cwd: root });
    expect([code, stderr]).toEqual([0, ""]);
    return stdout;
  };
  expect(await apply("--dry-run")).toMatch(
    /^2000 events to archive\n1 log of agents to delete, 1 KiB\n0 runs to clean\ngit would pack its objects/,
  );
  expect(existsSync(join(logs, "old.log"))).toBe(true);
  expect(await apply()).toMatch(/^2000 events archived\n1 log of agents deleted, 1 KiB\n0 runs cleaned\ngit packed/);
  expect(readdirSync(logs).sort()).toEqual(["new.log", "old.txt"]);
  expect(packs()).toBeLessThan(5);
  expect(git("rev-parse", "HEAD")).toBe(head);
  expect(await apply()).toMatch(/^0 events archived\n0 logs of agents deleted, 0 KiB\n0 runs cleaned\ngit needs no/);
});
