/** The web application in Chromium: ten thousand pages, and a run of two thousand tasks. See bench/README.md. */
import { availableParallelism, loadavg } from "node:os";
import { type Browser, chromium, type Page } from "playwright-core";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { median, percentile, seeded, timed } from "./support/measure.ts";
import { command, openPlace, type Place } from "./support/place.ts";
import { atMost, type Row, spell, type Table } from "./support/table.ts";
import { numbered, proseWriter } from "./support/text.ts";
import { newWorkspace, type Workspace } from "./support/workspace.ts";

const pageCount = 10_000;
const taskCount = 2_000;
const ground = {
  ...{ number: "0", title: "Do 0", requirements: "Make it so.", depends_on: [], files: [], notes: "" },
  ...{ worker_role: "an engineer", qc_role: "a reviewer", verification: [{ criterion: "it is made" }] },
  ...{ execution: ["do it"], max_retries: 2, deliverable: "text" as const },
};
const owner = { kind: "person", name: "Ada", rank: "admin" } as const;

/** Each can be chosen by its name: `npm run bench -- web large`. */
const questions = { pages: manyPages, large: largePage, run: manyTasks, load: firstLoad };

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
    const browser = await chromium.launch({
      executablePath: process.env.SCRIPTORIUM_CHROMIUM || "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu"],
    });
    place.onLeave(() => browser.close());
    const chosen = Object.keys(questions).filter((name) => process.argv.includes(name)) as (keyof typeof questions)[];
    for (const name of chosen.length > 0 ? chosen : (Object.keys(questions) as (keyof typeof questions)[])) {
      const table = await questions[name](place, browser);
      say(spell(table));
      tables.push(table);
    }
  } finally {
    await place.leave();
  }
  if (json) console.log(JSON.stringify({ cores: availableParallelism(), load, tables }));
}

async function manyPages(place: Place, browser: Browser): Promise<Table> {
  const prose = proseWriter(7);
  const chance = seeded(8);
  const ids = numbered(pageCount, 100);
  const other = () => ids[Math.floor(chance() * ids.length)] ?? "";
  const text = (id: string) =>
    `# Entry ${id}\n\n${prose(900)}\n\n## Further\n\n- [[${other()}]]\n- [[${other()}]]\n\n${prose(600)}`;
  const workspace = await newWorkspace(place, { entries: new Map(ids.map((id) => [id, text(id)])) });
  await takenIn(workspace);
  const { page, url } = await signedIn(place, browser, workspace);

  const opening = await repeated(5, async () => {
    await page.goto("about:blank");
    return timed(async () => {
      await page.goto(url);
      await page.locator(".tree .row").first().waitFor();
    });
  });
  await page.locator(".tree .row").first().click();
  const rows = await page.locator(".tree .row").count();
  const folding = await repeated(20, (at) => page.evaluate(folded(at)));
  const targets = Array.from({ length: 60 }, other);
  await page.goto(`${url}/entries/${targets[0]}`);
  await page.locator("article .prose").waitFor();
  const fresh = await repeated(30, (at) => page.evaluate(switched(targets[at + 1] ?? "")));
  const known = await repeated(30, (at) => page.evaluate(switched(targets[at + 1] ?? "")));
  const finding = await repeated(10, async (at) => {
    await page.getByRole("button", { name: "Find anything" }).first().click();
    const field = page.getByRole("combobox", { name: "Find anything" });
    await field.waitFor();
    const took = await page.evaluate(found(targets[at] ?? ""));
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    return took;
  });
  await page.goto(`${url}/entries/${targets[0]}?view=edit`);
  await page.locator(".preview .prose").waitFor();
  const typing = await typed(page);
  return {
    question: `${pageCount} pages, in milliseconds as a person waits for them`,
    rows: [
      row("open the application, until the tree stands", opening),
      { ...row("open and close a folder of the tree", folding), target: atMost(100, percentile(folding, 0.95), "ms") },
      { ...row("another page, never seen", fresh), target: atMost(100, median(fresh), "ms") },
      { ...row("another page, seen before", known), target: atMost(100, percentile(known, 0.95), "ms") },
      { ...row("a letter in the palette, until its choices stand", finding) },
      { ...row("a letter typed, until it is painted", typing), target: atMost(50, percentile(typing, 0.95), "ms") },
    ],
    notes: [`${rows} of the tree's rows stand in the document.`],
  };
}

