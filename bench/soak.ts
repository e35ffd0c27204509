/**
 * Workers that are killed: eight processes work through tasks while one of them, chosen by chance, is
 * ended with SIGKILL every second or so and started again. In the end every task has had its effect
 * exactly once, and the last of them within a lease and 30 s after the killing stopped.
 *
 *   npm run bench -- soak [--seconds 60] [--engine sqlite|postgres]
 */
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { unwrap } from "../src/kernel/result.ts";
import type { DatabaseAddress } from "../src/store/database.ts";
import { openDatabase } from "../src/store/open.ts";
import { taskEngine } from "../src/tasks/engine.ts";
import { workerPool } from "../src/tasks/pool.ts";
import { replayTasks } from "../src/tasks/replay.ts";
import { openPlace } from "./support/place.ts";

const option = (name: string) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const seconds = Number(option("seconds") ?? 60);
const processes = 8;
const leaseMs = 3000;
const workMs = 40;
const chain = 5;

const engineOver = async (address: DatabaseAddress) => {
  const db = await openDatabase(address);
  let made = 0;
  const newId = (prefix: string) => `${prefix}-${process.pid}-${++made}`;
  return { db, tasks: taskEngine({ db, strategy: "queue", leaseMs, now: () => new Date(), newId }) };
};

/** One process: four workers that note each effect in a file once the store has taken it. */
async function work(address: DatabaseAddress, ledger: string): Promise<void> {
  const { db, tasks } = await engineOver(address);
  const pool = workerPool({
    db,
    tasks,
    name: `p${process.pid}`,
    leaseMs,
    execute: async ({ task, epoch }) => {
      await sleep(workMs * Math.random() * 2);
      appendFileSync(ledger, `${task.id} ${epoch}\n`);
      return { type: "finish", output: `epoch ${epoch}` };
    },
  });
  pool.spawn(4);
  process.once("SIGTERM", () => void pool.stop(2000).then(() => db.close()));
}

async function soak(name: string, address: DatabaseAddress, place: ReturnType<typeof openPlace>): Promise<boolean> {
  const { db, tasks } = await engineOver(address);
  const ledger = join(place.folder("ledger"), "done.txt");
  appendFileSync(ledger, "");
  // As many as keep everyone busy while processes are being killed, in chains of five.
  const total = Math.round((seconds * processes * 4 * 1000) / workMs / 8 / chain) * chain;
  for (let from = 0; from < total; from += 1000) {
    const size = Math.min(1000, total - from);
    const wanted = Array.from({ length: size }, (_, n) => ({
      ...{ title: `Task ${from + n}`, description: "", priority: 0, run: null, maxRetries: 2, key: String(n) },
      dependsOn: n % chain === 0 ? [] : [String(n - 1)],
    }));
    unwrap(await tasks.createMany(wanted, "soak"));
  }
  const start = (): ChildProcess => {
    const self = fileURLToPath(import.meta.url);
    const child = spawn(process.execPath, [self, "--worker", JSON.stringify(address), "--ledger", ledger], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    place.onLeave(() => child.kill("SIGKILL"));
    return child;
  };
  const living = Array.from({ length: processes }, start);
  let kills = 0;
  for (const until = Date.now() + seconds * 1000; Date.now() < until; kills++) {
    await sleep(300 + Math.random() * 1200);
    const victim = Math.floor(Math.random() * processes);
    living[victim]?.kill("SIGKILL");
    living[victim] = start();
  }
  const left = async () =>
    (await db.read.selectFrom("tasks").select("id").where("state", "!=", "completed").execute()).length;
  const atEnd = await left();
  const stopped = Date.now();
  let stuck = false;
  for (let before = atEnd, since = Date.now(); (await left()) > 0; ) {
    await sleep(200);
    const now = await left();
    if (now < before) [before, since] = [now, Date.now()];
    stuck = Date.now() - since > leaseMs + 30_000;
    if (stuck) break;
  }
  const took = (Date.now() - stopped) / 1000;
  for (const child of living) child.kill("SIGTERM");

  const events = await db.read.selectFrom("events").selectAll().orderBy("seq").execute();
  const finished = events.filter((event) => event.kind === "task-finish");
  const once = new Set(finished.map((event) => event.subject)).size === total && finished.length === total;
  const told = replayTasks(events.map((event) => ({ ...event, data: JSON.parse(event.data) })));
  const rows = await tasks.list({ limit: total + 1 });
  const same = rows.every((row) => told.get(row.id)?.state === row.state && told.get(row.id)?.epoch === row.epoch);
  const tried = readFileSync(ledger, "utf8").trim().split("\n").length;
  const late = events.filter((event) => event.kind === "task-write-refused").length;
  await db.close();
  const good = !stuck && once && same;
  console.log(
    `${name}: ${total} tasks in chains of ${chain}, ${kills} processes killed in ${seconds} s; ` +
      `${finished.length} effects, ${tried - finished.length} attempts lost with their process or refused (${late} on record as late); ` +
      `${atEnd} were left when the killing stopped, all done ${took.toFixed(1)} s later; ` +
      `the record replays to the rows: ${same ? "yes" : "no"}. ${good ? "Each exactly once." : "FAILED"}`,
  );
  return good;
}

async function main(): Promise<void> {
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  try {
    const engine = option("engine");
    let good = true;
    if (engine !== "postgres")
      good = (await soak("SQLite", { engine: "sqlite", file: join(place.folder("soak"), "tasks.db") }, place)) && good;
    if (engine !== "sqlite")
      good = (await soak("PostgreSQL", { engine: "postgres", url: await place.postgres() }, place)) && good;
    process.exitCode = good ? 0 : 1;
  } finally {
    await place.leave();
  }
}

const address = option("worker");
if (address) await work(JSON.parse(address), option("ledger") ?? "");
else await main();
