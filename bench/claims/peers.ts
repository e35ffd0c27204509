/** The same jobs on the queues that others use, each set up as its own documentation advises. */
import { type ChildProcess, spawnSync } from "node:child_process";
import { EventEmitter } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Queue, Worker } from "bullmq";
import { makeWorkerUtils, run, type WorkerEvents } from "graphile-worker";
import PgBoss from "pg-boss";
import { percentile } from "../support/measure.ts";
import type { Place } from "../support/place.ts";
import type { Figures } from "./load.ts";

/** graphile-worker, one job at a time or from its local queue. */
export async function graphile(url: string, count: number, workers: number, localQueue?: number): Promise<Figures> {
  const { Logger } = await import("graphile-worker");
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  await utils.withPgClient((client) =>
    client.query(
      `SELECT graphile_worker.add_jobs(array_agg(json_populate_record(null::graphile_worker.job_spec, '{"identifier":"noop"}')))
       FROM generate_series(1, ${count})`,
    ),
  );
  const events = new EventEmitter() as WorkerEvents;
  const asked = new Map<string, number>();
  const waits: number[] = [];
  events.on("worker:getJob:start", ({ worker }) => asked.set(worker.workerId, performance.now()));
  events.on("job:start", ({ worker }) => waits.push(performance.now() - (asked.get(worker.workerId) ?? 0)));
  let left = count;
  let ended = () => {};
  const all = new Promise<void>((done) => {
    ended = done;
  });
  events.on("job:complete", () => {
    if (--left === 0) ended();
  });
  const began = performance.now();
  const runner = await run({
    connectionString: url,
    concurrency: workers,
    maxPoolSize: 10,
    noHandleSignals: true,
    logger,
    events,
    taskList: { noop: () => undefined },
    preset: {
      worker: localQueue ? { localQueue: { size: localQueue }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } : {},
    },
  });
  await all;
  // It calls a job complete before the database knows; ours is done when it does.
  const isLeft = "SELECT EXISTS (SELECT 1 FROM graphile_worker.jobs) AS left";
  while ((await utils.withPgClient((client) => client.query(isLeft))).rows[0]?.left) await sleep(2);
  const seconds = (performance.now() - began) / 1000;
  await runner.stop();
  await utils.release();
  return {
    "jobs/s": Math.round(count / seconds),
    "claim P50 ms": percentile(waits, 0.5),
    "claim P99 ms": percentile(waits, 0.99),
  };
}

/** pg-boss, asked in a loop by each worker: its own `work` polls twice a second. */
export async function pgBoss(url: string, count: number, workers: number, batchSize: number): Promise<Figures> {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
  boss.on("error", () => undefined);
  await boss.start();
  await boss.createQueue("noop");
  for (let from = 0; from < count; from += 1000) {
    await boss.insert(Array.from({ length: Math.min(1000, count - from) }, () => ({ name: "noop" })));
  }
  const waits: number[] = [];
  let done = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (done < count) {
        const asked = performance.now();
        const jobs = await boss.fetch("noop", { batchSize });
        if (jobs.length === 0) continue;
        waits.push(performance.now() - asked);
        await boss.complete(
          "noop",
          jobs.map((job) => job.id),
        );
        done += jobs.length;
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  await boss.stop({ graceful: false, wait: true });
  return {
    "jobs/s": Math.round(count / seconds),
    "claim P50 ms": percentile(waits, 0.5),
    "claim P99 ms": percentile(waits, 0.99),
  };
}

/** BullMQ on a Redis of its own that appends to its file at each write, or each second. */
export async function bullmq(
  place: Place,
  count: number,
  workers: number,
  fsync: "always" | "everysec",
): Promise<Figures> {
  const port = await freePort();
  const folder = place.folder("redis");
  const flags = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "yes"];
  const server = place.start("redis-server", [...flags, "--appendfsync", fsync]);
  await answers(server);
  const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
  const queue = new Queue("noop", { connection });
  for (let from = 0; from < count; from += 1000) {
    await queue.addBulk(Array.from({ length: Math.min(1000, count - from) }, () => ({ name: "noop", data: {} })));
  }
  let left = count;
  let ended = () => {};
  const all = new Promise<void>((done) => {
    ended = done;
  });
  const began = performance.now();
  const worker = new Worker("noop", async () => undefined, {
    connection,
    concurrency: workers,
    removeOnComplete: { count: 0 },
  });
  worker.on("error", () => undefined);
  worker.on("completed", () => {
    if (--left === 0) ended();
  });
  await all;
  const seconds = (performance.now() - began) / 1000;
  await worker.close();
  await queue.close();
  server.kill("SIGKILL");
  return { "jobs/s": Math.round(count / seconds) };
}

export const hasRedis = () => spawnSync("redis-server", ["--version"]).status === 0;

function answers(server: ChildProcess): Promise<void> {
  return new Promise((done, fail) => {
    server.once("error", fail);
    server.once("close", () => fail(new Error("redis-server ended")));
    server.stdout?.on("data", (said) => {
      if (String(said).includes("Ready to accept connections")) done();
    });
  });
}

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => done(typeof address === "object" && address ? address.port : 0));
    });
  });
}
