import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Logger, makeWorkerUtils, run, type WorkerEvents } from "graphile-worker";
import PgBoss from "pg-boss";

export type Peer = "graphile-worker" | "pg-boss";

const logger = new Logger(() => () => undefined);

export async function addPeerJobs(peer: Peer, url: string, count: number): Promise<void> {
  if (peer === "pg-boss") {
    const boss = await openBoss(url);
    await boss.createQueue("noop");
    for (let from = 0; from < count; from += 1000)
      await boss.insert(Array.from({ length: Math.min(1000, count - from) }, () => ({ name: "noop" })));
    await boss.stop({ graceful: false, wait: true });
    return;
  }
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  await utils.withPgClient((client) =>
    client.query(
      `SELECT graphile_worker.add_jobs(array_agg(json_populate_record(null::graphile_worker.job_spec, '{"identifier":"noop"}')))
       FROM generate_series(1, ${count})`,
    ),
  );
  await utils.release();
}

export type Report = { done: number; waits: number[]; seconds: number };

/** Works until no job is left. `begin` resolves when every process is ready. */
export const peerWorker = (peer: Peer, url: string, workers: number, begin: () => Promise<number>): Promise<Report> =>
  peer === "pg-boss" ? bossWorker(url, workers, begin) : graphileWorker(url, workers, begin);

async function graphileWorker(url: string, workers: number, begin: () => Promise<number>): Promise<Report> {
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  const events = new EventEmitter() as WorkerEvents;
  const asked = new Map<string, number>();
  const report: Report = { done: 0, waits: [], seconds: 0 };
  events.on("worker:getJob:start", ({ worker }) => asked.set(worker.workerId, performance.now()));
  events.on("job:start", ({ worker }) => report.waits.push(performance.now() - (asked.get(worker.workerId) ?? 0)));
  events.on("job:complete", () => report.done++);
  const began = await begin();
  const runner = await run({
    connectionString: url,
    concurrency: workers,
    maxPoolSize: 10,
    noHandleSignals: true,
    logger,
    events,
    taskList: { noop: () => undefined },
    preset: { worker: {} },
  });
  const isLeft = "SELECT EXISTS (SELECT 1 FROM graphile_worker.jobs) AS left";
  while ((await utils.withPgClient((client) => client.query(isLeft))).rows[0]?.left) await sleep(10);
  report.seconds = (performance.now() - began) / 1000;
  await runner.stop();
  await utils.release();
  return report;
}

async function openBoss(url: string): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
  boss.on("error", () => undefined);
  await boss.start();
  return boss;
}

/** Asked in a loop by each worker: its own `work` polls twice a second. */
async function bossWorker(url: string, workers: number, begin: () => Promise<number>): Promise<Report> {
  const boss = await openBoss(url);
  const report: Report = { done: 0, waits: [], seconds: 0 };
  const began = await begin();
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (;;) {
        const asked = performance.now();
        const [job] = await boss.fetch("noop", { batchSize: 1 });
        if (!job) return;
        report.waits.push(performance.now() - asked);
        await boss.complete("noop", [job.id]);
        report.done++;
      }
    }),
  );
  report.seconds = (performance.now() - began) / 1000;
  await boss.stop({ graceful: false, wait: true });
  return report;
}
