/** Claims with 10 and 100 workers, and beside the queues that others use. See bench/README.md. */
import { once } from "node:events";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Database, DatabaseAddress } from "../src/store/database.ts";
import { openDatabase } from "../src/store/open.ts";
import { type Strategy, type TaskEngine, taskEngine } from "../src/tasks/engine.ts";
import type { PoolMetrics } from "../src/tasks/job-pool.ts";
import { workerPool } from "../src/tasks/pool.ts";
import { createJobs, type Figures, workThrough } from "./claims/load.ts";
import { bullmq, graphile, hasRedis, pgBoss } from "./claims/peers.ts";
import { percentile } from "./support/measure.ts";
import { isInMemory, openPlace, type Place, succeed } from "./support/place.ts";
import { atLeast, atMost, holds, type Row, spell, type Table } from "./support/table.ts";

/** `--jobs 2000` for a quick look; `--only sqlite` for the rows with that in their name; `--only processes|team|start`. */
const option = (name: string) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const jobs = Number(option("jobs") ?? 10_000);
const only = option("only")?.toLowerCase();
const crowds = [10, 100];
const processes = 8;
const perProcess = 12;

async function main(): Promise<void> {
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  try {
    const tables: Table[] = [];
    const json = process.argv.includes("--json");
    const show = (table: Table) => {
      tables.push(table);
      if (!json) console.log(spell(table));
    };
    if (!json) {
      const load = (loadavg()[0] ?? 0).toFixed(1);
      console.log(`${availableParallelism()} cores (load ${load}), Node ${process.versions.node}, ${jobs} jobs\n`);
      if (isInMemory()) console.log("the temporary folder is in memory: durable writes cost nothing here\n");
    }
    const others = { processes: betweenProcesses, team: smallTeam, start: untilStart };
    const isOther = only !== undefined && only in others;
    if (!isOther) for (const workers of crowds) show(await sideBySide(place, workers));
    for (const [name, table] of Object.entries(others)) if (!only || only === name) show(await table(place));
    if (json) console.log(JSON.stringify(tables));
  } finally {
    await place.leave();
  }
}

type Way = { what: string; durable: string; run(workers: number, count: number): Promise<Figures> };

async function sideBySide(place: Place, workers: number): Promise<Table> {
  const found = new Map<string, Figures>();
  const rows: Row[] = [];
  for (const { what, durable, run } of ways(place)) {
    if (only && !what.toLowerCase().includes(only)) continue;
    process.stderr.write(`${what}, ${workers} workers\n`);
    // Once beforehand, uncounted: nobody is measured while Node still compiles them.
    await run(workers, jobs / 5);
    const figures = await run(workers, jobs);
    found.set(what, figures);
    rows.push({ what, figures: { ...figures, "on disk when acknowledged": durable } });
  }
  const aim = (what: string, target: (figures: Figures) => Row["target"]) => {
    const row = rows.find((some) => some.what === what);
    const figures = found.get(what);
    const made = figures && target(figures);
    if (row && made) row.target = made;
  };
  /** Beside whom it was measured; of what was left out nothing can be said. */
  const beside = (peer: string, times: number, says: string) => (figures: Figures) => {
    const theirs = found.get(peer)?.["jobs/s"];
    return theirs ? atLeast(times, figures["jobs/s"] / theirs, `× ${says}`) : undefined;
  };
  const within = (ms: number) => (figures: Figures) =>
    atMost(ms, figures["claim P99 ms"] ?? Number.NaN, "ms claim P99");
  if (workers === 100) {
    aim(names.sqlite, beside(names.bullAlways, 4, "BullMQ, as durable"));
    aim(names.sqliteAhead, beside(names.graphileLocal, 2, "graphile, as many held ahead"));
    aim(names.sqliteGraph, within(10));
    aim(names.postgres, within(50));
  }
  aim(names.postgresSingle, beside(names.graphileSingle, 1, "graphile, one job at a time"));
  aim(names.postgresAhead, beside(names.graphileLocal, 1, "graphile, as many held ahead"));
  const notes = hasRedis() ? [] : ["no redis-server on this machine: BullMQ was left out"];
  return { question: `No-op tasks with ${workers} workers in one process`, rows, notes };
}

const names = {
  sqlite: "scriptorium, SQLite",
  sqliteGraph: "scriptorium, SQLite, each behind another",
  postgresSingle: "scriptorium, PostgreSQL, one job at a time",
  postgres: "scriptorium, PostgreSQL",
  sqliteAhead: "scriptorium, SQLite, 500 held at a time",
  postgresAhead: "scriptorium, PostgreSQL, 500 held at a time",
  graphileSingle: "graphile-worker, one job at a time",
  graphileLocal: "graphile-worker, local queue of 500",
  boss: "pg-boss, fetch and complete, a tenth of the jobs",
  bossBatch: "pg-boss, batches of 100",
  bullSecond: "BullMQ, AOF each second",
  bullAlways: "BullMQ, AOF always",
};

