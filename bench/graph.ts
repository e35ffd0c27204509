/** The knowledge graph at 100,000 nodes, and beside the MCP reference memory server. See bench/README.md. */
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, loadavg } from "node:os";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { App } from "../src/app.ts";
import { importGraph } from "../src/graph/operations.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { median, percentile, seeded, timed } from "./support/measure.ts";
import { command, openPlace, type Place } from "./support/place.ts";
import { atMost, type Row, spell, type Table } from "./support/table.ts";
import { proseWriter, word } from "./support/text.ts";
import { agent, newWorkspace, role } from "./support/workspace.ts";

const nodeCount = 100_000;
const edgesPerNode = 3;
const rounds = 200;
const sizes = [1_000, 10_000];
const owner = { kind: "person", name: "Ada", rank: "admin" } as const;

/** With --json stdout has one JSON value, and the tables go to stderr. */
async function main(): Promise<void> {
  const json = process.argv.includes("--json");
  const say = json ? console.error : console.log;
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  const load = loadavg()[0] ?? 0;
  const tables: Table[] = [];
  try {
    say(`${availableParallelism()} cores (load ${load.toFixed(1)}), Node ${process.versions.node}\n`);
    for (const question of [largeGraph, ...sizes.map((size) => (at: Place) => besideMemory(at, size))]) {
      const table = await question(place);
      say(spell(table));
      tables.push(table);
    }
  } finally {
    await place.leave();
  }
  if (json) console.log(JSON.stringify({ cores: availableParallelism(), load, tables }));
}

const id = (n: number) => `n${n}`;
const rare = (n: number) => `rare${word(n % (nodeCount / 10))}`;

/** Nodes of about 300 bytes, each with edges to three others that chance picks. */
function* graphLines(count: number): Generator<string> {
  const prose = proseWriter(5);
  const chance = seeded(6);
  for (let n = 0; n < count; n++) {
    const properties = { title: `Node ${n} ${rare(n)}`, body: prose(200), status: n % 4 ? "done" : "open", rank: n };
    yield JSON.stringify({ kind: "node", id: id(n), type: `type${n % 10}`, properties });
  }
  for (let n = 0; n < count; n++) {
    const ends = new Set(Array.from({ length: edgesPerNode }, () => Math.floor(chance() * count)));
    for (const to of ends)
      yield JSON.stringify({ kind: "edge", id: `e${n}.${to}`, type: "r", from: id(n), to: id(to), properties: {} });
  }
}

async function fill(app: App, count: number): Promise<void> {
  let some: string[] = [];
  const bring = async () => {
    unwrap(await importGraph.perform(app, { lines: some.join("\n") }, owner));
    some = [];
  };
  for (const line of graphLines(count)) if (some.push(line) === 20_000) await bring();
  await bring();
  while ((await app.search.catchUp()) > 0);
}

const asked: Record<string, (n: number) => [OperationName, object]> = {
  "search, rare word": (n) => ["memory_search_nodes", { query: rare(n * 37) }],
  "query by type and status": (n) => [
    "memory_query_nodes",
    { type: `type${n % 10}`, where: [{ property: "status", op: "eq", value: "open" }] },
  ],
  "query for one value, no type": (n) => [
    "memory_query_nodes",
    { where: [{ property: "rank", op: "eq", value: n * 41 }] },
  ],
  "get node, all properties": (n) => ["memory_get_node", { id: id(n * 43), fields: ["*"] }],
  neighbours: (n) => ["memory_get_neighbors", { id: id(n * 47) }],
  "subgraph, depth 2": (n) => ["memory_get_subgraph", { id: id(n * 53), depth: 2 }],
  "path between two": (n) => ["memory_find_path", { from: id(n * 59), to: id(n * 61 + 7) }],
  "add node, durable": (n) => ["memory_add_node", { type: "new", properties: { title: `New ${n}` } }],
};

