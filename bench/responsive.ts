/** How long one request delays all others: the delay of the server's event loop during large work. See bench/README.md. */
import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { unwrap } from "../src/kernel/result.ts";
import { anchorAt } from "../src/review/topics/anchor.ts";
import { type Answer, type MeasuredServer, serveMeasured } from "./responsive/measured-server.ts";
import { openPlace, type Place } from "./support/place.ts";
import { type Row, spell, type Table } from "./support/table.ts";
import { numbered, proseWriter } from "./support/text.ts";
import { newWorkspace, type Workspace } from "./support/workspace.ts";

const page = "docs/page.md";
const entry = "notes";
/** A text may have a million characters. */
const large = 980_000;

const questions = { rewrite, page: largePage, topics: manyTopics, entries: manyEntries, lines, entry: largeEntry };

/** With --json stdout has one JSON value, and the tables go to stderr. */
async function main(): Promise<void> {
  const json = process.argv.includes("--json");
  const say = json ? console.error : console.log;
  const wanted = process.argv.slice(2).filter((word) => !word.startsWith("-"));
  const unknown = wanted.filter((name) => !(name in questions));
  if (unknown.length > 0) {
    console.error(`no question ${unknown.join(", ")}; there are: ${Object.keys(questions).join(", ")}`);
    process.exitCode = 2;
    return;
  }
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  const load = loadavg()[0] ?? 0;
  const tables: Table[] = [];
  try {
    say(`${availableParallelism()} cores (load ${load.toFixed(1)}), Node ${process.versions.node}\n`);
    for (const [name, question] of Object.entries(questions)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      const table = await question(place);
      say(spell(table));
      tables.push(table);
    }
  } finally {
    await place.leave();
  }
  const targets = tables.flatMap(({ rows }) => rows.flatMap(({ target }) => target ?? []));
  say(`${targets.filter(({ met }) => met).length} of ${targets.length} targets met`);
  if (json) console.log(JSON.stringify({ cores: availableParallelism(), load, tables }));
}

type Step = [what: string, work: () => Promise<unknown>];

/** Measures the steps one after the other, after an idle server. */
async function measured(
  place: Place,
  workspace: Workspace,
  question: string,
  steps: (server: MeasuredServer) => Step[],
): Promise<Table> {
  const server = await serveMeasured(place, workspace);
  const rows: Row[] = [];
  try {
    // Until the start is over: watchers, the first index, the renderer.
    await pause(3_000);
    rows.push(await server.measure("idle", () => pause(2_000), { isBaseline: true }));
    for (const [what, work] of steps(server)) rows.push(await server.measure(what, work));
  } finally {
    await server.stop();
  }
  return { question, rows };
}

async function rewrite(place: Place): Promise<Table> {
  const [old, fresh] = [chapters(1, 23_000), chapters(2, 8_000)];
  const workspace = await newWorkspace(place, { entries: new Map([[entry, "# Notes\n"]]), pages: { [page]: old } });
  await openTopics(workspace, 20);
  const file = join(workspace.root, page);
  return measured(place, workspace, "20 topics on a page of 23 kB", (server) => [
    ["the page is rewritten to 8 kB in an editor", () => edited(server, file, fresh)],
    ["a line is added, 20 orphans", () => edited(server, file, `${fresh}\nOne more line.\n`)],
    ["the old text comes back", () => edited(server, file, old)],
    [
      "a proposal with the 8 kB",
      async () => {
        const id = await propose(server, fresh);
        await expectOk(server.call("GET", `/api/proposals/${id}`));
      },
    ],
  ]);
}

