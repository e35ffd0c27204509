import fc from "fast-check";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { doctor } from "../src/doctor/doctor.ts";
import { unwrap } from "../src/kernel/result.ts";
import type { Query } from "../src/store/database.ts";
import { createTasks } from "../src/tasks/create.ts";
import { type Claim, type Strategy, type TaskEngine, taskEngine } from "../src/tasks/engine.ts";
import { overturn, reopen } from "../src/tasks/overturn.ts";
import { needs } from "./support/programs.ts";
import { recordEqualsRows } from "./support/replay.ts";
import { engines, newWorkspace, person, type TestWorkspace } from "./support/workspace.ts";

type App = TestWorkspace["app"];

const wanted = { title: "T", description: "", dependsOn: [] as string[], priority: 0, run: null, maxRetries: 2 };
const finish = { type: "finish", output: "done" } as const;

const engineOf = (app: App, options: { strategy?: Strategy; now?: () => Date } = {}) =>
  taskEngine({ db: app.db, strategy: "queue", leaseMs: 60_000, now: app.now, newId: app.newId, ...options });

describe.each(engines)("O18: many tasks at once (%s)", (engine) => {
  test("are created together, name each other by key, and run parents first", async () => {
    const { app } = await newWorkspace({ engine });
    const outside = unwrap(await app.tasks.create({ ...wanted, title: "outside" }, "pm"));
    const made = unwrap(
      await app.tasks.createMany(
        [
          { ...wanted, key: "1.2", title: "last", dependsOn: ["1.1", "0", outside.id] },
          { ...wanted, key: "0", title: "first" },
          { ...wanted, key: "1.1", title: "second", dependsOn: ["0"] },
        ],
        "pm",
      ),
    );
    expect(made.map((task) => task.blockersLeft)).toEqual([3, 0, 1]);
    expect(await inTurn(app.tasks)).toEqual(["outside", "first", "second", "last"]);
  });

  test("that go round in a circle, or wait for what is not there, are refused with the path, all of them", async () => {
    const { app } = await newWorkspace({ engine });
    const round = [
      { ...wanted, key: "a", dependsOn: ["b"] },
      { ...wanted, key: "b", dependsOn: ["c"] },
      { ...wanted, key: "c", dependsOn: ["a"] },
      { ...wanted, key: "innocent" },
    ];
    expect(await app.tasks.createMany(round, "pm")).toMatchObject({
      ok: false,
      problem: { code: "invalid", message: "depends_on has a cycle: a → b → c → a" },
    });
    const loose = await app.tasks.createMany([wanted, { ...wanted, dependsOn: ["task-nowhere"] }], "pm");
    expect(loose).toMatchObject({ ok: false, problem: { message: expect.stringContaining("task-nowhere") } });
    const twice = [
      { ...wanted, key: "a" },
      { ...wanted, key: "a" },
    ];
    expect(await app.tasks.createMany(twice, "pm")).toMatchObject({ ok: false });
    expect(await app.tasks.list({ limit: 10 })).toEqual([]);
  });

  test("two runs with the same plan do not touch each other's tasks", async () => {
    const { app } = await newWorkspace({ engine });
    const plan = (run: string) => [
      { ...wanted, run, key: "0" },
      { ...wanted, run, key: "1.1", dependsOn: ["0"] },
    ];
    const [a, b] = [
      unwrap(await app.tasks.createMany(plan("a"), "pm")),
      unwrap(await app.tasks.createMany(plan("b"), "pm")),
    ];
    expect(new Set([...a, ...b].map((task) => task.id)).size).toBe(4);
    unwrap(await app.tasks.step(a[0]?.id ?? "", { type: "cancel", reason: "no" }, "Ada"));
    expect((await app.tasks.find(a[1]?.id ?? ""))?.lostBlockers).toBe(1);
    expect((await app.tasks.find(b[1]?.id ?? ""))?.lostBlockers).toBe(0);
    expect(await app.tasks.claim("w", "a")).toBeUndefined();
    expect(await app.tasks.claim("w", "b")).toMatchObject({ task: { id: b[0]?.id } });
  });
});

describe.each(engines)("O18: a task that is made while the one before it is being completed (%s)", (engine) => {
  test("is freed all the same", async () => {
    const { app } = await newWorkspace({ engine });
    const first = unwrap(await app.tasks.create(wanted, "pm"));
    const claim = await app.tasks.claim("w");
    const behind = { ...wanted, title: "behind", dependsOn: [first.id] };
    let completing: Promise<unknown> | undefined;
    await app.db.write(async (tx) => {
      unwrap(await createTasks(tx, { engine, now: app.now, newId: app.newId }, [behind], "pm"));
      completing = app.tasks.step(first.id, finish, "w", claim);
      if (engine === "postgres") await someoneWaits(tx);
    });
    expect(await completing).toMatchObject({ ok: true, value: { state: "completed" } });
    expect(await app.tasks.claim("w")).toMatchObject({ task: { title: "behind" } });
  });
});

