import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { App } from "../../src/app.ts";
import { startUpkeep } from "../../src/http/upkeep.ts";
import { unwrap } from "../../src/kernel/result.ts";
import { median, medianOfRounds, percentile, ratioOfRounds, timed } from "../support/measure.ts";
import { type Place, succeed } from "../support/place.ts";
import { atLeast, atMost, type Row, type Table } from "../support/table.ts";
import { numbered, proseWriter } from "../support/text.ts";
import { agent, newWorkspace } from "../support/workspace.ts";

const rounds = 10;
const entryCount = 1000;
const bodyBytes = 4096;
const perRound = 40;
const perGitRound = 4;
const writers = 16;
const perWriter = 12;

type Writer = {
  /** Writes a new text of the n-th entry; resolves once it would survive a power cut. */
  write(n: number): Promise<unknown>;
  perRound: number;
  /** What is still to be done behind the writes must not weigh on whoever is measured next. */
  settle?(): Promise<unknown>;
};

export async function acknowledgedCommits(place: Place): Promise<Table[]> {
  const prose = proseWriter(2);
  const ids = numbered(entryCount, 50);
  const entries = new Map(ids.map((id) => [id, prose(bodyBytes)]));
  const bodies = Array.from({ length: 64 }, () => prose(bodyBytes));
  let serial = 0;
  const body = () => `${++serial}\n${bodies[serial % bodies.length]}`;

  const openStore = async (options: { store: "files" | "database"; database?: string }) => {
    const app = await (await newWorkspace(place, { entries, ...options })).open();
    place.onLeave(() => app.close().catch(() => undefined));
    return app;
  };
  const files = await openStore({ store: "files" });
  const served = await openStore({ store: "files" });
  const upkeep = startUpkeep(served);
  place.onLeave(() => upkeep.stop());
  while ((await served.search.catchUp()) > 0);
  const rows = await openStore({ store: "database" });
  const postgres = await openStore({ store: "database", database: await place.postgres() });

  const stores = {
    "this store, files on SQLite": storeWriter(files, ids, body),
    "the same, while it records to git": { ...storeWriter(served, ids, body), settle: () => recorded(served) },
    "database store on SQLite": storeWriter(rows, ids, body),
    "database store on PostgreSQL": storeWriter(postgres, ids, body),
  };
  const ways: Record<string, Writer> = {
    "plain durable write (the limit)": plainWriter(place.folder("plain"), ids, body),
    "git add && git commit": await gitWriter(place, entries, ids, body),
    ...stores,
  };
  const one = await inTurn(ways, (writer, round) => oneByOne(writer, round));
  const many = await inTurn(stores, (writer, round) => together(writer, round), 5);
  return [oneWriterTable(one), manyWritersTable(many)];
}

function oneWriterTable(found: Map<string, number[][]>): Table {
  const of = (what: string) => found.get(what) ?? [];
  const plain = of("plain durable write (the limit)");
  const ours = of("this store, files on SQLite");
  const rows = [...found].map(
    ([what, times]): Row => ({
      what,
      figures: {
        "P50 ms": medianOfRounds(times),
        "P99 ms": percentile(times.flat(), 0.99),
        "commits/s": 1000 / median(times.map((t) => t.reduce((sum, ms) => sum + ms, 0) / t.length)),
        "× plain": ratioOfRounds(times, plain),
      },
      ...(times === ours ? { target: atMost(2, ratioOfRounds(ours, plain), "× plain at P50") } : {}),
      ...(what.startsWith("git")
        ? { target: atLeast(15, ratioOfRounds(times, ours), "× slower than this store") }
        : {}),
    }),
  );
  return { question: `Acknowledged commits, one writer, ${bodyBytes} bytes among ${entryCount} entries`, rows };
}

function manyWritersTable(found: Map<string, number[][]>): Table {
  const rows = [...found].map(([what, times]) => ({
    what,
    figures: { "commits/s": (writers * perWriter * 1000) / median(times.flat()) },
  }));
  return { question: `The same with ${writers} writers at once in one process`, rows };
}

/** All ways in each round, in an order that turns, so that none always follows the same other. */
async function inTurn(
  ways: Record<string, Writer>,
  measure: (writer: Writer, round: number) => Promise<number[]>,
  count = rounds,
): Promise<Map<string, number[][]>> {
  const found = new Map(Object.keys(ways).map((what): [string, number[][]] => [what, []]));
  const names = Object.keys(ways);
  for (const writer of Object.values(ways)) await measure(writer, count);
  for (let round = 0; round < count; round++) {
    for (let at = 0; at < names.length; at++) {
      const what = names[(at + round) % names.length] as string;
      const writer = ways[what] as Writer;
      found.get(what)?.push(await measure(writer, round));
      await writer.settle?.();
    }
  }
  return found;
}

async function oneByOne(writer: Writer, round: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < writer.perRound; i++) {
    const n = (round * 397 + i * 23) % entryCount;
    times.push(await timed(() => writer.write(n)));
  }
  return times;
}

async function together(writer: Writer, round: number): Promise<number[]> {
  const one = async (w: number) => {
    for (let i = 0; i < perWriter; i++) await writer.write((w * 60 + round * 7 + i) % entryCount);
  };
  return [await timed(() => Promise.all(Array.from({ length: writers }, (_, w) => one(w))))];
}

async function recorded(app: App): Promise<void> {
  const waiting = () => app.db.read.selectFrom("git_queue").select("seq").limit(1).executeTakeFirst();
  while (await waiting()) await sleep(20);
  await sleep(150);
}

/** As an agent would, through the whole contract. */
function storeWriter(app: App, ids: string[], body: () => string): Writer {
  const knowledge = app.knowledge(agent());
  const versions = new Map<string, number>();
  return {
    perRound,
    async write(n) {
      const id = ids[n] as string;
      const done = unwrap(await knowledge.commitEntry(id, body(), versions.get(id) ?? 1));
      versions.set(id, done.version);
    },
  };
}

function plainWriter(folder: string, ids: string[], body: () => string): Writer {
  for (const id of ids) mkdirSync(dirname(join(folder, id)), { recursive: true });
  return {
    perRound,
    async write(n) {
      const path = join(folder, `${ids[n]}.md`);
      const file = openSync(`${path}.tmp`, "w");
      writeSync(file, body());
      fsyncSync(file);
      closeSync(file);
      renameSync(`${path}.tmp`, path);
      const parent = openSync(dirname(path), "r");
      fsyncSync(parent);
      closeSync(parent);
    },
  };
}

async function gitWriter(
  place: Place,
  entries: Map<string, string>,
  ids: string[],
  body: () => string,
): Promise<Writer> {
  const { root } = await newWorkspace(place, { entries });
  return {
    perRound: perGitRound,
    async write(n) {
      const path = join(root, `wiki/${ids[n]}.md`);
      writeFileSync(path, body());
      await succeed(place.start("sh", ["-c", 'git add "$0" && git commit -qm "Write"', path], { cwd: root }));
    },
  };
}
