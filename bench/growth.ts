/**
 * A workspace that has grown: a million events and 100,000 versions of entries in the database store. How long the
 * server takes to start and to answer, and `doctor` to check it; then the same after the events were archived.
 *
 *   npm run bench -- growth [--engine sqlite,postgres] [--events 1000000] [--versions 100000] [--json]
 */
import { readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { archiveEvents } from "../src/store/archive-events.ts";
import { sealEvents } from "../src/store/event-chain.ts";
import { median, percentile } from "./support/measure.ts";
import { command, ended, openPlace, type Place } from "./support/place.ts";
import { atMost, type Row, spell, type Table } from "./support/table.ts";
import { proseWriter } from "./support/text.ts";
import { agent, newWorkspace, role, type Workspace } from "./support/workspace.ts";

const option = (name: string, otherwise: string) => {
  const at = process.argv.indexOf(`--${name}`);
  return (at < 0 ? undefined : process.argv[at + 1]) ?? otherwise;
};

const entries = 200;
const editsOfTask = 12;
/** Creation, claim, edits and the end. */
const eventsOfTask = editsOfTask + 3;
const rounds = 20;

async function main(): Promise<void> {
  const json = process.argv.includes("--json");
  const say = json ? console.error : console.log;
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  const tables: Table[] = [];
  try {
    for (const engine of option("engine", "sqlite,postgres").split(",")) {
      say(`${availableParallelism()} cores (load ${loadavg()[0]?.toFixed(1)}), Node ${process.versions.node}\n`);
      for (const table of await grown(place, engine)) {
        tables.push(table);
        say(spell(table));
      }
    }
  } finally {
    await place.leave();
  }
  if (json) console.log(JSON.stringify(tables));
}

async function grown(place: Place, engine: string): Promise<Table[]> {
  const events = Number(option("events", "1000000"));
  const versions = Number(option("versions", "100000"));
  const prose = proseWriter(5);
  const workspace = await newWorkspace(place, {
    entries: new Map(Array.from({ length: entries }, (_, n) => [`entry-${n}`, prose(800)])),
    store: "database",
    database: engine === "postgres" ? await place.postgres() : "sqlite",
  });
  // The mirror leaves a branch alone that is not its own: what is measured is the server that has caught up.
  await workspace.git("branch", "scriptorium/book");
  const app = await workspace.open();
  const progress = (what: string) => process.stderr.write(`${engine}: ${what}\n`);
  progress("adding versions and events");
  await addVersions(app, versions / entries);
  await addTasks(app, Math.ceil((events - versions) / eventsOfTask));
  // What is measured is the log, not the work that follows an import: the index of task titles, trust of passages.
  await app.db.write(
    async (tx) => {
      await tx.deleteFrom("search_queue").execute();
      await tx.deleteFrom("trust_queue").execute();
    },
    { isLong: true },
  );
  await app.db.write((tx) => sql`ANALYZE`.execute(tx), { isLong: true });
  progress("sealing");
  const sealing = await seconds(() => sealEvents(app.db));
  const before = await eventBytes(app);
  await app.close();
  const first = await measured(place, workspace, progress);

  const again = await workspace.open();
  progress("archiving");
  let archived = 0;
  const archiving = await seconds(async () => {
    archived = await archiveEvents(again.db, { before: "9999" });
  });
  const after = await eventBytes(again);
  await again.close();
  const second = await measured(place, workspace, progress);
  const rows: Row[] = first.map(({ what, figures, target }, at) => ({
    what,
    figures: { ...figures, "archived P50": second[at]?.figures["P50 ms"] ?? "" },
    ...(target ? { target } : {}),
  }));
  return [
    {
      question: `${engine}: ${events.toLocaleString("en")} events, ${versions.toLocaleString("en")} versions of ${entries} entries`,
      rows,
      notes: [
        `sealing all events ${sealing.toFixed(0)} s; archiving ${archived.toLocaleString("en")} of them ${archiving.toFixed(0)} s`,
        `events and chain ${megabytes(before)}, with archives ${megabytes(after)}`,
      ],
    },
  ];
}

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
};

const megabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;

/** What the rows of the log hold, without free space in the files. */
async function eventBytes({ db }: App): Promise<number> {
  const bytes = async (query: ReturnType<typeof sql<{ bytes: number | string | null }>>) =>
    Number((await query.execute(db.read)).rows[0]?.bytes ?? 0);
  const length = (name: string) => sql.raw(`coalesce(sum(length(${name})), 0)`);
  return (
    (await bytes(
      sql`SELECT ${length("at")} + ${length("actor")} + ${length("kind")} + ${length("subject")} + ${length("data")} AS bytes FROM events`,
    )) +
    (await bytes(sql`SELECT 16 * count(*) + ${length("hash")} AS bytes FROM event_chain`)) +
    (await bytes(sql`SELECT ${length("content")} + ${length("kinds")} AS bytes FROM event_archives`)) +
    (await bytes(sql`SELECT 8 * count(*) + ${length("subject")} AS bytes FROM event_archive_subjects`))
  );
}

const numbers = (from: number, to: number) =>
  sql`WITH RECURSIVE numbers (n) AS (SELECT CAST(${from} AS INTEGER) UNION ALL SELECT n + 1 FROM numbers WHERE n < ${to})`;