describe.each(engines)("O5: the record of a claim (%s)", (engine) => {
  test("says who took the task and what became of it, a first time and after a retry", async () => {
    const { app } = await newWorkspace({ engine });
    const { id } = unwrap(await app.tasks.create({ ...wanted, run: "r" }, "pm"));
    const first = await app.tasks.claim("ada");
    unwrap(await app.tasks.step(id, { type: "submit", output: "o" }, "ada", first));
    const verifying = unwrap(await app.tasks.lock(id, "vera"));
    if (!("secret" in verifying)) throw new Error("held");
    unwrap(await app.tasks.step(id, { type: "reject", score: 10, feedback: "no" }, "vera", verifying));
    unwrap(await app.tasks.step(id, { type: "retry", reason: "once more" }, "pm"));
    expect(await app.tasks.claim("bob", "r")).toMatchObject({ epoch: 3, task: { attempt: 2, holder: "bob" } });
    const events = await app.db.read
      .selectFrom("events")
      .selectAll()
      .where("kind", "=", "task-claim")
      .orderBy("seq")
      .execute();
    const at = { state: "worker_executing", run: "r" };
    expect(events.map(({ actor, subject, data }) => ({ actor, subject, data: JSON.parse(data) }))).toEqual([
      { actor: "ada", subject: `task:${id}`, data: { ...at, by: "ada", holder: "ada", attempt: 1, epoch: 1 } },
      { actor: "bob", subject: `task:${id}`, data: { ...at, by: "bob", holder: "bob", attempt: 2, epoch: 3 } },
    ]);
  });
});

