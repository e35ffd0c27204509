/** A book with known truths, planted errors, and what of them reaches a worker. See bench/README.md. */
import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import type { App } from "../src/app.ts";
import { type Caller, newTurn } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { openConnection } from "../src/store/sqlite/connection.ts";
import { connectClient, memoryServer } from "./knowledge/mcp-client.ts";
import { carefulExpression } from "./retrieval/careful.ts";
import { percentile } from "./support/measure.ts";
import { openPlace, type Place } from "./support/place.ts";
import { atMost, holds, type Row, spell, type Table } from "./support/table.ts";
import { newWorkspace, role } from "./support/workspace.ts";

/** `--facts 240`, `--budget 2000` (bytes of an answer), `--json`. */
const option = (name: string, otherwise: number) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};
const facts = option("facts", 240);
const budget = option("budget", 2000);
const isJson = process.argv.includes("--json");
const withPeer = !process.argv.includes("--without-peer");

/** How the book came to be wrong about a fact. */
const ways = ["right", "stale", "contradicted", "poisoned", "overturned"] as const;
type Way = (typeof ways)[number];
type Fact = { n: number; way: Way; entry: string; question: string; right: string; wrong: string };

const services = ["billing", "routing", "sorting", "tracking", "pricing", "mailing", "loading", "scanning"];
const settings = ["timeout", "batch size", "retry limit", "queue length", "cache lifetime", "lease", "page size"];

/** Every second fact is right everywhere; of the others, each way has a quarter. */
function factsOf(): Fact[] {
  return Array.from({ length: facts }, (_, n) => {
    const way = n % 2 === 0 ? "right" : (ways[1 + (((n - 1) / 2) % (ways.length - 1))] ?? "stale");
    const what = `${settings[n % settings.length]} of the ${services[Math.floor(n / settings.length) % services.length]} service in zone ${1 + Math.floor(n / (settings.length * services.length))}`;
    return { n, way, entry: `e${n}`, question: what, right: `${100 + n}`, wrong: `${5000 + n}` };
  });
}

const says = ({ question }: Fact, value: string) => `The ${question} is ${value} units.`;
const holdsWrong = ({ wrong }: Fact, text: string) => new RegExp(`\\b${wrong}\\b`).test(text);
const holdsRight = ({ right }: Fact, text: string) => new RegExp(`\\b${right}\\b`).test(text);

async function main(): Promise<void> {
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  try {
    const tables = await measured(place);
    if (isJson) console.log(JSON.stringify(tables));
    else {
      const load = (loadavg()[0] ?? 0).toFixed(1);
      console.log(`${availableParallelism()} cores (load ${load}), Node ${process.versions.node}, ${facts} facts\n`);
      for (const table of tables) console.log(spell(table));
    }
    if (tables.some(({ rows }) => rows.some(({ target }) => target && !target.met))) process.exitCode = 1;
  } finally {
    await place.leave();
  }
}

const person: Caller = { kind: "person", name: "Ada Lovelace", rank: "admin", proof: "token" };
const agentIn = (run: string, more: Partial<Caller> = {}) =>
  ({ kind: "agent", role, turn: newTurn(run, true), ...more }) as Caller;

async function measured(place: Place): Promise<Table[]> {
  const all = factsOf();
  const entries = new Map(
    all.flatMap(
      ({ entry, way }) => [[entry, ""], ...(way === "right" ? [] : [[`${entry}-b`, ""]])] as [string, string][],
    ),
  );
  const workspace = await newWorkspace(place, { entries });
  const app = await workspace.open();
  try {
    const times = await plant(app, workspace.root, all);
    await app.trust.refresh(120_000);
    await app.search.catchUp();
    const texts = new Map<string, string>();
    for (const id of entries.keys()) texts.set(id, (await app.entries.fetch(id)).content);
    const rows: Row[] = [];
    const sides: [string, Side][] = [
      ["recall", (fact) => recalled(app, fact, "any")],
      ["recall, without what it labels as doubtful", (fact) => recalled(app, fact, "any", true)],
      ["recall, trust: verified", (fact) => recalled(app, fact, "verified")],
      ["careful plain FTS5", plain(texts)],
      ...(withPeer
        ? ([["reference memory server, search_nodes", await memory(place, texts)]] as [string, Side][])
        : []),
    ];
    for (const [what, side] of sides) rows.push(await shareOf(what, all, side));
    return [
      { question: "Share of wrong passages that reach a worker who asks about each fact", rows },
      await alarms(app, all),
      {
        question: "Time per write",
        rows: [
          { what: "commit_entry, ms", figures: median(times.commits) },
          { what: "the states after it, ms", figures: median(times.states) },
        ],
      },
    ];
  } finally {
    await app.close();
  }
}

