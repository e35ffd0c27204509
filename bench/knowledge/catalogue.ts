import type { App } from "../../src/app.ts";
import { unwrap } from "../../src/kernel/result.ts";
import { searchEntries } from "../../src/wiki/operations.ts";
import { watchEntries } from "../../src/wiki/stores/watch.ts";
import { median, percentile, seeded, timed } from "../support/measure.ts";
import { command, type Place, succeed } from "../support/place.ts";
import { atMost, type Row, type Table } from "../support/table.ts";
import { numbered, proseWriter, word } from "../support/text.ts";
import { agent, newWorkspace, type Workspace } from "../support/workspace.ts";
import { startChild } from "./child.ts";

const entryCount = 10_000;
const starts = 5;
const lists = 30;
const searches = 40;

/** A large book: ten thousand entries of two kilobytes. */
export async function largeCatalogue(place: Place): Promise<Table[]> {
  const prose = proseWriter(3);
  const chance = seeded(4);
  const ids = numbered(entryCount, 100);
  const entries = new Map(ids.map((id) => [id, prose(1950) + sprinkle(chance)]));

  const workspace = await newWorkspace(place, { entries });
  const rebuild = await timed(async () => (await workspace.open()).close());
  const fresh = await startUp(place, workspace);
  const app = await workspace.open();
  place.onLeave(() => app.close().catch(() => undefined));
  const index = await timed(() => catchUp(app));
  let watching: { stop(): Promise<void> } | undefined;
  const watch = await timed(async () => {
    watching = await watchEntries(app);
  });
  const listed: number[] = [];
  for (let i = 0; i < lists; i++) listed.push(await timed(() => app.entries.list()));

  const database = await place.postgres();
  const postgres = await (await newWorkspace(place, { entries, store: "database", database })).open();
  place.onLeave(() => postgres.close().catch(() => undefined));
  await catchUp(postgres);
  const found = await searchTable({ SQLite: app, PostgreSQL: postgres });
  await watching?.stop();

  const rows: Row[] = [
    { what: "first open of a clone (index rebuilt from git)", figures: { "median ms": rebuild } },
    { what: "full text of all entries, once", figures: { "median ms": index } },
    ...fresh,
    { what: "watching all files, until ready", figures: { "median ms": watch } },
    {
      what: "entries.list() while serving",
      figures: { "median ms": median(listed), "P99 ms": percentile(listed, 0.99) },
      target: atMost(50, median(listed), "ms"),
    },
  ];
  return [{ question: `Catalogue of ${entryCount} entries`, rows }, found];
}

async function startUp(place: Place, { root }: Workspace): Promise<Row[]> {
  const opens: number[] = [];
  const wholes: number[] = [];
  const lists: number[] = [];
  for (let i = 0; i < starts; i++) {
    wholes.push(
      await timed(async () => {
        opens.push((await startChild(place, "open", { root }).result<{ ms: number }>()).ms);
      }),
    );
    const list = [command("scriptorium"), "entry", "list"];
    lists.push(await timed(() => succeed(place.start(process.execPath, list, { cwd: root }))));
  }
  const row = (what: string, times: number[]): Row => ({
    what,
    figures: { "median ms": median(times), "P99 ms": Math.max(...times) },
    target: atMost(1000, median(times), "ms"),
  });
  return [
    row("openApp and its schema, in a fresh process", opens),
    row("the whole of that process", wholes),
    row("scriptorium entry list, whole process", lists),
  ];
}

async function catchUp(app: App): Promise<void> {
  // Read once before many need it: a large schema takes a second to parse, and whoever comes meanwhile parses it too.
  unwrap(await app.schema());
  while ((await app.search.catchUp()) > 0);
}

const rareWords = 500;
const mediumWords = 20;
const commonWords = 4;
const rare = (n: number) => `rare${word(n)}`;
const medium = (n: number) => `medium${word(n)}`;
const common = (n: number) => `common${word(n)}`;

/** Words of known frequency: each rare one in about 5 entries, medium in 500, common in 4,000. */
function sprinkle(chance: () => number): string {
  const pick = (count: number) => Math.floor(chance() * count);
  const found = Array.from({ length: commonWords }, (_, n) => (chance() < 0.4 ? common(n) : ""));
  return `${found.filter(Boolean).join(" ")} ${medium(pick(mediumWords))} ${chance() < 0.25 ? rare(pick(rareWords)) : ""}\n`;
}

const kinds: Record<string, (n: number) => string> = {
  "rare word": (n) => rare(n % rareWords),
  "medium word": (n) => medium(n % mediumWords),
  "two words": (n) => `${medium(n % mediumWords)} ${rare(n % rareWords)}`,
  "common word": (n) => common(n % commonWords),
};

/** Both engines in turn, the index by itself and as an agent asks it. */
async function searchTable(apps: Record<string, App>): Promise<Table> {
  const ways = Object.entries(apps).flatMap(([engine, app]) => [
    {
      what: `${engine}, the index`,
      ask: async (query: string) =>
        (await app.search.find.pages(query, { scope: { kinds: ["entry"] }, limit: 8 })).hits,
    },
    {
      what: `${engine}, search_entries while serving`,
      ask: async (query: string) => unwrap(await searchEntries.perform(app, { query }, agent())).results,
    },
  ]);
  const rows: Row[] = [];
  for (const [kind, query] of Object.entries(kinds)) {
    const times = ways.map((): number[] => []);
    for (let n = 0; n < searches; n++) {
      for (const [index, { ask, what }] of ways.entries()) {
        const began = performance.now();
        const hits = await ask(query(n));
        times[index]?.push(performance.now() - began);
        if (hits.length === 0) throw new Error(`${what} does not find ${query(n)}`);
      }
    }
    for (const [index, { what }] of ways.entries()) {
      const found = times[index] ?? [];
      const [p50, p99] = [percentile(found, 0.5), percentile(found, 0.99)];
      rows.push({
        what: `${kind}: ${what}`,
        figures: { "P50 ms": p50, "P99 ms": p99 },
        target: atMost(20, p99, "ms at P99"),
      });
    }
  }
  return { question: `Search over ${entryCount} entries of 2 KB`, rows };
}