function ways(place: Place): Way[] {
  const sqlite = (): DatabaseAddress => ({ engine: "sqlite", file: join(place.folder("claims"), "tasks.db") });
  const postgres = async (): Promise<DatabaseAddress> => ({ engine: "postgres", url: await place.postgres() });
  const redis: Way[] = (["everysec", "always"] as const).map((fsync) => ({
    what: fsync === "always" ? names.bullAlways : names.bullSecond,
    durable: fsync === "always" ? "yes" : "no, up to 1 s is lost",
    run: (workers, count) => bullmq(place, count, workers, fsync),
  }));
  return [
    { what: names.sqlite, durable: "yes", run: async (workers, count) => ours(sqlite(), workers, count) },
    { what: names.sqliteGraph, durable: "yes", run: async (w, count) => ours(sqlite(), w, count, { width: 500 }) },
    {
      what: names.postgresSingle,
      durable: "yes",
      run: async (workers, count) => ours(await postgres(), workers, count, { batchSize: 2 }),
    },
    { what: names.postgres, durable: "yes", run: async (workers, count) => ours(await postgres(), workers, count) },
    { what: names.sqliteAhead, durable: "yes", run: async (w, count) => ours(sqlite(), w, count, { held: 500 }) },
    { what: names.postgresAhead, durable: "yes", run: async (w, n) => ours(await postgres(), w, n, { held: 500 }) },
    { what: names.graphileSingle, durable: "yes", run: async (w, count) => graphile(await place.postgres(), count, w) },
    { what: names.graphileLocal, durable: "yes", run: async (w, n) => graphile(await place.postgres(), n, w, 500) },
    { what: names.boss, durable: "yes", run: async (w, n) => pgBoss(await place.postgres(), n / 10, w, 1) },
    { what: names.bossBatch, durable: "yes", run: async (w, n) => pgBoss(await place.postgres(), n, w, 100) },
    ...(hasRedis() ? redis : []),
  ];
}

const engineOver = (db: Database, options: { strategy?: Strategy; batchSize?: number } = {}) => {
  let made = 0;
  return taskEngine({
    db,
    strategy: "queue",
    leaseMs: 60_000,
    now: () => new Date(),
    newId: (prefix) => `${prefix}-${process.pid}-${++made}`,
    ...options,
  });
};

async function ours(
  address: DatabaseAddress,
  workers: number,
  count: number,
  { width = count, batchSize, held }: { width?: number; batchSize?: number; held?: number } = {},
): Promise<Figures> {
  const db = await openDatabase(address);
  try {
    const size = held ?? batchSize;
    const tasks = engineOver(db, size ? { batchSize: size } : {});
    await createJobs(tasks, count, width);
    return await workThrough(tasks, workers, count, held ? held / workers : 1);
  } finally {
    await db.close();
  }
}

const ready = "ready\n";

/** Eight processes on one database: is each served? */
async function betweenProcesses(place: Place): Promise<Table> {
  const rows: Row[] = [];
  const sqlite: DatabaseAddress = { engine: "sqlite", file: join(place.folder("shared"), "tasks.db") };
  for (const address of [sqlite, { engine: "postgres", url: await place.postgres() } as const]) {
    const db = await openDatabase(address);
    await createJobs(engineOver(db), jobs);
    const workers = Array.from({ length: processes }, () =>
      place.start(process.execPath, [fileURLToPath(import.meta.url), "--worker", JSON.stringify(address)]),
    );
    const ends = workers.map(succeed);
    await Promise.all(workers.map((child) => once(child.stdout as Readable, "data")));
    const began = performance.now();
    for (const child of workers) child.stdin?.end("go");
    const said = await Promise.all(ends);
    const seconds = (performance.now() - began) / 1000;
    const left = await db.read.selectFrom("tasks").select("id").where("state", "!=", "completed").execute();
    await db.close();
    const shares = said.map((text) => JSON.parse(text.slice(ready.length)) as { done: number; waits: number[] });
    const counts = shares.map((share) => share.done);
    const total = counts.reduce((sum, n) => sum + n, 0);
    rows.push({
      what: address.engine === "sqlite" ? "scriptorium, one SQLite file" : "scriptorium, PostgreSQL",
      figures: {
        "jobs/s": Math.round(jobs / seconds),
        "claim P50 ms": percentile(
          shares.flatMap((share) => share.waits),
          0.5,
        ),
        "claim P99 ms": percentile(
          shares.flatMap((share) => share.waits),
          0.99,
        ),
        "fewest of a process": Math.min(...counts),
        "most of a process": Math.max(...counts),
      },
      target: holds(
        `each task once, no process starved (at least a quarter of its share)`,
        total === jobs && left.length === 0 && Math.min(...counts) >= jobs / processes / 4,
      ),
    });
  }
  return { question: `${processes} processes of ${perProcess} workers each`, rows };
}

