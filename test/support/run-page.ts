import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { planned } from "./crew.ts";
import { crewMind } from "./crew-mind.ts";
import { type Block, missingLine, stepsOf } from "./doc-blocks.ts";
import { startModelServer } from "./model-wire.ts";
import { orphaned } from "./orphan.ts";
import { testEnvironment } from "./workspace.ts";

const root = new URL("../..", import.meta.url).pathname;

/** The page's folder, the environment of its commands, where they run, what they printed, and what to stop. */
type Stage = {
  folder: string;
  env: Record<string, string>;
  cwd: string;
  seen: string;
  stop: (() => unknown)[];
};

/** Runs the blocks of a page in order, in a new folder with a home of its own. Throws at the first that fails. */
export async function runPage(blocks: Block[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "scriptorium-docs-"));
  const stage: Stage = { folder, env: prepareHome(folder), cwd: join(folder, "work"), seen: "", stop: [] };
  mkdirSync(stage.cwd);
  try {
    await offerModel(blocks, stage);
    for (const block of blocks) await runBlock(block, stage);
  } finally {
    for (const stop of stage.stop) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runBlock(block: Block, stage: Stage): Promise<void> {
  const steps = stepsOf(block);
  for (const [at, { command, expected }] of steps.entries()) {
    const filled = fillIds(command, stage.seen);
    const exit = at === steps.length - 1 ? block.exit : 0;
    const { output, code } = block.keepsRunning
      ? await keepRunning(filled, block.keepsRunning, stage)
      : await runOnce(filled, stage);
    stage.seen += output;
    const where = `${block.page}:${block.line}\n$ ${filled}\n${output}`;
    if (code !== exit) throw new Error(`exit code ${code}, expected ${exit}: ${where}`);
    const missing = missingLine(expected, output);
    if (missing !== undefined) throw new Error(`the output lacks "${missing}": ${where}`);
  }
}

/** `t-…` becomes the newest id that begins with `t-`. */
const fillIds = (command: string, seen: string) =>
  command.replaceAll(/\b([a-z]+)-…/g, (placeholder, prefix: string) => {
    const ids = seen.match(new RegExp(`\\b${prefix}-[0-9a-z]{10,}\\b`, "g"));
    return ids?.at(-1) ?? placeholder;
  });

type Ran = { output: string; code: number | null };

/** Runs a command to its end; the next one starts in the folder where it ended. */
async function runOnce(command: string, stage: Stage): Promise<Ran> {
  const left = join(stage.folder, "cwd");
  const ran = await collect(orphan(`set -e -o pipefail\ntrap 'pwd > ${left}' EXIT\n${command}`, stage)).ended;
  stage.cwd = readFileSync(left, "utf8").trim();
  return ran;
}

/** Starts a server, which has started when it prints `ready`, and stops it with the page. */
async function keepRunning(command: string, ready: string, stage: Stage): Promise<Ran> {
  const child = shell(`exec ${command}`, stage);
  const { ended, printed } = collect(child);
  stage.stop.push(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const isReady = new Promise<Ran>((done) => {
    child.stdout.on("data", () => printed().includes(ready) && done({ output: printed(), code: 0 }));
  });
  return Promise.race([isReady, ended]);
}

const shell = (script: string, { cwd, env }: Stage) =>
  spawn("bash", ["-c", script], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });

/** A reader's shell belongs to no agent. */
const orphan = (script: string, { cwd, env }: Stage) =>
  spawn(...orphaned(["bash", "-c", script]), { cwd, env, stdio: ["ignore", "pipe", "pipe"] });

function collect(child: ChildProcess): { ended: Promise<Ran>; printed(): string } {
  let output = "";
  const ended = new Promise<Ran>((done, fail) => {
    const keep = (chunk: Buffer) => {
      output += chunk.toString("utf8");
    };
    child.stdout?.on("data", keep);
    child.stderr?.on("data", keep);
    child.on("error", fail);
    child.on("close", (code) => done({ output, code }));
  });
  return { ended, printed: () => output };
}

/** A scripted model for pages that plan and execute; their configuration names it by these variables. */
async function offerModel(blocks: Block[], stage: Stage): Promise<void> {
  if (!blocks.some(({ text }) => text.includes("$MODEL_URL"))) return;
  const model = await startModelServer(crewMind([planned("0"), planned("1.1")]));
  stage.stop.push(() => model.close());
  Object.assign(stage.env, { MODEL_URL: model.url, FAKE_KEY: "none" });
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
  // A reader confirms decisions at their terminal; here the owner's token takes its place.
  const token = `d=$PWD; while [ "$d" != / ] && [ ! -e "$d/.scriptorium/token" ]; do d=$(dirname "$d"); done
if [ -e "$d/.scriptorium/token" ]; then export SCRIPTORIUM_TOKEN="$(cat "$d/.scriptorium/token")"; fi`;
  const programs = {
    scriptorium: `${port}\n${token}\nexec "${process.execPath}" "${join(root, "dist/scriptorium.js")}" "$@"`,
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