async function someoneWaits(tx: Query): Promise<void> {
  for (let look = 0; look < 500; look++) {
    const { rows } = await sql`
      SELECT pg_sleep(0.01) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(tx);
    if (rows.length > 0) return;
    // A transaction goes on seeing the connections that it saw first.
    await sql`SELECT pg_stat_clear_snapshot(), pg_sleep(0.01)`.execute(tx);
  }
  throw new Error("nobody waits for the task");
}

async function inTurn(tasks: TaskEngine): Promise<string[]> {
  const titles: string[] = [];
  for (let claim = await tasks.claim("w"); claim; claim = await tasks.claim("w")) {
    titles.push(claim.task.title);
    unwrap(await tasks.step(claim.task.id, finish, "w", claim));
  }
  return titles;
}

describe.each(engines)("O12: fairness (%s)", (engine) => {
  test.each(["queue", "lease", "optimistic"] as const)(
    "a run never has more tasks in work than its limit, whoever asks, and others go on (%s)",
    async (strategy) => {
      const { app, open } = await newWorkspace({ engine });
      const [a, b] = [engineOf(app, { strategy }), engineOf(await open(), { strategy })];
      await a.limit("narrow", 2, "Ada");
      unwrap(
        await a.createMany(
          [...Array(6)].map(() => ({ ...wanted, run: "narrow" })),
          "pm",
        ),
      );
      unwrap(
        await a.createMany(
          [...Array(3)].map(() => ({ ...wanted, run: "wide" })),
          "pm",
        ),
      );
      const claims = (await Promise.all([...Array(12)].map((_, n) => (n % 2 ? a : b).claim(`w${n}`)))).filter(Boolean);
      const ofRun = (run: string) => claims.filter((claim) => claim?.task.run === run) as Claim[];
      expect([ofRun("narrow").length, ofRun("wide").length]).toEqual([2, 3]);
      const waiting = (await a.list({ limit: 20, run: "narrow", state: "pending" }))[0]?.id ?? "";
      expect(await a.lock(waiting, "w")).toMatchObject({ ok: false, problem: { code: "conflict" } });
      const held = ofRun("narrow")[0] as Claim;
      unwrap(await a.release(held.task.id, "w", held));
      expect(await b.claim("w", "narrow")).toMatchObject({ task: { run: "narrow" } });
      expect(await b.claim("w", "narrow")).toBeUndefined();
      await a.limit("narrow", null, "Ada");
      expect(await b.claim("w", "narrow")).toBeDefined();
    },
  );
});

test("O12: of a thousand tasks with mixed priorities none starves, though urgent ones keep coming", async () => {
  const { app } = await newWorkspace();
  let clock = Date.parse("2026-01-01T00:00:00Z");
  const tasks = engineOf(app, { now: () => new Date(clock) });
  const priorities = [0, 5, 1, 3, 10];
  const first = unwrap(
    await tasks.createMany(
      [...Array(1000)].map((_, n) => ({ ...wanted, priority: priorities[n % 5] ?? 0 })),
      "pm",
    ),
  );
  const left = new Set(first.map((task) => task.id));
  const urgent = { ...wanted, title: "urgent", priority: 10 };
  const order: number[] = [];
  // Each second two are taken and one that is urgent comes in: without catching up, the old ones
  // would get one place in two, and the least urgent would be last of all.
  for (let second = 0; left.size > 0 && second < 1500; second++, clock += 1000) {
    unwrap(await tasks.create(urgent, "pm"));
    const claims = await Promise.all([tasks.claim("a"), tasks.claim("b")]);
    await Promise.all(claims.map((claim) => claim && tasks.step(claim.task.id, finish, "w", claim)));
    for (const claim of claims) if (claim && left.delete(claim.task.id)) order.push(claim.task.priority);
  }
  expect(left.size).toBe(0);
  expect(order.slice(0, 200).every((priority) => priority === 10)).toBe(true);
});

test("O12: a point of priority is worth a minute of waiting", async () => {
  const { app } = await newWorkspace();
  let clock = Date.parse("2026-01-01T00:00:00Z");
  const tasks = engineOf(app, { now: () => new Date(clock) });
  unwrap(await tasks.create({ ...wanted, title: "old" }, "pm"));
  clock += 4.5 * 60_000;
  unwrap(await tasks.create({ ...wanted, title: "urgent", priority: 5 }, "pm"));
  clock += 60_000;
  unwrap(await tasks.create({ ...wanted, title: "urgent, too late", priority: 5 }, "pm"));
  expect(await inTurn(tasks)).toEqual(["urgent", "old", "urgent, too late"]);
});

/** What can befall tasks, with small numbers to choose a worker, a claim or a task by. */
const happening = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constant("create" as const), n: fc.nat(9) }) },
  { weight: 6, arbitrary: fc.record({ what: fc.constant("claim" as const), n: fc.nat(3) }) },
  { weight: 5, arbitrary: fc.record({ what: fc.constant("finish" as const), n: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("expire" as const), n: fc.nat(9) }) },
  ...(["release", "break", "lock", "cancel", "reopen", "edit", "overturn", "reopen all"] as const).map((what) => ({
    weight: 1,
    arbitrary: fc.record({ what: fc.constant(what), n: fc.nat(9) }),
  })),
);

describe.each(engines)("O12, O18, C2, C3: whatever happens to tasks (%s)", (engine) => {
  test("none has effect twice, none starts before its parents, epochs only grow, and the record replays to the rows", async () => {
    const { app } = await newWorkspace({ engine });
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 10, maxLength: 40 }), async (history) => {
        await app.db.write(async (tx) => {
          await tx.deleteFrom("tasks").execute();
          await tx.deleteFrom("events").execute();
        });
        await befall(app, history);
        await recordEqualsRows(app);
      }),
      { numRuns: engine === "sqlite" ? 60 : 15 },
    );
  });
});

async function befall(app: App, history: { what: string; n: number }[]): Promise<void> {
  const { tasks } = app;
  const by = { engine: app.db.engine, now: app.now };
  const ids: string[] = [];
  const claims: Claim[] = [];
  const epochs = new Map<string, number>();
  const effects = new Map<string, number>();
  const pick = <T>(list: T[], n: number) => list[n % Math.max(1, list.length)];
  const saw = async (claim: Claim | undefined) => {
    if (!claim) return;
    claims.push(claim);
    expect(claim.epoch).toBeGreaterThan(epochs.get(claim.task.id) ?? 0);
    epochs.set(claim.task.id, claim.epoch);
    const parents = await tasks.dependencies(claim.task.id);
    expect(parents.every((parent) => parent.state === "completed")).toBe(true);
  };
  for (const { what, n } of history) {
    const id = pick(ids, n) ?? "";
    const claim = pick(claims, n);
    if (what === "create") {
      const dependsOn = ids.filter((_, at) => (at + n) % 4 === 0).slice(0, 2);
      ids.push(unwrap(await tasks.create({ ...wanted, dependsOn, priority: n % 3 }, "pm")).id);
    } else if (what === "claim") await saw(await tasks.claim(`w${n}`));
    else if (what === "lock") {
      const locked = await tasks.lock(id, "by name");
      if (locked.ok && "epoch" in locked.value) await saw(locked.value);
    } else if (what === "finish" && claim) {
      const done = await tasks.step(claim.task.id, finish, "w", claim);
      if (done.ok)
        effects.set(`${claim.task.id} ${claim.epoch}`, (effects.get(`${claim.task.id} ${claim.epoch}`) ?? 0) + 1);
      if (done.ok) expect(claim.epoch).toBe(epochs.get(claim.task.id));
    } else if (what === "release" && claim) await tasks.release(claim.task.id, "w", claim);
    else if (what === "break") await tasks.release(id, "Ada", { force: true });
    else if (what === "cancel") await tasks.step(id, { type: "cancel", reason: "no" }, "Ada");
    else if (what === "reopen") await tasks.step(id, { type: "reopen" }, "Ada");
    else if (what === "overturn") await app.db.write((tx) => overturn(tx, by, id, "wrong", "Ada"));
    else if (what === "reopen all") await app.db.write((tx) => reopen(tx, by, id, "Ada"));
    else if (what === "edit") await tasks.edit(id, { title: `T${n}`, priority: n }, "Ada");
    else if (what === "expire") {
      // Time passes for everyone who holds something.
      await app.db.write((tx) =>
        tx.updateTable("tasks").set({ lease_until: 1 }).where("holder", "is not", null).execute(),
      );
    }
  }
  for (const times of effects.values()) expect(times).toBe(1);
}

test("C7: doctor takes every step again, and tells which task is not what its events say", async () => {
  const { app } = await newWorkspace();
  const { id } = unwrap(await app.tasks.create(wanted, "pm"));
  await app.tasks.claim("w");
  const found = async () =>
    unwrap(await doctor.perform(app, {}, person())).findings.find((finding) => finding.check === "tasks");
  expect(await found()).toMatchObject({ state: "ok", message: "1 task matches its events" });
  await app.db.write((tx) => tx.updateTable("tasks").set({ attempt: 7 }).where("id", "=", id).execute());
  expect(await found()).toMatchObject({ state: "problem", message: expect.stringContaining(id) });
});

describe.each(engines)("O16: ten workers and a hundred tasks (%s)", (engine) => {
  test.each(["queue", "lease", "optimistic"] as const)("hardly get in each other's way by %s", async (strategy) => {
    const { app } = await newWorkspace({ engine });
    const tasks = engineOf(app, { strategy });
    unwrap(await tasks.createMany(Array(100).fill(wanted), "pm"));
    let done = 0;
    await Promise.all(
      Array.from({ length: 10 }, async (_, n) => {
        while (done < 100) {
          const claim = await tasks.claim(`w${n}`);
          if (claim) unwrap(await tasks.step(claim.task.id, finish, `w${n}`, claim));
          if (claim) done++;
        }
      }),
    );
    const { claims, conflicts } = tasks.counts();
    expect({ claims, "conflicts of 100, at most": conflicts <= 1 }).toEqual({
      claims: 100,
      "conflicts of 100, at most": true,
    });
  });
});

describe("M10: the clock of the PostgreSQL server is set back an hour", needs("postgresql"), () => {
  /** What a clock that is an hour behind makes of a lease that was given before. */
  const setBack = (app: App) =>
    sql`UPDATE tasks SET claimed_at = claimed_at + 3600000, renewed_at = renewed_at + 3600000,
      lease_until = lease_until + 3600000`.execute(app.db.read);

  test.each(["claimed", "claimed an hour ago and renewed"])(
    "M10: a task that was %s is given to another worker at once, and the old claim cannot write",
    async (how) => {
      const { app } = await newWorkspace({ engine: "postgres" });
      const tasks = engineOf(app);
      const { id } = unwrap(await tasks.create(wanted, "test"));
      const first = (await tasks.claim("one")) as Claim;
      if (how !== "claimed") {
        await sql`UPDATE tasks SET claimed_at = claimed_at - 3600000`.execute(app.db.read);
        unwrap(await tasks.renew(id, first));
      }
      await setBack(app);
      // Another process: this one trusts for 200 ms what it knows of leases.
      const second = (await engineOf(app).claim("two")) as Claim;
      expect(second?.epoch).toBe(first.epoch + 1);
      expect(await tasks.step(id, finish, "one", first)).toMatchObject({ ok: false });
      unwrap(await tasks.step(id, finish, "two", second));
    },
  );

  test("M10: a server that took over with a clock of 10 seconds behind ends no lease", async () => {
    const { app } = await newWorkspace({ engine: "postgres" });
    const tasks = engineOf(app);
    const { id } = unwrap(await tasks.create(wanted, "test"));
    const first = (await tasks.claim("one")) as Claim;
    await sql`UPDATE tasks SET claimed_at = claimed_at + 10000, lease_until = lease_until + 10000`.execute(app.db.read);
    expect(await engineOf(app).claim("two")).toBeUndefined();
    unwrap(await tasks.step(id, finish, "one", first));
  });
});
