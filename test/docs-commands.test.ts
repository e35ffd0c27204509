import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { planned } from "./support/crew.ts";
import { crewMind } from "./support/crew-mind.ts";
import { type Block, blocksOf, missingLine, stepsOf } from "./support/doc-blocks.ts";
import { modelServer } from "./support/model-server.ts";
import { temporaryFolder, testEnvironment } from "./support/workspace.ts";

const root = new URL("..", import.meta.url).pathname;
const pages = execFileSync("git", ["-C", root, "ls-files", "README.md", "docs/*.md"], { encoding: "utf8" })
  .split("\n")
  .filter((path) => path.endsWith(".md") && !/^docs\/(decisions|reference)\//.test(path));
const all = pages.flatMap((page) => blocksOf(root, page));
const commands = all.filter(({ language }) => language === "sh" || language === "console");
const setups = all.filter(({ language }) => language === "setup");

test("P5: every block of README and docs says what it is, so that commands cannot hide among examples", () => {
  const known = [
    "setup",
    "sh",
    "console",
    "text",
    "yaml",
    "json",
    "toml",
    "ts",
    "js",
    "markdown",
    "ini",
    "diff",
    "nginx",
  ];
  const unknown = all.filter(({ language }) => !known.includes(language));
  expect(unknown.map(({ page, line, language }) => `${page}:${line} ${language}`)).toEqual([]);
});

for (const page of pages) {
  const blocks = commands.filter((block) => block.page === page);
  const run = blocks.filter(({ notRun }) => notRun === undefined);
  if (run.length === 0) continue;
  test(`P5: the commands of ${page} work as written (${run.length} blocks run, ${blocks.length - run.length} not)`, () =>
    runPage(all.filter((block) => run.includes(block) || (block.page === page && setups.includes(block)))));
}

test("P5: most command blocks are run; the others say why not", () => {
  const skipped = commands.filter(({ notRun }) => notRun !== undefined);
  expect(skipped.filter(({ notRun }) => (notRun ?? "").length < 10)).toEqual([]);
  expect(commands.length - skipped.length).toBeGreaterThan(65);
  expect(skipped.length / commands.length).toBeLessThan(0.25);
});

test("P5: the TypeScript examples compile", () => {
  const examples = all.filter(({ language }) => language === "ts");
  expect(examples.length).toBeGreaterThanOrEqual(3);
  // In the repository, so that the compiler finds its packages.
  const folder = join(root, "node_modules/.cache", `docs-examples-${process.pid}`);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(folder, { recursive: true });
  for (const [index, { text }] of examples.entries()) {
    writeFileSync(join(folder, `${index}.ts`), text.replaceAll('"scriptorium"', '"../../../src/library.ts"'));
  }
  const options = { extends: "../../../tsconfig.json", include: ["*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(options));
  const { status, stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8" });
  expect(stdout).toBe("");
  expect(status).toBe(0);
});

/** Runs the blocks of a page in order, in one new folder with a home of its own. */
async function runPage(blocks: Block[]): Promise<void> {
  const folder = temporaryFolder();
  const env = { ...prepareHome(folder), ...(await modelFor(blocks)) };
  const state = { cwd: join(folder, "work"), seen: "" };
  mkdirSync(state.cwd);
  for (const block of blocks) {
    const steps = stepsOf(block);
    for (const [at, { command, expected }] of steps.entries()) {
      const place = `${block.page}:${block.line}`;
      const filled = fillIds(command, state.seen);
      const exit = at === steps.length - 1 ? block.exit : 0;
      const output = block.keepsRunning
        ? await keepRunning(filled, block.keepsRunning, state.cwd, env)
        : await runOnce(filled, exit, place, state, env, folder);
      state.seen += output;
      expect(missingLine(expected, output), `${place}\n${filled}\n${output}`).toBeUndefined();
    }
  }
}

/** A scripted model for pages that plan and execute; their configuration names it by these variables. */
async function modelFor(blocks: Block[]): Promise<Record<string, string>> {
  if (!blocks.some(({ text }) => text.includes("$MODEL_URL"))) return {};
  const model = await modelServer(crewMind([planned("0"), planned("1.1")]));
  return { MODEL_URL: model.url, FAKE_KEY: "none" };
}

/** `t-…` becomes the newest id that begins with `t-`. */
const fillIds = (command: string, seen: string) =>
  command.replaceAll(/\b([a-z]+)-…/g, (placeholder, prefix: string) => {
    const ids = seen.match(new RegExp(`\\b${prefix}-[0-9a-z]{10,}\\b`, "g"));
    return ids?.at(-1) ?? placeholder;
  });

type State = { cwd: string; seen: string };

async function runOnce(
  command: string,
  exit: number,
  place: string,
  state: State,
  env: Record<string, string>,
  folder: string,
): Promise<string> {
  const left = join(folder, "cwd");
  const child = shell(`set -e -o pipefail\ntrap 'pwd > ${left}' EXIT\n${command}`, state.cwd, env);
  const { output, code } = await ended(child);
  expect(code, `${place}\n${command}\n${output}`).toBe(exit);
  state.cwd = readFileSync(left, "utf8").trim();
  return output;
}

const shell = (script: string, cwd: string, env: Record<string, string>) =>
  spawn("bash", ["-c", script], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });

function ended(child: ChildProcess): Promise<{ output: string; code: number | null }> {
  return new Promise((done, fail) => {
    let output = "";
    const collect = (chunk: Buffer) => {
      output += chunk.toString("utf8");
    };
    child.stdout?.on("data", collect);
    child.stderr?.on("data", collect);
    child.on("error", fail);
    child.on("close", (code) => done({ output, code }));
  });
}

/** Starts a server and waits for the text that it prints when it is ready. */
async function keepRunning(command: string, ready: string, cwd: string, env: Record<string, string>): Promise<string> {
  const child = shell(`exec ${command}`, cwd, env);
  const gone = ended(child);
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await gone;
  });
  let output = "";
  child.stdout?.on("data", (chunk) => {
    output += String(chunk);
  });
  await expect.poll(() => output.includes(ready), { message: command }).toBe(true);
  return output;
}

/** A home with a git identity, and the commands as they ship in PATH. */
function prepareHome(folder: string): Record<string, string> {
  const [home, bin] = [join(folder, "home"), join(folder, "bin")];
  for (const made of [home, bin]) mkdirSync(made);
  writeFileSync(
    join(home, ".gitconfig"),
    "[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n",
  );
  // The package that the commands belong to, for which `connect` looks to see whether they are installed.
  writeFileSync(join(folder, "package.json"), '{ "name": "scriptorium" }');
  // A free port, because pages name the default one and other tests may use it.
  const port = 'case "$1" in serve) set -- "$@" --port 0;; esac';
  const programs = {
    scriptorium: `${port}\nexec "${process.execPath}" "${join(root, "dist/scriptorium.js")}" "$@"`,
    scribe: `exec "${process.execPath}" "${join(root, "dist/scribe.js")}" "$@"`,
    "example-agent": readFileSync(join(root, "test/fixtures/example-agent.sh"), "utf8"),
  };
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const env = testEnvironment();
  return { ...env, HOME: home, PATH: `${bin}${delimiter}${env.PATH}` };
}