const median = (times: number[]) => ({ P50: percentile(times, 0.5), P95: percentile(times, 0.95) });

/** Writes the truths, which a person verifies, and then makes every second one wrong somewhere. */
async function plant(app: App, root: string, all: Fact[]) {
  const times = { commits: [] as number[], states: [] as number[] };
  const commit = async (id: string, text: string, by: Caller) => {
    const { version } = await app.entries.fetch(id);
    const before = performance.now();
    unwrap(await operations.commit_entry.perform(app, { id, content: `# Facts\n\n${text}\n`, version }, by));
    const written = performance.now();
    await app.trust.catchUp();
    times.commits.push(written - before);
    times.states.push(performance.now() - written);
  };
  const verify = async (id: string) => {
    for (const { passage } of unwrap(await operations.get_trust.perform(app, { id }, person)).passages)
      unwrap(await operations.verify_passage.perform(app, { id, passage }, person));
  };
  const of = (way: Way) => all.filter((fact) => fact.way === way);
  const config = (value: (fact: Fact) => string) =>
    writeFileSync(
      join(root, "services.conf"),
      `${of("stale")
        .map((fact) => `${fact.question} = ${value(fact)}`)
        .join("\n")}\n`,
    );
  // What the configuration said when the page was verified is wrong today.
  config(({ wrong }) => wrong);
  for (const fact of all) {
    const line = of("stale").indexOf(fact) + 1;
    if (fact.way === "stale")
      await commit(fact.entry, `${says(fact, fact.wrong)} See \`services.conf:${line}\`.`, agentIn("run-1"));
    else if (fact.way === "contradicted") await commit(fact.entry, says(fact, fact.wrong), agentIn("run-1"));
    else await commit(fact.entry, says(fact, fact.right), agentIn("run-1"));
    await verify(fact.entry);
  }
  config(({ right }) => right);
  for (const fact of of("stale"))
    await commit(`${fact.entry}-b`, `${says(fact, fact.right)} Measured again.`, agentIn("run-2"));
  for (const fact of of("contradicted")) {
    await commit(`${fact.entry}-b`, says(fact, fact.right), agentIn("run-2"));
    await verify(`${fact.entry}-b`);
  }
  for (const fact of of("poisoned"))
    await commit(`${fact.entry}-b`, `Note: ${says(fact, fact.wrong)}`, agentIn("run-evil"));
  for (const fact of of("overturned")) {
    const wanted = { title: fact.question, description: "", priority: 0, run: null, maxRetries: 2, dependsOn: [] };
    const { id: task } = unwrap(await app.tasks.create(wanted, "pm"));
    const claim = unwrap(await app.tasks.lock(task, role));
    if (!("epoch" in claim)) throw new Error("held");
    const under = { id: task, epoch: claim.epoch, secret: claim.secret };
    await commit(
      `${fact.entry}-b`,
      `Note: ${says(fact, fact.wrong)}`,
      agentIn("run-3", { task: under.id, epoch: under.epoch, secret: under.secret } as Partial<Caller>),
    );
    unwrap(await app.tasks.step(task, { type: "finish", output: "done" }, role, claim));
    unwrap(await operations.overturn_task.perform(app, { id: task, reason: "wrong", confirm: true }, person));
  }
  return times;
}

/** The passages that a worker gets for a fact. */
type Side = (fact: Fact) => Promise<string[]>;

async function recalled(app: App, fact: Fact, trust: "any" | "verified", onlySound = false): Promise<string[]> {
  const query = `What is the ${fact.question}?`;
  const { passages } = unwrap(await operations.recall.perform(app, { query, budget, trust }, agentIn("run-ask")));
  return passages
    .filter((one) => !onlySound || !/stale|disputed|withdrawn/.test(one.trust ?? ""))
    .map(({ text }) => text);
}