/** Copies of each entry's first version, with its event. */
async function addVersions({ db }: App, each: number): Promise<void> {
  await db.write(
    async (tx) => {
      await sql`
        INSERT INTO entry_versions (entry_id, version, blob, content, appended, author, role, run, task, epoch, at, summary)
        ${numbers(2, each)}
        SELECT entry_id, n, blob, content, appended, author, role, run, task, epoch, at, summary
        FROM entry_versions, numbers WHERE version = 1`.execute(tx);
      await sql`
        INSERT INTO events (at, actor, kind, subject, data)
        ${numbers(2, each)}
        SELECT at, actor, kind, subject, replace(data, '"version":1', '"version":' || n)
        FROM events, numbers WHERE kind = 'entry-committed' ORDER BY n`.execute(tx);
      await tx.updateTable("entries").set({ version: each }).execute();
    },
    { isLong: true },
  );
}

/** Copies of a task that was created, claimed, edited and ended, with its events. */
async function addTasks(app: App, count: number): Promise<void> {
  const caller = agent();
  const made = unwrap(await operations.create_todo.perform(app, { title: "Copied" }, caller)) as { id: string };
  const locked = unwrap(await operations.lock_todo.perform(app, { id: made.id, agent_id: role }, caller)) as {
    epoch: number;
    secret: string;
  };
  const under = { id: made.id, epoch: locked.epoch, secret: locked.secret };
  for (let n = 0; n < editsOfTask; n++)
    unwrap(await operations.update_todo.perform(app, { ...under, title: `Copied, edit ${n}` }, caller));
  unwrap(await operations.update_todo.perform(app, { ...under, status: "completed", output: "done" }, caller));

  const columns = sql.raw(
    "run, title, description, state, priority, turn_at, attempt, max_retries, blockers_left, lost_blockers, epoch, holder, claimed_at, lease_until, secret_hash, result, version, awaited, created_at, created_by, updated_at",
  );
  const batch = 10_000;
  for (let from = 1; from < count; from += batch) {
    const to = Math.min(from + batch - 1, count - 1);
    await app.db.write(
      async (tx) => {
        await sql`
          INSERT INTO tasks (id, ${columns})
          ${numbers(from, to)} SELECT 'task-copy-' || n, ${columns} FROM tasks, numbers WHERE id = ${made.id}`.execute(
          tx,
        );
        await sql`
          INSERT INTO events (at, actor, kind, subject, data)
          ${numbers(from, to)}
          SELECT at, actor, kind, 'task:task-copy-' || n, replace(data, ${made.id}, 'task-copy-' || n)
          FROM events, numbers WHERE subject = ${`task:${made.id}`} ORDER BY n, seq`.execute(tx);
      },
      { isLong: true },
    );
  }
}

const calls: [what: string, path: string, limitMs: number][] = [
  ["list_entries", "/api/entries", 100],
  ["inbox", "/api/inbox", 100],
  ["activity, first page", "/api/activity", 100],
  ["activity of a page", "/api/activity?source_path=wiki/entry-7.md", 100],
  ["status", "/api/status", 100],
];

async function measured(place: Place, { root }: Workspace, progress: (what: string) => void): Promise<Row[]> {
  const rows: Row[] = [];
  progress("starting the server");
  const began = performance.now();
  const server = place.start(process.execPath, [command("scriptorium"), "serve", "--port", "0", "--json"], {
    cwd: root,
  });
  const address = await new Promise<string>((done) => {
    let said = "";
    server.stdout?.on("data", (chunk) => {
      said += chunk;
      if (said.includes("\n")) done(JSON.parse(said).url);
    });
  });
  while (!(await fetch(`${address}/readyz`)).ok) await sleep(50);
  const start = performance.now() - began;
  rows.push({ what: "start of the server", figures: { "P50 ms": start }, target: atMost(5000, start, "ms") });
  const authorization = `Bearer ${readFileSync(join(root, ".scriptorium/token"), "utf8").trim()}`;
  for (const [what, path, limit] of calls) {
    const times: number[] = [];
    for (let n = 0; n < rounds; n++) {
      const asked = performance.now();
      const answer = await fetch(address + path, { headers: { authorization } });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text.slice(0, 200)}`);
      times.push(performance.now() - asked);
    }
    const p50 = median(times);
    progress(`${what} ${p50.toFixed(1)} ms`);
    rows.push({
      what,
      figures: { "P50 ms": p50, "P95 ms": percentile(times, 0.95) },
      target: atMost(limit, p50, "ms"),
    });
  }
  server.kill("SIGTERM");
  await new Promise((done) => server.once("close", done));
  progress("doctor");
  const { ms, megabytes: peak } = await doctorOf(place, root);
  rows.push({ what: "doctor", figures: { "P50 ms": ms, "peak MiB": peak }, target: atMost(2000, peak, "MiB") });
  return rows;
}

async function doctorOf(place: Place, root: string): Promise<{ ms: number; megabytes: number }> {
  const began = performance.now();
  const child = place.start(process.execPath, [command("scriptorium"), "doctor", "--json"], { cwd: root });
  let peak = 0;
  const watch = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      peak = Math.max(peak, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // It has ended.
    }
  }, 50);
  const { stdout, stderr } = await ended(child);
  clearInterval(watch);
  const { findings } = JSON.parse(stdout || "{}") as { findings?: { state: string; for: string; message: string }[] };
  if (!findings) throw new Error(`doctor: ${stderr}`);
  for (const { state, message } of findings.filter((one) => one.state === "problem"))
    process.stderr.write(`doctor, ${state}: ${message}\n`);
  return { ms: performance.now() - began, megabytes: Math.round(peak) };
}

await main();
