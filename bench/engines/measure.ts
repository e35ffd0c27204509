import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { silent } from "../../src/kernel/log.ts";
import { unwrap } from "../../src/kernel/result.ts";
import { openThreads } from "../../src/kernel/threads/threads.ts";
import type { Database } from "../../src/store/database.ts";
import { gitAt, initRepository } from "../../src/store/git/git.ts";
import { publications } from "../../src/store/publications.ts";
import type { openConnection } from "../../src/store/sqlite/connection.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { taskEngine } from "../../src/tasks/engine.ts";
import { emptyDocument, withBody } from "../../src/wiki/stores/document.ts";
import { fileStore } from "../../src/wiki/stores/files.ts";
import { createJobs, workThrough } from "../claims/load.ts";
import { median, percentile } from "../support/measure.ts";
import { proseWriter } from "../support/text.ts";

type Open = typeof openConnection;
export type Figures = {
  "claims/s": number;
  "claim CPU µs": number;
  "commit P50 ms": number;
  "commit CPU µs": number;
  "16 writers commits/s": number;
  "insert P50 ms": number;
  "get µs": number;
  "50 rows µs": number;
};

const jobs = 4000;
const commits = 150;
const writers = 16;
const perWriter = 25;
const author = { name: "bench", role: "bench" };

/** Everything but the start, in one process. */
export async function measure(open: Open, folder: string): Promise<Figures> {
  const db = await openSqlite(join(folder, "claims.db"), open);
  const claims = await claimRate(db);
  await db.close();
  const raw = statements(open, join(folder, "raw.db"));
  return { ...claims, ...(await commitTimes(open, join(folder, "book"))), ...raw };
}

/** Milliseconds to load the binding and read one row of a database that is there. */
export function coldOpen(load: () => Open, file: string): number {
  const began = performance.now();
  const connection = load()(file, 5000);
  connection.prepare("SELECT count(*) AS n FROM t").all([]);
  const took = performance.now() - began;
  connection.close();
  return took;
}

async function claimRate(db: Database) {
  let made = 0;
  const tasks = taskEngine({
    db,
    strategy: "queue",
    leaseMs: 60_000,
    now: () => new Date(),
    newId: (prefix) => `${prefix}-${++made}`,
  });
  const rates: number[] = [];
  const costs: number[] = [];
  // The first round is not counted: Node still compiles.
  for (const count of [jobs / 2, jobs, jobs, jobs]) {
    await createJobs(tasks, count);
    const cpu = process.cpuUsage();
    rates.push((await workThrough(tasks, 10, count))["jobs/s"]);
    costs.push(cpuSince(cpu) / count);
  }
  return { "claims/s": median(rates.slice(1)), "claim CPU µs": median(costs.slice(1)) };
}

/** Microseconds of processor time: on a busy machine they vary less than the clock's. */
function cpuSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

/** Acknowledged writes of entries in the file store: one after the other, then by 16 writers. */
async function commitTimes(open: Open, root: string) {
  const prose = proseWriter(2);
  const ids = Array.from({ length: 100 }, (_, n) => `page${n}`);
  const bodies = Array.from({ length: 32 }, () => prose(4096));
  const sections = async () =>
    ids.map((id) => ({ id, title: id, mode: "snapshot" as const, writableBy: ["bench"], description: "" }));
  for (const id of ids) write(root, `wiki/${id}.md`, withBody(emptyDocument, "First text", id));
  const environment = { PATH: process.env.PATH ?? "", HOME: root };
  await initRepository(root, environment);
  const db = await openSqlite(join(root, ".scriptorium/scriptorium.db"), open);
  const git = gitAt(root, environment);
  const store = fileStore({
    db,
    git,
    publications: publications(db, git, root),
    root,
    wiki: "wiki",
    sources: "sources",
    sections: sections as never,
    threads: openThreads(silent),
    now: () => new Date(),
  });
  await store.refresh();
  const versions = new Map<string, number>();
  let serial = 0;
  const commit = async (n: number) => {
    const id = ids[n % ids.length] as string;
    const text = `${++serial}\n${bodies[serial % bodies.length]}`;
    const version = versions.get(id) ?? (await store.fetch(id)).version;
    const began = performance.now();
    unwrap(await store.commit(id, text, version, author));
    versions.set(id, version + 1);
    return performance.now() - began;
  };
  for (let n = 0; n < 100; n++) await commit(n);
  const alone: number[] = [];
  const cpu = process.cpuUsage();
  for (let n = 0; n < commits; n++) alone.push(await commit(n));
  const cost = cpuSince(cpu) / commits;
  const began = performance.now();
  const writer = async (from: number) => {
    for (let n = 0; n < perWriter; n++) await commit(from + (n % 5) * writers);
  };
  await Promise.all(Array.from({ length: writers }, (_, from) => writer(from)));
  const seconds = (performance.now() - began) / 1000;
  await db.close();
  return {
    "commit P50 ms": percentile(alone, 0.5),
    "commit CPU µs": cost,
    "16 writers commits/s": (writers * perWriter) / seconds,
  };
}

function statements(open: Open, file: string) {
  const connection = open(file, 5000);
  connection.exec("PRAGMA journal_mode = WAL");
  connection.exec("PRAGMA synchronous = FULL");
  connection.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT, c INTEGER, d TEXT)");
  const insert = connection.prepare("INSERT INTO t (a, b, c, d) VALUES (?, ?, ?, ?)");
  const row = (n: number) => [`title ${n}`, "x".repeat(100), n, null];
  const durable: number[] = [];
  for (let n = 0; n < 200; n++) durable.push(took(() => insert.run(row(n))));
  connection.exec("BEGIN");
  for (let n = 0; n < 5000; n++) insert.run(row(n));
  connection.exec("COMMIT");
  const get = connection.prepare("SELECT * FROM t WHERE id = ?");
  const list = connection.prepare("SELECT * FROM t WHERE id > ? LIMIT +?");
  const figures = {
    "insert P50 ms": percentile(durable, 0.5),
    "get µs": perCall(10_000, (n) => get.all([(n % 5000) + 1])),
    "50 rows µs": perCall(1000, (n) => list.all([n % 5000, 50])),
  };
  connection.close();
  return figures;
}

/** Microseconds of a call, the median of seven rounds. */
function perCall(count: number, call: (n: number) => unknown): number {
  const rounds = Array.from({ length: 7 }, () =>
    took(() => {
      for (let n = 0; n < count; n++) call(n);
    }),
  );
  return (median(rounds) * 1000) / count;
}

function took(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}

function write(root: string, path: string, text: string | Buffer): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
