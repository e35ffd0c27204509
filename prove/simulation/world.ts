import { createHash } from "node:crypto";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { seeded } from "../../bench/support/measure.ts";
import { meterOf } from "../../src/crew/agent/budget.ts";
import { type Result, unwrap } from "../../src/kernel/result.ts";
import { clock } from "../../src/store/clock.ts";
import type { Database } from "../../src/store/database.ts";
import { insertRun } from "../../src/store/queries/runs.ts";
import { type Connection, openConnection } from "../../src/store/sqlite/connection.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { type Claim, type Strategy, type TaskEngine, taskEngine } from "../../src/tasks/engine.ts";
import type { Task } from "../../src/tasks/task.ts";
import type { Step } from "../../src/tasks/transition.ts";
import { check, type Op, type State, violations } from "../failover/history.ts";
import { openScheduler, type Scheduler } from "./scheduler.ts";

export type Simulated = {
  violations: string[];
  /** Equal for equal seeds. */
  trace: string;
  steps: number;
  claims: number;
  /** Writes under a claim that was no longer the last. */
  refused: number;
};

const processes = 3;
const workersEach = 2;
const leaseMs = 5000;
const start = Date.parse("2026-01-01T00:00:00Z");
/** Faults end here; then every task must come to its end. */
const calmAfter = start + 60_000;
const stuckAfter = calmAfter + leaseMs + 120_000;
const budget = 3000;
const perCall = 100;
const run = "run-1";
const strategies: Strategy[] = ["queue", "lease", "optimistic"];

/** A migrated database, to be copied for each simulation. */
export async function simulationTemplate(folder: string): Promise<string> {
  const file = join(folder, "template.db");
  const db = await openSqlite(file);
  await db.write(async (tx) => {
    const empty = {
      brief: null,
      plan: null,
      plan_hash: null,
      budget_usd: null,
      reason: null,
      stopped_by: null,
      carried_by: null,
      carrier_until: null,
    };
    const times = { planned_at: null, started_at: null, ended_at: null, created_at: new Date(start).toISOString() };
    const named = { id: run, state: "running" as const, request: "", title: "", created_by: "ada", version: 1 };
    await insertRun(tx, { ...empty, ...times, ...named, budget_tokens: budget });
  });
  await db.close();
  const connection = openConnection(file, 1000);
  connection.exec(`CREATE TABLE simulated_clock (ms INTEGER); INSERT INTO simulated_clock VALUES (${start})`);
  // Everything is then in the file that is copied, and nothing in the log beside it.
  connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  connection.close();
  return file;
}

/** `damage` changes the SQL of the store, to show that the simulation notices. */
export async function simulate(
  seed: number,
  folder: string,
  template: string,
  damage = (sql: string) => sql,
): Promise<Simulated> {
  const random = seeded(seed);
  const scheduler = openScheduler(random, start);
  const file = join(folder, `${seed}.db`);
  copyFileSync(template, file);
  const clockFile = openConnection(file, 1000);
  const restore = freezeTime(scheduler, random);
  const strategy = strategies[seed % strategies.length] as Strategy;
  let ids = 0;
  const newId = (prefix: string) => `${prefix}-${++ids}`;
  const now = () => new Date(scheduler.now());
  const opened: Database[] = [];
  let questions = 0;
  try {
    const engines: { name: string; db: Database; tasks: TaskEngine }[] = [];
    for (let n = 1; n <= processes; n++) {
      const db = await openSqlite(
        file,
        simulatedClock(damage, () => questions++),
      );
      opened.push(db);
      const name = `p${n}`;
      const gated: Database = { ...db, write: (work, how) => scheduler.turn(name, () => db.write(work, how)) };
      engines.push({ name, db: gated, tasks: taskEngine({ db: gated, strategy, leaseMs, now, newId }) });
    }
    const [first] = engines;
    if (!first) throw new Error("no process");
    const world = newWorld(scheduler, random);
    const actors = [
      plan(first.tasks, world, random).then(() =>
        Promise.all(
          engines.flatMap(({ name, db, tasks }) =>
            Array.from({ length: workersEach }, (_, n) => work({ name: `${name}w${n}`, db, tasks, world, newId, now })),
          ),
        ),
      ),
    ];
    const setClock = clockFile.prepare("UPDATE simulated_clock SET ms = ?");
    const failure = await scheduler
      .run(actors, (ms) => setClock.run([ms]))
      .then(
        () => [],
        (error: unknown) => [`C4: the store failed: ${String(error)}`],
      );
    if (questions === 0) throw new Error("the store's clock is not simulated");
    const found = [...failure, ...(await judge(opened[0] as Database, world))];
    return { violations: found, trace: world.trace.digest("hex"), ...world.counts };
  } finally {
    restore();
    for (const db of opened) await db.close();
    clockFile.close();
  }
}

const compiler = new Kysely({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});
/** How the store asks for the time. */
const storeClock = clock.sqlite.compile(compiler).sql;

