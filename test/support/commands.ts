import { type ChildProcess, spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { Readable, Writable } from "node:stream";
import { onTestFinished } from "vitest";
import type { ProcessInfo } from "../../src/agents/ancestors.ts";
import type { Shell } from "../../src/cli/shell.ts";
import { loadConfig } from "../../src/config/config.ts";
import { silent } from "../../src/kernel/log.ts";
import { unwrap } from "../../src/kernel/result.ts";
import { orphaned } from "./orphan.ts";
import { ownerEnvironment, testEnvironment } from "./workspace.ts";

const dist = new URL("../../dist/", import.meta.url).pathname;

export type Ran = {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  json: <T = Record<string, unknown>>() => T;
};
type How = {
  cwd: string;
  input?: string;
  env?: Record<string, string>;
  /** The processes that the command descends from: by default none, also when an agent runs the tests. */
  ancestors?: ProcessInfo[];
};

/** A command of a person with the owner's token, unless the test gives another or "". */
const environmentIn = (args: string[], { cwd, env }: How) => {
  const dir = args.includes("--dir") ? (args[args.indexOf("--dir") + 1] ?? "") : "";
  return { ...testEnvironment(), ...ownerEnvironment(resolve(cwd, dir)), ...env };
};

/** Runs a command in this process: the same as a process of its own, but for signals and the end of the process. */
export const scriptorium = async (args: string[], how: How) =>
  inProcess((await import("../../src/cli/program.ts")).runScriptorium, args, how);
export const scribe = async (args: string[], how: How) =>
  inProcess((await import("../../src/cli/scribe.ts")).runScribe, args, how);

/** Runs a command as it ships, as a process of its own, to its end. */
export const scriptoriumProcess = (args: string[], how: How) => run("scriptorium.js", args, how);
export const scribeProcess = (args: string[], how: How) => run("scribe.js", args, how);

/** Runs a command as it ships, as a process that descends from no agent, also when an agent runs the tests. */
export function scriptoriumOfPerson(args: string[], how: How): Promise<Ran> {
  const [program, words] = orphaned([process.execPath, join(dist, "scriptorium.js"), ...args]);
  return collect(spawn(program, words, { cwd: how.cwd, env: environmentIn(args, how) }), how.input);
}

async function inProcess(
  command: (args: string[], shell: Shell) => Promise<void>,
  args: string[],
  how: How,
): Promise<Ran> {
  const { cwd, input, env, ancestors = [] } = how;
  if (env?.SCRIPTORIUM_CRASH_AT) throw new Error("this would kill the test's own process");
  const [stdout, stderr] = [new Collector(), new Collector()];
  const stdin = Readable.from(input ? [Buffer.from(input)] : []);
  const shell: Shell = {
    ...{ stdin, stdout, stderr, cwd, exitCode: 0 },
    env: environmentIn(args, how),
    ancestors: async () => ancestors,
  };
  await command(args, shell);
  return ran(shell.exitCode, null, stdout.text(), stderr.text());
}

class Collector extends Writable {
  private readonly chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.chunks.push(chunk);
    done();
  }

  text = () => Buffer.concat(this.chunks).toString("utf8");
}

const ran = (code: Ran["code"], signal: Ran["signal"], stdout: string, stderr: string): Ran => ({
  ...{ code, signal, stdout, stderr },
  json: () => JSON.parse(stdout),
});

const run = (bin: string, args: string[], how: How) =>
  collect(start(bin, args, how.cwd, environmentIn(args, how)), how.input);

function collect(child: ChildProcess, input: string | undefined): Promise<Ran> {
  return new Promise((done, fail) => {
    let stdout = "";
    let stderr = "";
    child.stdout?.on("data", (chunk) => (stdout += chunk));
    child.stderr?.on("data", (chunk) => (stderr += chunk));
    child.on("error", fail);
    child.on("close", (code, signal) => done(ran(code, signal, stdout, stderr)));
    child.stdin?.end(input ?? "");
  });
}

export type Served = {
  url: string;
  token: string;
  /** Signs the owner in as often as a test likes, with the token. */
  link: string;
  /** The same under 127.0.0.1. Playwright's route.fetch needs it: Node does not resolve names below localhost. */
  plainLink: string;
  /** The link that a person gets, which works once. */
  onceLink: string;
  stop(): Promise<void>;
};

const linksOf = ({ url, link, token }: { url: string; link: string; token: string }) => ({
  link: `${new URL(link).origin}/?token=${token}`,
  plainLink: `${url}/?token=${token}`,
  onceLink: link,
});

/** Serves the workspace in this process until the end of the test. */
export async function serve(root: string, env: Record<string, string> = {}, port = 0): Promise<Served> {
  const { openServer } = await import("../../src/http/serve.ts");
  const config = unwrap(loadConfig(root, { ...testEnvironment(), ...env }));
  const server = await openServer(config, silent, port);
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= server.close();
    return stopped;
  };
  onTestFinished(stop);
  await server.resumeRuns();
  return { ...server, ...linksOf(server), stop };
}

export type ServedProcess = Omit<Served, "stop"> & {
  child: ChildProcess;
  stop(signal?: NodeJS.Signals): Promise<void>;
};

/** Starts `scriptorium serve` as it ships on a free port and stops it after the test. */
export async function serveProcess(cwd: string, env?: Record<string, string>): Promise<ServedProcess> {
  const child = start("scriptorium.js", ["serve", "--port", "0", "--json"], cwd, env);
  let stderr = "";
  child.stderr?.on("data", (chunk) => (stderr += chunk));
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  const line = await new Promise<string>((done, fail) => {
    let text = "";
    child.stdout?.on("data", (chunk) => {
      text += chunk;
      if (text.includes("\n")) done(text.split("\n", 1)[0] ?? "");
    });
    child.once("close", () => fail(new Error(`serve ended early: ${stderr}`)));
  });
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    child.kill(signal);
    await ended;
  };
  onTestFinished(() => stop("SIGKILL"));
  const said = JSON.parse(line);
  if (!said.link) throw new Error(`serve failed: ${line} ${stderr}`);
  return { ...said, ...linksOf(said), child, stop };
}

export function start(
  bin: string,
  args: string[],
  cwd: string,
  env: Record<string, string> = {},
  more: { detached?: boolean } = {},
): ChildProcess {
  return spawn(process.execPath, [join(dist, bin), ...args], { ...more, cwd, env: { ...testEnvironment(), ...env } });
}