async function largePage(place: Place): Promise<Table> {
  const text = chapters(3, large);
  const workspace = await newWorkspace(place, { entries: new Map([[entry, "# Notes\n"]]), pages: { [page]: text } });
  await openTopics(workspace, 20);
  const file = join(workspace.root, page);
  const proposed = changedWords(text, 40);
  const present = text.replace("# Chapter 1\n", "# Chapter 1\n\nA line that somebody added.\n");
  let proposal = "";
  return measured(place, workspace, "A page of 1 MB with 20 topics", (server) => [
    ["read it", () => expectOk(server.call("GET", `/api/pages/${encodeURIComponent(page)}`))],
    ["open it in the browser", () => server.call("GET", `/api/rendered/page?path=${encodeURIComponent(page)}`)],
    [
      "propose a change",
      async () => {
        proposal = await propose(server, proposed);
      },
    ],
    ["show the proposal", () => expectOk(server.call("GET", `/api/proposals/${proposal}`))],
    [
      "compare it in the browser",
      () => server.call("POST", "/api/rendered/comparison", { before: text, after: proposed }),
    ],
    [
      "edit the page and commit it to git",
      async () => {
        await edited(server, file, present);
        await workspace.git("commit", "-qam", "Add a line");
      },
    ],
    ["show the merged proposal", () => expectOk(server.call("GET", `/api/proposals/${proposal}`))],
    [
      "approve the merged text",
      () => expectOk(server.call("POST", `/api/proposals/${proposal}/approve`, { merge: true })),
    ],
  ]);
}

async function manyTopics(place: Place): Promise<Table> {
  const text = chapters(4, 600_000);
  const workspace = await newWorkspace(place, { entries: new Map([[entry, "# Notes\n"]]), pages: { [page]: text } });
  await openTopics(workspace, 5_000);
  const file = join(workspace.root, page);
  let proposal = "";
  return measured(place, workspace, "5,000 topics on a page of 600 kB", (server) => [
    ["list 100 of them", () => expectOk(server.call("GET", `/api/topics?limit=100&source_path=${page}`))],
    ["edit 40 words of the page", () => edited(server, file, changedWords(text, 40))],
    ["the same edit again, then undone", () => edited(server, file, text)],
    [
      "propose a change of 40 words",
      async () => {
        proposal = await propose(server, changedWords(text, 40));
      },
    ],
    ["show the proposal", () => expectOk(server.call("GET", `/api/proposals/${proposal}`))],
  ]);
}

async function manyEntries(place: Place): Promise<Table> {
  const prose = proseWriter(5);
  const entries = new Map(numbered(10_000, 100).map((id) => [id, `# ${id}\n\n${prose(1_500)}`]));
  const workspace = await newWorkspace(place, { entries });
  const server = await serveMeasured(place, workspace);
  const first = await server.measure("the 20 s after the first start, while all is indexed", () => pause(20_000));
  await server.stop();
  const table = await measured(place, workspace, "10,000 entries", (again) => [
    ["list them all", () => expectOk(again.call("GET", "/api/entries?all=true"))],
    ["list all pages", () => expectOk(again.call("GET", "/api/pages"))],
    ["search", () => expectOk(again.call("GET", "/api/search?query=baba"))],
    ["commit one", () => expectOk(again.call("PUT", "/api/entries/f000%2Fe000", { content: "# New\n", version: 1 }))],
  ]);
  return { ...table, rows: [first, ...table.rows] };
}

async function lines(place: Place): Promise<Table> {
  const characters = "abcdefghijklmnopqrstuvwxyz";
  const single = (shift: number) =>
    Array.from({ length: large / 2 }, (_, n) => characters[(n * n + shift * n) % 26]).join("\n");
  const many = (word: string) => Array.from({ length: 20_000 }, (_, n) => `${word} ${n} of the many lines.\n`).join("");
  const other = "docs/other.md";
  const workspace = await newWorkspace(place, {
    entries: new Map([[entry, "# Notes\n"]]),
    pages: { [page]: single(1), [other]: many("Line") },
  });
  const ids: string[] = [];
  const proposed = async (server: MeasuredServer, path: string, text: string) => {
    ids.unshift(await propose(server, text, path));
  };
  const shown = (server: MeasuredServer) => expectOk(server.call("GET", `/api/proposals/${ids[0]}`));
  const approved = (server: MeasuredServer) => expectOk(server.call("POST", `/api/proposals/${ids[0]}/approve`, {}));
  return measured(place, workspace, "Proposals that change everything", (server) => [
    ["propose 490,000 lines of one character", () => proposed(server, page, single(3))],
    ["show that proposal", () => shown(server)],
    ["approve it", () => approved(server)],
    ["propose 20,000 changed lines", () => proposed(server, other, many("Row"))],
    ["show that proposal", () => shown(server)],
    ["approve it", () => approved(server)],
  ]);
}