/** Markdown of at least so many bytes, with what pages have: headings, lists, tables, code. */
function longText(prose: (words: number) => string, bytes: number): string {
  const parts = ["# A page\n"];
  const code = "```ts\nexport const answer = (question: string) => question.length * 42;\n```\n";
  const table = "| name | figure |\n|---|---|\n| one | 1 |\n| two | 2 |\n";
  for (let at = 0, size = 0; size < bytes; at++) {
    const part = `## Part ${at}\n\n${prose(220)}\n\n- ${prose(8)}\n- ${prose(8)}\n\n${at % 3 ? code : table}`;
    parts.push(part);
    size += Buffer.byteLength(part);
  }
  return parts.join("\n");
}

/** A small and a large page open in turn: from the address until the text is painted. */
async function largePage(place: Place, browser: Browser): Promise<Table> {
  const prose = proseWriter(9);
  const [small, large] = [longText(prose, 1_000), longText(prose, 200_000)];
  const texts = Array.from({ length: 12 }, (_, at): [string, string][] => [
    [`small${at}`, small.replace("# A page", `# Entry small${at}`)],
    [`large${at}`, large.replace("# A page", `# Entry large${at}`)],
  ]);
  const workspace = await newWorkspace(place, {
    entries: new Map([["home", "# Entry home\n\nHere.\n"], ...texts.flat()]),
  });
  await takenIn(workspace);
  const { page, url } = await signedIn(place, browser, workspace);
  await page.goto(`${url}/entries/home`);
  await page.locator("article .prose").waitFor();
  const took: Record<string, number[]> = { small: [], large: [] };
  for (let at = 0; at < texts.length; at++) {
    for (const size of ["small", "large"]) {
      const ms = Number(await page.evaluate(switched(`${size}${at}`)));
      // The first of each loads what pages need.
      if (at > 0) took[size]?.push(ms);
    }
  }
  const { small: one = [], large: other = [] } = took;
  const times = median(other) / median(one);
  return {
    question: "A page of 200 KB beside one of 2 KB, never seen, in milliseconds",
    rows: [
      row("small page", one),
      { ...row("page of 200 KB, until its beginning stands", other), target: atMost(2, times, "× the small page") },
    ],
    notes: [`The large page has ${Buffer.byteLength(large)} bytes and takes ${times.toFixed(1)} × the small one.`],
  };
}

/** Reads the files in and fills the search index, which the first start of such a base does once. */
async function takenIn({ open }: Workspace): Promise<void> {
  const app = await open();
  unwrap(await operations.list_entries.perform(app, { all: true }, owner));
  while ((await app.search.catchUp()) > 0);
  await app.close();
}

/** What the browser downloads before the start page stands, as the server sends it. */
async function firstLoad(place: Place, browser: Browser): Promise<Table> {
  const workspace = await newWorkspace(place, { entries: new Map([["notes", "# Notes\n"]]) });
  const { url, page } = await signedIn(place, browser, workspace);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Network.setCacheDisabled", { cacheDisabled: true });
  await page.goto(url);
  await page.locator("main h1").first().waitFor();
  const sizes: { kind: string; bytes: number }[] = await page.evaluate(`performance.getEntriesByType("resource")
    .map(({ name, encodedBodySize }) => ({ kind: new URL(name).pathname.split(".").at(-1), bytes: encodedBodySize }))`);
  const sumOf = (kind: string) =>
    sizes.filter((one) => one.kind === kind).reduce((sum, { bytes }) => sum + bytes, 0) / 1000;
  return {
    question: "The first load of the application, in kB as they are sent",
    rows: [
      { what: "JavaScript", figures: { kB: sumOf("js") }, target: atMost(200, sumOf("js"), "kB") },
      { what: "style sheets", figures: { kB: sumOf("css") } },
    ],
  };
}

async function manyTasks(place: Place, browser: Browser): Promise<Table> {
  const workspace = await newWorkspace(place, { entries: new Map([["notes", "# Notes\n"]]) });
  const app = await workspace.open();
  const plan = { request: "Do it", title: "A large run", summary: "", assumptions: [], cites: [], tasks: [ground] };
  const { run } = unwrap(await operations.submit_plan.perform(app, plan, owner));
  await app.close();
  const { page, url } = await signedIn(place, browser, workspace);
  // A plan has at most 500 tasks, so the browser is given a larger run than the server can hold.
  await page.route(`${url}/api/runs/${run}`, async (route) => {
    const answer = await route.fetch();
    const shown = await answer.json();
    const after = (at: number) => (at === 0 ? [] : at <= 40 ? ["0"] : [`1.${at - 40}`, `1.${at - 39}`]);
    const tasks = Array.from({ length: taskCount }, (_, at) => ({
      ...shown.tasks[0],
      ...{ id: `t${at}`, number: at === 0 ? "0" : `1.${at}`, title: `Do ${at}`, depends_on: after(at) },
    }));
    await route.fulfill({ response: answer, json: { ...shown, tasks } });
  });
  const opening = await repeated(5, async () => {
    await page.goto("about:blank");
    return timed(async () => {
      await page.goto(`${url}/runs/${run}`);
      await page.locator(".task-node").first().waitFor();
    });
  });
  const nodes = await page.locator(".task-node").count();
  const panning = await framesWhile(page, async () => {
    await page.mouse.move(900, 500);
    await page.mouse.down();
    for (let step = 1; step <= 60; step++) await page.mouse.move(900 - step * 8, 500 + (step % 7) * 4);
    await page.mouse.up();
  });
  return {
    question: `A run of ${taskCount} tasks, in milliseconds`,
    rows: [
      row("open it, until the first task stands", opening),
      {
        ...row("from frame to frame while it is dragged", panning),
        target: atMost(50, percentile(panning, 0.95), "ms"),
      },
    ],
    notes: [`${nodes} tasks stand in the document.`],
  };
}