/** Answers the store's questions for the time from the table that the scheduler writes. */
const simulatedClock =
  (damage: (sql: string) => string, onAsked: () => void) =>
  (file: string, busyMs: number): Connection => {
    const connection = openConnection(file, busyMs);
    return {
      exec: (sql) => connection.exec(sql.replace("synchronous = FULL", "synchronous = OFF")),
      prepare(sql) {
        if (sql.includes(storeClock)) onAsked();
        return connection.prepare(damage(sql).replaceAll(storeClock, "(SELECT ms FROM simulated_clock)"));
      },
      get inTransaction() {
        return connection.inTransaction;
      },
      close: () => connection.close(),
    };
  };

/** The real code also asks how long something took, and chooses at random. */
function freezeTime(scheduler: Scheduler, random: () => number): () => void {
  const before = { now: performance.now, random: Math.random };
  performance.now = () => scheduler.now() - start;
  Math.random = random;
  return () => {
    performance.now = before.now;
    Math.random = before.random;
  };
}

type World = ReturnType<typeof newWorld>;

function newWorld(scheduler: Scheduler, random: () => number) {
  const trace = createHash("sha256");
  const counts = { steps: 0, claims: 0, refused: 0 };
  const ops: Op[] = [];
  const dependsOn = new Map<string, string[]>();
  let marks = 0;
  return {
    scheduler,
    random,
    trace,
    counts,
    ops,
    dependsOn,
    isCalm: () => scheduler.now() >= calmAfter,
    chance: (share: number) => scheduler.now() < calmAfter && random() < share,
    newMark: () => `m${++marks}.`,
    log: (line: string) => trace.update(`${scheduler.now()} ${line}\n`),
  };
}

/** A graph of tasks in which each depends on up to two earlier ones. */
async function plan(tasks: TaskEngine, world: World, random: () => number): Promise<void> {
  const wanted = Array.from({ length: 10 }, (_, n) => ({
    title: `Task ${n}`,
    key: `k${n}`,
    description: "",
    dependsOn: [...new Set([0, 1].flatMap(() => (n > 0 && random() < 0.6 ? [`k${Math.floor(random() * n)}`] : [])))],
    priority: Math.floor(random() * 3),
    run,
    maxRetries: 8,
  }));
  const made = unwrap(await tasks.createMany(wanted, "planner"));
  const idOf = new Map(wanted.map(({ key }, at) => [key, made[at]?.id ?? ""]));
  for (const [at, { dependsOn }] of wanted.entries())
    world.dependsOn.set(
      made[at]?.id ?? "",
      dependsOn.map((key) => idOf.get(key) ?? ""),
    );
}

type Worker = {
  name: string;
  db: Database;
  tasks: TaskEngine;
  world: World;
  newId(prefix: string): string;
  now(): Date;
};

/** Takes what is to be done until every task is over. A worker that crashes comes back with another name. */
async function work(worker: Worker): Promise<void> {
  const { name, tasks, world } = worker;
  const { scheduler, random } = world;
  for (let turn = 1; scheduler.now() < stuckAfter; turn++) {
    await scheduler.sleep(50 + random() * 500);
    const all = await tasks.list({ run, limit: 50 });
    if (all.every(({ state }) => state === "completed" || state === "failed")) return;
    await decide(worker, all);
    const holder = `${name}-${turn}`;
    const began = scheduler.now();
    const claim = await take(worker, holder, all);
    if (!claim) continue;
    world.counts.claims++;
    world.log(`${holder} claims ${claim.task.id} epoch ${claim.epoch}`);
    const op = { client: name, key: claim.task.id, claim: holder };
    world.ops.push({
      ...op,
      kind: "claim",
      mark: "",
      began,
      ended: scheduler.now(),
      outcome: "ok",
      leaseMs,
      epoch: claim.epoch,
    });
    await workOn(worker, holder, claim);
  }
}

async function take({ tasks, world }: Worker, holder: string, all: Task[]): Promise<Claim | undefined> {
  const toVerify = all.filter(({ state }) => state === "worker_completed");
  const chosen = toVerify[Math.floor(world.random() * toVerify.length)];
  if (!chosen || world.random() < 0.4) return tasks.claim(holder, run);
  const locked = await tasks.lock(chosen.id, holder);
  return locked.ok && "secret" in locked.value ? locked.value : undefined;
}

/** Steps that need no claim; several workers try the same. */
async function decide({ name, tasks, world }: Worker, all: Task[]): Promise<void> {
  for (const { id, state } of all) {
    const step: Step | undefined =
      state === "qc_passed"
        ? { type: "accept" }
        : state === "qc_failed"
          ? { type: world.random() < 0.9 ? "retry" : "give_up", reason: "as it is" }
          : undefined;
    if (!step) continue;
    world.counts.steps++;
    const done = await tasks.step(id, step, name);
    world.log(`${name} ${step.type} ${id} ${done.ok}`);
  }
}