async function largeEntry(place: Place): Promise<Table> {
  const text = chapters(6, large);
  const workspace = await newWorkspace(place, { entries: new Map([[entry, text]]) });
  const commit = (server: MeasuredServer, content: string, version: number) =>
    server.call("PUT", `/api/entries/${entry}`, { content, version });
  const reworded = text.replaceAll(/ (\w+)\n/g, " $1 $1\n");
  const mine = text.replace("# Chapter 1\n", "# Chapter 1\n\nA line of mine.\n");
  return measured(place, workspace, "An entry of 1 MB", (server) => [
    ["commit it with 40 changed words", () => expectOk(commit(server, changedWords(text, 40), 1))],
    ["commit it with every line changed", () => expectOk(commit(server, reworded, 2))],
    ["commit the first text again", () => expectOk(commit(server, changedWords(text, 30), 3))],
    ["history with diffs", () => expectOk(server.call("GET", `/api/entries/${entry}/history?diff=true`))],
    ["blame", () => expectOk(server.call("GET", `/api/entries/${entry}/blame`))],
    ["a stale commit, merged", () => expectStatus(409, commit(server, mine, 1))],
    ["open it in the browser", () => server.call("GET", `/api/rendered/page?path=wiki%2F${entry}.md`)],
  ]);
}

/** Prose with a heading every two kilobytes. */
function chapters(seed: number, bytes: number): string {
  const prose = proseWriter(seed);
  const parts = Array.from({ length: Math.floor(bytes / 2_000) }, (_, n) => `# Chapter ${n}\n\n${prose(1_900)}`);
  return parts.join("\n");
}

function changedWords(text: string, count: number): string {
  const step = Math.floor(text.length / count);
  const parts = Array.from({ length: count }, (_, n) =>
    text.slice(n * step, n === count - 1 ? undefined : (n + 1) * step),
  );
  return parts.map((part) => part.replace(/ (\w+) /, " reworded ")).join("");
}

/** Topics on passages of 60 characters, evenly distributed. */
async function openTopics({ open }: Workspace, count: number): Promise<void> {
  const app = await open();
  const read = unwrap(await app.pages.read(page));
  const step = Math.floor((read.text.length - 100) / count);
  for (let n = 0; n < count; n++) {
    const anchor = anchorAt(read.text, n * step, n * step + 60, read.blob);
    await app.topics.open({ page: read, kind: "change", text: "Is this so?", anchor }, { name: "Ada", kind: "person" });
  }
  await app.close();
}

/** Writes the file and waits until the topics have seen it. */
async function edited(server: MeasuredServer, file: string, text: string): Promise<void> {
  writeFileSync(file, text);
  await pause(1_500);
  await expectOk(server.call("GET", `/api/topics?limit=100&source_path=${page}`));
}

/** Opens a topic about the page and answers it. */
async function propose(server: MeasuredServer, text: string, path = page): Promise<string> {
  const topic = await expectOk(server.call("POST", "/api/topics", { source_path: path, content: "Change it." }));
  const { id, source_sha } = topic.body;
  const made = await expectOk(
    server.call("POST", "/api/proposals", { topic_id: id, base_sha: source_sha, content: text }),
  );
  return String(made.body.id);
}

const expectOk = (answer: Promise<Answer>) => expectStatus(200, answer);

async function expectStatus(wanted: number, answer: Promise<Answer>): Promise<Answer> {
  const { status, body } = await answer;
  if (status !== wanted) throw new Error(`the server answered ${status}: ${JSON.stringify(body).slice(0, 300)}`);
  return { status, body };
}

await main();