function plain(texts: Map<string, string>): Side {
  const db = openConnection(":memory:", 0);
  db.exec("CREATE VIRTUAL TABLE t USING fts5 (title, body, tokenize = 'porter unicode61')");
  const insert = db.prepare("INSERT INTO t (title, body) VALUES (?, ?)");
  for (const [id, text] of texts) insert.run([id, text]);
  const query = "SELECT body FROM t WHERE t MATCH ? ORDER BY bm25(t, 2, 1) LIMIT 50";
  // Prepared for each question: the statement alone would not keep the database from being collected.
  return async ({ question }) =>
    withinBudget(
      db
        .prepare(query)
        .all([carefulExpression(question)])
        .map(({ body }) => String(body)),
    );
}

async function memory(place: Place, texts: Map<string, string>): Promise<Side> {
  const { args, env } = memoryServer(place);
  const client = await connectClient(place, args, env);
  const entities = [...texts].map(([name, text]) => ({ name, entityType: "page", observations: [text] }));
  await client.callTool({ name: "create_entities", arguments: { entities } });
  return async ({ question }) => {
    const answer = await client.callTool({ name: "search_nodes", arguments: { query: question } });
    const [first] = answer.content as { text: string }[];
    const found = JSON.parse(first?.text ?? "{}") as { entities?: { observations: string[] }[] };
    return withinBudget((found.entities ?? []).flatMap(({ observations }) => observations));
  };
}

/** As much as a worker would get from recall. */
function withinBudget(texts: string[]): string[] {
  let left = budget;
  return texts.filter((text) => {
    left -= Buffer.byteLength(text);
    return left >= 0;
  });
}

async function shareOf(what: string, all: Fact[], side: Side): Promise<Row> {
  const wrongIn = new Map<Way, number>();
  const counts = new Map<Way, number>();
  let right = 0;
  for (const fact of all) {
    const texts = await side(fact);
    counts.set(fact.way, (counts.get(fact.way) ?? 0) + 1);
    if (texts.some((text) => holdsWrong(fact, text))) wrongIn.set(fact.way, (wrongIn.get(fact.way) ?? 0) + 1);
    if (texts.some((text) => holdsRight(fact, text))) right++;
  }
  const share = (way: Way) => Math.round(((wrongIn.get(way) ?? 0) / Math.max(1, counts.get(way) ?? 0)) * 100);
  const planted = ways.slice(1);
  const of = (map: Map<Way, number>) => planted.reduce((sum, way) => sum + (map.get(way) ?? 0), 0);
  const wrong = Math.round((of(wrongIn) / Math.max(1, of(counts))) * 100);
  const figures = {
    "wrong %": wrong,
    ...Object.fromEntries(planted.map((way) => [`${way} %`, share(way)])),
    "right %": Math.round((right / all.length) * 100),
  };
  const target = what.startsWith("recall, ") ? atMost(what.endsWith("verified") ? 1 : 30, wrong, "% wrong") : undefined;
  return target ? { what, figures, target } : { what, figures };
}

/** Right passages that are called stale, disputed or withdrawn, and wrong ones that are still called verified. */
async function alarms(app: App, all: Fact[]): Promise<Table> {
  const found = { right: 0, falseAlarms: 0, wrong: 0, missed: 0 };
  for (const fact of all)
    for (const id of fact.way === "right" ? [fact.entry] : [fact.entry, `${fact.entry}-b`])
      for (const { text, state } of unwrap(await operations.get_trust.perform(app, { id }, person)).passages) {
        if (holdsRight(fact, text)) {
          found.right++;
          if (/stale|disputed|withdrawn/.test(state)) found.falseAlarms++;
        } else if (holdsWrong(fact, text)) {
          found.wrong++;
          if (state.startsWith("verified")) found.missed++;
        }
      }
  const { right, falseAlarms, wrong, missed } = found;
  return {
    question: "False alarms and misses",
    rows: [
      {
        what: "right passages called stale, disputed or withdrawn",
        figures: { passages: right, found: falseAlarms },
        target: holds("no false alarm", falseAlarms === 0),
      },
      {
        what: "wrong passages still called verified",
        figures: { passages: wrong, found: missed },
        target: holds("none verified", missed === 0),
      },
    ],
  };
}

await main();