async function worker(address: DatabaseAddress): Promise<void> {
  const db = await openDatabase(address);
  const tasks = engineOver(db);
  const waits: number[] = [];
  let done = 0;
  process.stdout.write(ready);
  await once(process.stdin, "data");
  await Promise.all(
    Array.from({ length: perProcess }, async (_, n) => {
      const name = `p${process.pid}-${n}`;
      const claim = async () => {
        const asked = performance.now();
        const got = await tasks.claim(name);
        if (got) waits.push(performance.now() - asked);
        return got;
      };
      for (let got = await claim(); got; ) {
        const [ended, next] = await Promise.all([
          tasks.step(got.task.id, { type: "finish", output: "" }, name, got),
          claim(),
        ]);
        if (ended.ok) done++;
        got = next;
      }
    }),
  );
  await db.close();
  process.stdout.write(JSON.stringify({ done, waits }));
}

/** No agent has started and ended in less; with tasks much shorter, what is measured is the commit. */
const taskMs = 250;

/** O16: ten workers, a hundred tasks of some work each, by every strategy. */
async function smallTeam(place: Place): Promise<Table> {
  const rows: Row[] = [];
  for (const engine of ["sqlite", "postgres"] as const) {
    for (const strategy of ["queue", "lease", "optimistic"] as const) {
      const address: DatabaseAddress =
        engine === "sqlite"
          ? { engine, file: join(place.folder("team"), "tasks.db") }
          : { engine, url: await place.postgres() };
      const db = await openDatabase(address);
      const tasks = engineOver(db, { strategy });
      // A few beforehand, uncounted: a pool that has just been started still opens its connections.
      await throughPool(db, tasks, 20);
      const { claimMs, idleShare } = await throughPool(db, tasks, 100);
      const { claims, conflicts } = tasks.counts();
      await db.close();
      const share = (conflicts / (claims + conflicts)) * 100;
      rows.push({
        what: `${engine === "sqlite" ? "SQLite" : "PostgreSQL"}, ${strategy}`,
        figures: {
          "conflicts %": share,
          "claim P50 ms": claimMs.p50,
          "claim P99 ms": claimMs.p99,
          "idle %": idleShare * 100,
        },
        target: holds("conflicts < 1 %, P99 < 50 ms, idle < 5 %", share < 1 && claimMs.p99 < 50 && idleShare < 0.05),
      });
    }
  }
  return { question: `O16: ten workers, a hundred tasks of ${taskMs} ms`, rows };
}

/** So many such tasks, by ten workers. */
async function throughPool(db: Database, tasks: TaskEngine, count: number): Promise<PoolMetrics> {
  await createJobs(tasks, count);
  const pool = workerPool({
    db,
    tasks,
    name: "w",
    leaseMs: 60_000,
    execute: async () => {
      await sleep(taskMs);
      return { type: "finish", output: "" };
    },
  });
  pool.spawn(10);
  while (pool.metrics().done < count) await sleep(5);
  const metrics = pool.metrics();
  await pool.stop(1000);
  return metrics;
}

/** From a new task to the start of its work, with workers that wait in another connection. */
async function untilStart(place: Place): Promise<Table> {
  const rows: Row[] = [];
  const sqlite: DatabaseAddress = { engine: "sqlite", file: join(place.folder("wake"), "tasks.db") };
  for (const address of [sqlite, { engine: "postgres", url: await place.postgres() } as const]) {
    const db = await openDatabase(address);
    const tasks = engineOver(db);
    const started = new Map<string, () => void>();
    const pool = workerPool({
      db,
      tasks,
      name: "w",
      leaseMs: 60_000,
      execute: async ({ task }) => {
        started.get(task.title)?.();
        return { type: "finish", output: "" };
      },
    });
    pool.spawn(10);
    const waits: number[] = [];
    for (let n = 0; n < 200; n++) {
      await new Promise((soon) => setTimeout(soon, 5));
      const began = performance.now();
      const start = new Promise<void>((done) => started.set(`Job ${n}`, done));
      const wanted = { description: "", dependsOn: [], priority: 0, run: null, maxRetries: 2 };
      await tasks.create({ title: `Job ${n}`, ...wanted }, "bench");
      await start;
      waits.push(performance.now() - began);
    }
    await pool.stop(1000);
    await db.close();
    rows.push({
      what: address.engine === "sqlite" ? "SQLite" : "PostgreSQL",
      figures: { "P50 ms": percentile(waits, 0.5), "P99 ms": percentile(waits, 0.99) },
    });
  }
  return { question: "From creating a task to the start of its work, ten idle workers", rows };
}

const address = option("worker");
if (address) await worker(JSON.parse(address));
else await main();
