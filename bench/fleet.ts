/**
 * What one PostgreSQL carries: claims of a fleet of processes beside graphile-worker and pg-boss, the cost of a claim
 * with up to a million tasks, and events to a thousand clients. See docs/scale.md.
 *
 *   npm run bench -- fleet [--only claims|rows|events] [--jobs N] [--workers 10,100] [--processes 1,8] [--json]
 */
import { once } from "node:events";
import { availableParallelism, loadavg } from "node:os";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { DatabaseAddress } from "../src/store/database.ts";
import { openDatabase } from "../src/store/open.ts";
import { taskEngine } from "../src/tasks/engine.ts";
import { createJobs } from "./claims/load.ts";
import { eventsToClients } from "./fleet/events.ts";
import { addPeerJobs, type Peer, peerWorker } from "./fleet/peers.ts";
import { costByRows } from "./fleet/rows.ts";
import { percentile } from "./support/measure.ts";
import { isInMemory, openPlace, type Place, succeed } from "./support/place.ts";
import { type Row, spell, type Table } from "./support/table.ts";

const option = (name: string) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const numbers = (name: string, otherwise: string) => (option(name) ?? otherwise).split(",").map(Number);

type System = "scriptorium" | Peer;
const systems: System[] = ["scriptorium", "graphile-worker", "pg-boss"];
type Share = { system: System; url: string; workers: number };

async function main(): Promise<void> {
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  const only = option("only");
  const json = process.argv.includes("--json");
  const tables: Table[] = [];
  try {
    if (!json) {
      console.log(
        `${availableParallelism()} cores (load ${loadavg()[0]?.toFixed(1)}), Node ${process.versions.node}${isInMemory() ? ", temporary folder in memory" : ""}\n`,
      );
    }
    const parts = { claims: claimsOfFleets, rows: costByRows, events: eventsToClients };
    for (const [name, part] of Object.entries(parts)) {
      if (only && only !== name) continue;
      const table = await part(place, Number(option("jobs") ?? 0) || undefined);
      tables.push(table);
      if (!json) console.log(spell(table));
    }
    if (json) console.log(JSON.stringify(tables));
  } finally {
    await place.leave();
  }
}

/** Each worker takes one job, ends it, and takes the next: no system holds jobs ahead. */
async function claimsOfFleets(place: Place, jobs = 3000): Promise<Table> {
  const rows: Row[] = [];
  for (const processes of numbers("processes", "1,2,4,8")) {
    for (const workers of numbers("workers", "10,100,400")) {
      if (workers < processes) continue;
      const rates = new Map<System, number>();
      for (const system of systems) {
        // pg-boss makes two round trips for each job; a third of the jobs is enough to measure it.
        const count = system === "pg-boss" ? Math.ceil(jobs / 3) : jobs;
        process.stderr.write(`${system}, ${workers} workers in ${processes} processes\n`);
        const { seconds, waits, done } = await runFleet(place, system, { workers, processes, count });
        const rate = done / seconds;
        process.stderr.write(`  ${Math.round(rate)} claims/s, P99 ${percentile(waits, 0.99).toFixed(1)} ms\n`);
        rates.set(system, rate);
        rows.push({
          what: `${system}, ${workers} workers in ${processes} process${processes > 1 ? "es" : ""}`,
          figures: {
            "claims/s": Math.round(rate),
            "P50 ms": percentile(waits, 0.5),
            "P99 ms": percentile(waits, 0.99),
            "× graphile-worker": system === "graphile-worker" ? 1 : rate / (rates.get("graphile-worker") ?? Number.NaN),
          },
        });
      }
      const ours = rows.at(-systems.length);
      const graphile = rates.get("graphile-worker");
      if (ours && graphile) ours.figures["× graphile-worker"] = (rates.get("scriptorium") ?? 0) / graphile;
    }
  }
  return { question: "Claims of a fleet on one PostgreSQL, one job at a time", rows };
}

const ready = "ready\n";

async function runFleet(
  place: Place,
  system: System,
  { workers, processes, count }: { workers: number; processes: number; count: number },
) {
  const url = await place.postgres();
  if (system === "scriptorium") {
    const db = await openDatabase({ engine: "postgres", url });
    await createJobs(engineOver(db), count);
    await db.close();
  } else await addPeerJobs(system, url, count);
  const children = Array.from({ length: processes }, (_, n) => {
    const share: Share = { system, url, workers: Math.floor((workers + n) / processes) };
    return place.start(process.execPath, [fileURLToPath(import.meta.url), "--share", JSON.stringify(share)]);
  });
  const ends = children.map(succeed);
  await Promise.all(children.map((child) => once(child.stdout as Readable, "data")));
  const began = performance.now();
  for (const child of children) child.stdin?.end("go");
  const said = (await Promise.all(ends)).map(
    (text) => JSON.parse(text.slice(ready.length)) as { done: number; waits: number[]; seconds: number },
  );
  const done = said.reduce((sum, share) => sum + share.done, 0);
  if (done !== count) throw new Error(`${system}: ${done} of ${count} jobs were done`);
  const longest = Math.max(...said.map(({ seconds }) => seconds));
  return {
    done,
    waits: said.flatMap(({ waits }) => waits),
    seconds: Math.min(longest, (performance.now() - began) / 1000),
  };
}

const engineOver = (db: Awaited<ReturnType<typeof openDatabase>>) => {
  let made = 0;
  return taskEngine({
    db,
    strategy: "queue",
    leaseMs: 60_000,
    now: () => new Date(),
    newId: (prefix) => `${prefix}-${process.pid}-${++made}`,
    batchSize: 2,
  });
};

/** A process of the fleet: announces that it is ready, waits for the start, and reports. */
async function takeShare({ system, url, workers }: Share): Promise<void> {
  const begin = async () => {
    process.stdout.write(ready);
    await once(process.stdin, "data");
    return performance.now();
  };
  const result =
    system === "scriptorium"
      ? await work({ engine: "postgres", url }, workers, begin)
      : await peerWorker(system, url, workers, begin);
  process.stdout.write(JSON.stringify(result));
  process.exit(0);
}

async function work(address: DatabaseAddress, workers: number, begin: () => Promise<number>) {
  const db = await openDatabase(address);
  const tasks = engineOver(db);
  const waits: number[] = [];
  let done = 0;
  const began = await begin();
  await Promise.all(
    Array.from({ length: workers }, async (_, n) => {
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
  const seconds = (performance.now() - began) / 1000;
  await db.close();
  return { done, waits, seconds };
}

const share = option("share");
if (share) await takeShare(JSON.parse(share));
else await main();