/** Works under a claim, and at any point crashes, pauses for longer than its lease, or repeats itself. */
async function workOn(
  { name, db, tasks, world, newId, now }: Worker,
  holder: string,
  { task, epoch, secret }: Claim,
): Promise<void> {
  const { scheduler, random } = world;
  const under = { epoch, secret };
  const isVerifying = task.state === "qc_executing";
  const purpose = {
    run,
    task: task.id,
    epoch,
    secret,
    part: isVerifying ? ("qc" as const) : ("worker" as const),
    context: null,
    model: null,
    agent: holder,
  };
  // Aborted: a meter that would wait for others refuses instead.
  const meter = meterOf({ db, now, newId }, purpose, { task: {}, attempt: {} }, AbortSignal.abort());
  for (let calls = Math.floor(random() * 3); calls > 0; calls--) {
    const reserved = await meter.reserve({ tokens: perCall, usd: null });
    if (world.chance(0.05)) return;
    await scheduler.sleep(random() * 1500);
    if (reserved.ok) await reserved.value.settle({ tokens: Math.floor(random() * perCall), usd: null });
    if (world.random() < 0.3) await tasks.renew(task.id, under);
  }
  if (world.chance(0.1)) return;
  if (world.chance(0.25)) await scheduler.sleep(random() * 3 * leaseMs);

  const mark = world.newMark();
  const step = stepOf(isVerifying, mark, random());
  const op: Op = {
    client: name,
    kind: "complete",
    key: task.id,
    mark,
    claim: holder,
    began: scheduler.now(),
    outcome: "unknown",
  };
  world.ops.push(op);
  const send = () => tasks.step(task.id, step, holder, under);
  // A message that is delivered twice.
  const answers: Result<Task>[] = world.chance(0.25) ? await Promise.all([send(), send()]) : [await send()];
  world.counts.steps += answers.length;
  op.ended = scheduler.now();
  op.outcome = answers.some(({ ok }) => ok) ? "ok" : "refused";
  if (op.outcome === "refused") {
    op.why = "the claim";
    world.counts.refused++;
  }
  world.log(`${holder} ${step.type} ${task.id} ${op.outcome}`);
}

function stepOf(isVerifying: boolean, mark: string, chance: number): Step {
  if (isVerifying)
    return chance < 0.8 ? { type: "pass", score: 90, feedback: mark } : { type: "reject", score: 10, feedback: mark };
  if (chance < 0.8) return { type: "submit", output: mark };
  return chance < 0.9 ? { type: "fail", reason: mark, output: "" } : { type: "release", reason: mark };
}

type LoggedEvent = { seq: number; kind: string; subject: string; data: string };

/** What the invariants say about the log of events and the spends. */
async function judge(db: Database, world: World): Promise<string[]> {
  const events = (await db.read
    .selectFrom("events")
    .select(["seq", "kind", "subject", "data"])
    .orderBy("seq")
    .execute()) as LoggedEvent[];
  const state: State = { effects: [], claims: [] };
  const found: string[] = [];
  const completed = new Set<string>();
  const epochs = new Map<string, number>();
  for (const { seq, kind, subject, data } of events) {
    if (!kind.startsWith("task-")) continue;
    const key = subject.slice("task:".length);
    const said = JSON.parse(data) as {
      output?: string;
      feedback?: string;
      reason?: string;
      holder?: string;
      epoch?: number;
    };
    const mark = [said.output, said.feedback, said.reason].find((text) => text !== undefined && /^m\d+\.$/.test(text));
    if (mark) state.effects.push({ key, mark, position: seq });
    if (kind === "task-accept") completed.add(key);
    if (kind !== "task-claim" && kind !== "task-verify") continue;
    state.claims.push({ key, holder: said.holder ?? "", position: seq });
    if ((said.epoch ?? 0) <= (epochs.get(key) ?? 0)) found.push(`C2: epoch ${said.epoch} of ${key} was given again`);
    epochs.set(key, said.epoch ?? 0);
    for (const parent of kind === "task-claim" ? (world.dependsOn.get(key) ?? []) : [])
      if (!completed.has(parent)) found.push(`C3: ${key} was claimed before ${parent} was completed`);
  }
  found.push(...violations(check(world.ops, state)).map((line) => `C2: ${line}`));

  const spends = await db.read.selectFrom("spends").select(["task_id", "state", "tokens", "reserved_tokens"]).execute();
  const counted = spends.filter(({ state }) => state !== "released");
  const total = counted.reduce((sum, { tokens, reserved_tokens }) => sum + Number(tokens ?? reserved_tokens), 0);
  if (total > budget + perCall) found.push(`C5: ${total} tokens were spent of ${budget}`);

  const tasks = await db.read.selectFrom("tasks").select(["id", "state"]).execute();
  const lost = tasks.some(({ state }) => state === "failed");
  for (const { id, state } of tasks)
    if (!lost && state !== "completed") found.push(`C4: ${id} is ${state} although no fault is left`);
  return found;
}
