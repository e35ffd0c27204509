// Pictures of the main views, light and dark, into docs/images: node scripts/screenshots.mjs
// It serves the example handbook, and a finished demo run, from temporary folders.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const program = resolve("dist/scriptorium.js");
const folder = await mkdtemp(join(tmpdir(), "scriptorium-pictures-"));
// Whoever takes the pictures is not in them.
await writeFile(join(folder, ".gitconfig"), "[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n");
const environment = { ...process.env, HOME: folder, GIT_CONFIG_GLOBAL: join(folder, ".gitconfig") };

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
 * @returns {Promise<string>}
 */
function run(args, cwd) {
  return new Promise((done) => {
    const child = start(args, cwd);
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += chunk;
    });
    child.on("close", () => done(said));
  });
}

/**
 * @param {string[]} args
 * @param {string} cwd
 * @returns {Promise<{ child: import("node:child_process").ChildProcess, link: string }>}
 */
function served(args, cwd) {
  return new Promise((done) => {
    const child = start(["serve", "--port", "0", "--json", ...args], cwd);
    child.stdout.once("data", (chunk) => done({ child, link: JSON.parse(String(chunk)).link }));
  });
}

await mkdir("docs/images", { recursive: true });
const handbook = await served(["--example"], folder);
const root = join(folder, ".example");
const words = [
  "--quote",
  "read them through views",
  "--message",
  "Which views? Name them, so that a new service finds them. I would expect:\n\n- `shipments_current`\n- `deliveries_today`",
];
const topic = JSON.parse(await run(["topic", "open", "wiki/architecture.md", ...words, "--json"], root)).id;
await run(["topic", "reply", topic, "--message", "There are **two**; [[interfaces/tracking-api]] reads both."], root);
await run(["user", "add", "Grace Hopper", "--email", "grace@example.org", "--role", "collaborator"], root);
await run(["user", "add", "Alan Turing", "--role", "reader"], root);
const demo = await run(["demo", "--no-open"], folder);
const report = /The report: (\S+)\/runs\/(\S+?)\//.exec(demo);

/** @type {[name: string, path: string][]} */
const views = [
  ["catalogue", "/"],
  ["page", "/entries/architecture?side=about"],
  ["discussion", `/entries/architecture?topic=${topic}`],
  ["history", "/entries/architecture?view=history"],
  ["editor", "/entries/vision?view=edit"],
  ["search", "/search?q=webhook"],
  ["inbox", "/inbox"],
  ["graph", "/graph?node=entry:architecture"],
  ["people", "/people"],
  ["source", "/source/2026-10-06-quaywise-incident-chat.txt"],
];
const browser = await chromium.launch({
  executablePath: process.env.SCRIPTORIUM_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});

/**
 * @param {string} link
 * @param {[string, string][]} wanted
 */
async function take(link, wanted) {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.goto(link);
    for (const [name, path] of wanted) {
      await page.goto(new URL(link).origin + path);
      await page.locator("main h1").first().waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      await page.waitForTimeout(1000);
      await page.screenshot({ path: `docs/images/${name}-${colorScheme}.png` });
    }
    await context.close();
  }
}

await take(handbook.link, views);
handbook.child.kill("SIGTERM");
if (report?.[1] && report[2]) {
  const crew = await served([], report[1]);
  await take(crew.link, [
    ["run", `/runs/${report[2]}`],
    ["plan", `/runs/${report[2]}?tab=plan`],
    ["report", `/runs/${report[2]}?tab=report`],
    ["figures", `/runs/${report[2]}?tab=figures`],
  ]);
  crew.child.kill("SIGTERM");
}
await browser.close();
await rm(folder, { recursive: true, force: true });