async function largeGraph(place: Place): Promise<Table> {
  const rows: Row[] = [];
  const urls = { SQLite: "sqlite", PostgreSQL: await place.postgres() };
  for (const [engine, database] of Object.entries(urls)) {
    const workspace = await newWorkspace(place, { entries: new Map([["vision", "Text.\n"]]), database });
    const app = await workspace.open();
    place.onLeave(() => app.close().catch(() => undefined));
    const took = await timed(() => fill(app, nodeCount));
    rows.push({ what: `${engine}: import of all`, figures: { "P50 ms": took } });
    for (const [what, call] of Object.entries(asked)) {
      const times: number[] = [];
      const bytes: number[] = [];
      for (let n = 0; n < rounds; n++) {
        const [name, input] = call(n);
        times.push(
          await timed(async () =>
            bytes.push(sizeOf(unwrap<unknown>(await operations[name].perform(app, input, agent())))),
          ),
        );
      }
      const p99 = percentile(times, 0.99);
      rows.push({
        what: `${engine}: ${what}`,
        figures: { "P50 ms": median(times), "P99 ms": p99, "largest answer": Math.max(...bytes) },
        target: atMost(50, p99, "ms"),
      });
    }
  }
  return { question: `A graph of ${nodeCount} nodes and about ${nodeCount * edgesPerNode} edges`, rows };
}

const sizeOf = (answer: unknown) => Buffer.byteLength(JSON.stringify(answer));

type Call = [tool: string, input: Record<string, unknown>];
type Side = { what: string; client: Client; add(n: number): Call; open(n: number): Call; search(n: number): Call };

/** The same questions to two MCP servers over stdio, each with as many nodes. */
async function besideMemory(place: Place, size: number): Promise<Table> {
  const rows: Row[] = [];
  for (const side of [await memorySide(place, size), await ourSide(place, size)]) {
    for (const what of ["add", "open", "search"] as const) {
      const times: number[] = [];
      let largest = 0;
      for (let n = 0; n < 40; n++) {
        const [name, input] = side[what](n);
        times.push(
          await timed(async () => {
            const answer = await side.client.callTool({ name, arguments: input });
            if (answer.isError) throw new Error(`${name}: ${JSON.stringify(answer.content)}`);
            largest = Math.max(largest, sizeOf(answer.content));
          }),
        );
      }
      const figures = { "P50 ms": median(times), "P99 ms": percentile(times, 0.99), "largest answer": largest };
      rows.push({ what: `${side.what}: ${what}`, figures });
    }
    await side.client.close();
  }
  return { question: `MCP servers over stdio, ${size} nodes`, rows };
}

async function memorySide(place: Place, size: number): Promise<Side> {
  const file = join(place.folder("memory"), "memory.jsonl");
  const lines = [...graphLines(size)].map((line) => {
    const record = JSON.parse(line);
    return JSON.stringify(
      record.kind === "node"
        ? {
            type: "entity",
            name: record.id,
            entityType: record.type,
            observations: [record.properties.title, record.properties.body],
          }
        : { type: "relation", from: record.from, to: record.to, relationType: record.type },
    );
  });
  writeFileSync(file, lines.join("\n"));
  const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-memory/package.json");
  return {
    what: "MCP reference memory",
    client: await connect(place, [join(dirname(manifest), "dist/index.js")], { MEMORY_FILE_PATH: file }),
    add: (n) => ["create_entities", { entities: [{ name: `new${n}`, entityType: "new", observations: [`New ${n}`] }] }],
    open: (n) => ["open_nodes", { names: [id(n * 7)] }],
    search: (n) => ["search_nodes", { query: rare(n * 3) }],
  };
}

async function ourSide(place: Place, size: number): Promise<Side> {
  const workspace = await newWorkspace(place, { entries: new Map([["vision", "Text.\n"]]) });
  const app = await workspace.open();
  await fill(app, size);
  await app.close();
  return {
    what: "scriptorium mcp",
    client: await connect(place, [command("scriptorium"), "mcp", "--role", role, "--dir", workspace.root]),
    add: (n) => ["memory_add_node", { id: `new${n}`, type: "new", properties: { title: `New ${n}` } }],
    open: (n) => ["memory_get_node", { id: id(n * 7), fields: ["*"] }],
    search: (n) => ["memory_search_nodes", { query: rare(n * 3) }],
  };
}

async function connect(place: Place, args: string[], env: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: "bench", version: "1" });
  const options = { command: process.execPath, args, env: { ...place.environment, ...env }, stderr: "ignore" as const };
  await client.connect(new StdioClientTransport(options));
  place.onLeave(() => client.close().catch(() => undefined));
  return client;
}

await main();