const row = (what: string, took: number[]): Row => ({
  what,
  figures: { "P50 ms": median(took), "P95 ms": percentile(took, 0.95), "worst ms": Math.max(...took) },
});

async function repeated(times: number, work: (at: number) => Promise<unknown>): Promise<number[]> {
  const took: number[] = [];
  for (let at = 0; at < times; at++) took.push(Number(await work(at)));
  return took;
}

async function signedIn(place: Place, browser: Browser, { root }: Workspace): Promise<{ page: Page; url: string }> {
  const args = [command("scriptorium"), "serve", "--port", "0", "--json"];
  const child = place.start(process.execPath, args, { cwd: root });
  const line = await new Promise<string>((done, fail) => {
    child.stdout?.once("data", (chunk) => done(String(chunk)));
    child.once("close", (code) => fail(new Error(`serve ended with ${code}`)));
  });
  // Node does not resolve names below localhost, which route.fetch needs.
  const { url, token } = JSON.parse(line);
  const link = `${url}/?token=${token}`;
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(link);
  await page.locator("main h1").first().waitFor();
  return { page, url: new URL(link).origin };
}

// What follows runs in the page: from the wish until the frame in which it is painted.
const painted = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))";
const until = (what: string) => `new Promise((done) => {
  const look = () => (${what} ? done() : requestAnimationFrame(look));
  look();
})`;

const switched = (id: string) => `(async (id) => {
  const began = performance.now();
  history.pushState({}, "", "/entries/" + id);
  dispatchEvent(new PopStateEvent("popstate"));
  await ${until(`document.querySelector("article h1")?.textContent === "Entry " + id && document.querySelector(".prose")`)};
  await ${painted};
  return performance.now() - began;
})(${JSON.stringify(id)})`;

const folded = (at: number) => `(async (at) => {
  const folders = [...document.querySelectorAll(".tree .tree-folder")];
  const folder = folders[at % Math.min(5, folders.length)];
  const wanted = String(folder.getAttribute("aria-expanded") !== "true");
  const began = performance.now();
  folder.click();
  await ${until(`folder.getAttribute("aria-expanded") === wanted || !folder.isConnected`)};
  await ${painted};
  return performance.now() - began;
})(${at})`;

const found = (id: string) => `(async (id) => {
  const field = document.querySelector("[role=combobox]");
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
  const began = performance.now();
  set.call(field, id);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await ${until(`document.querySelector("[role=option]")?.textContent.includes(id)`)};
  await ${painted};
  return performance.now() - began;
})(${JSON.stringify(id)})`;

async function typed(page: Page): Promise<number[]> {
  await page.locator(".cm-content").click();
  await page.evaluate(`window.took = [];
    document.querySelector(".cm-content").addEventListener("keydown", (event) => {
      const began = event.timeStamp;
      requestAnimationFrame(() => setTimeout(() => window.took.push(performance.now() - began)));
    }, true)`);
  await page.keyboard.type("Twelve words are typed here, letter by letter, as fast as anyone would. ", { delay: 40 });
  return page.evaluate("window.took");
}

/** Milliseconds between the frames that were painted meanwhile. */
async function framesWhile(page: Page, work: () => Promise<void>): Promise<number[]> {
  await page.evaluate(`window.frames_ = [];
    (function next(at) { window.frames_.push(at); window.frame_ = requestAnimationFrame(next); })(performance.now())`);
  await work();
  const at: number[] = await page.evaluate("(cancelAnimationFrame(window.frame_), window.frames_)");
  return at.slice(1).map((frame, index) => frame - (at[index] ?? frame));
}

await main();
