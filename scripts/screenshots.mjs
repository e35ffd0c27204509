// Pictures of the main views, light and dark, into docs/images: node scripts/screenshots.mjs
// It serves the example handbook, and a finished demo run, from temporary folders.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const program = resolve("dist/scriptorium.js");
/** @type {(() => unknown)[]} What is undone at the end, whatever happened. */
const leaving = [];
const folder = await mkdtemp(join(tmpdir(), "scriptorium-pictures-"));
leaving.push(() => rm(folder, { recursive: true, force: true }));
// The name of the person who takes the pictures must not appear in them.
await writeFile(join(folder, ".gitconfig"), "[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n");
// A placeholder: the run that needs a key has a budget too small for its first call.
const environment = {
  ...process.env,
  HOME: folder,
  GIT_CONFIG_GLOBAL: join(folder, ".gitconfig"),
  ANTHROPIC_API_KEY: "none",
  SCRIPTORIUM_TRUSTED_FOLDERS: folder,
};

/**
 * @param {string[]} args
 * @param {string} cwd
 */
function start(args, cwd) {
  return spawn(process.execPath, [program, ...args], { cwd, env: environment });
}

/**
 * @param {string[]} args
 * @param {string} cwd
 * @param {string} [input]
 * @returns {Promise<string>}
 */
function run(args, cwd, input = "") {
  return new Promise((done, fail) => {
    const child = start(args, cwd);
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += chunk;
    });
    child.on("error", fail);
    child.on("close", () => done(said));
    child.stdin.end(input);
  });
}

/**
 * @param {string[]} args
 * @param {string} cwd
 * @returns {Promise<{ url: string, token: string, link: string }>}
 */
function served(args, cwd) {
  return new Promise((done, fail) => {
    const child = start(["serve", "--port", "0", "--json", ...args], cwd);
    // Its folder can be removed once it has ended.
    leaving.push(() => {
      const ended = new Promise((gone) => child.once("close", gone));
      child.kill("SIGTERM");
      return ended;
    });
    child.on("close", (code) => fail(new Error(`serve ended with ${code}`)));
    child.stdout.once("data", (chunk) => done(JSON.parse(String(chunk))));
  });
}

const question =
  "Which views? Name them, so that a new service finds them. I would expect:\n\n- `shipments_current`\n- `deliveries_today`";
const section = {
  ...{ id: "runbooks/settlement", title: "Settlement runbook", mode: "snapshot", writable_by: ["engineer"] },
  description: "What to do when the nightly settlement stops: who is called, what is safe to repeat.",
};
const criterion = { criterion: "the page says it in one paragraph" };
const task = {
  ...{ requirements: "Read what is there, and write what is missing.", files: [], notes: "", max_retries: 2 },
  ...{ worker_role: "an engineer who writes plainly", qc_role: "a reviewer", verification: [criterion] },
  ...{ execution: ["read the pages that are named", "write the text"], deliverable: "text" },
};
const plan = {
  ...{ request: "Tell new engineers how settlement works", title: "Explain settlement to new engineers" },
  ...{ summary: "", assumptions: [], cites: [] },
  tasks: [
    { ...task, number: "0", title: "Check that the pages are there", depends_on: [] },
    { ...task, number: "1.1", title: "Describe the nightly settlement", depends_on: ["0"] },
  ],
};
const crewConfig = `crew: ${JSON.stringify({ agents: { all: { runner: "model", model: "anthropic/claude-opus-4-5" } }, sandbox: "none" })}\n`;

try {
  await takeAll();
} finally {
  for (const leave of leaving.reverse()) await leave();
}

async function takeAll() {
  await mkdir("docs/images", { recursive: true });
  const handbook = await served(["--example"], folder);
  const root = join(folder, ".example");
  const { topic, proposal, planned } = await fillHandbook(root, handbook);
  const demo = await run(["demo", "--no-open", "--keep"], folder);
  const report = /The report: (\S+)\/runs\/(\S+?)\//.exec(demo);
  if (!report?.[1] || !report[2]) throw new Error(`the demo made no report: ${demo}`);
  const crew = await served([], report[1]);
  const browser = await chromium.launch({
    executablePath: process.env.SCRIPTORIUM_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  leaving.push(() => browser.close());
  await take(browser, handbook, [
    ["discussion", `/entries/architecture?topic=${topic}`],
    ["proposal", `/proposals/${proposal}`],
    ["search", "/search?q=webhook"],
    ["graph", "/graph?node=entry:architecture"],
    ["home", "/"],
    ["inbox", "/inbox"],
    ["plan", `/runs/${planned}?tab=plan`],
  ]);
  await take(browser, crew, [
    ["run", `/runs/${report[2]}`],
    ["timeline", `/runs/${report[2]}?tab=timeline`],
    ["task", `/tasks/${await retriedTask(crew, report[2])}`],
  ]);
}

/**
 * A task that was rejected once: its page has two attempts.
 * @param {{ url: string, token: string }} server
 * @param {string} run
 */
async function retriedTask({ url, token }, run) {
  const answer = await fetch(`${url}/api/runs/${run}`, { headers: { authorization: `Bearer ${token}` } });
  const { tasks } = await answer.json();
  return tasks.find((/** @type {{ attempts: number }} */ { attempts }) => attempts > 1)?.id ?? tasks[0].id;
}

/**
 * Something of everything that people meet: a discussion with a rewrite, a new section, a run out of budget.
 * @param {string} root
 * @param {{ url: string, token: string }} server
 */
async function fillHandbook(root, { url, token }) {
  const page = "wiki/architecture.md";
  const words = ["--quote", "read them through views", "--message", question];
  const { id: topic } = JSON.parse(await run(["topic", "open", page, ...words, "--json"], root));
  await run(["topic", "reply", topic, "--message", "There are **two**; [[interfaces/tracking-api]] reads both."], root);

  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  /** @param {string} path @param {object} [body] */
  const ask = async (path, body) => {
    const asked = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
    const answer = await fetch(`${url}/api${path}`, asked);
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    return answer.json();
  };
  await ask("/people", { name: "Grace Hopper", email: "grace@example.org", rank: "collaborator" });
  await ask("/people", { name: "Alan Turing", rank: "reader" });
  const { content, source_sha } = await ask(`/pages/${encodeURIComponent(page)}`);
  const better = content.replace("read them through views", "read them through two views");
  const opened = await run(["proposal", "open", "--topic", topic, "--base", source_sha, "--json"], root, better);
  await ask("/sections", section);
  const { run: stopped } = await ask("/plans", plan);
  await writeFile(join(root, "scriptorium.yaml"), crewConfig, { flag: "a" });
  await run(["execute", stopped, "--budget-tokens", "2000"], root);
  const { run: planned } = await ask("/plans", { ...plan, title: "Explain settlement to support" });
  return { topic, proposal: JSON.parse(opened).id, planned };
}

/**
 * @param {import("playwright-core").Browser} browser
 * @param {{ link: string, token: string }} server
 * @param {[name: string, path: string][]} wanted
 */
async function take(browser, server, wanted) {
  const { origin } = new URL(server.link);
  const link = `${origin}/?token=${server.token}`;
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.goto(link);
    await page.waitForURL((at) => at.search === "");
    for (const [name, path] of wanted) {
      await page.goto(origin + path);
      await page.locator("main h1").first().waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      await page.waitForTimeout(1000);
      await page.screenshot({ path: `docs/images/${name}-${colorScheme}.png` });
    }
    await context.close();
  }
}
