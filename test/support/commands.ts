import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { testEnvironment } from "./workspace.ts";

const dist = new URL("../../dist/", import.meta.url).pathname;

export type Ran = {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  json: <T = Record<string, unknown>>() => T;
};
type How = { cwd: string; input?: string; env?: Record<string, string> };

/** Runs a command as it ships, to its end. */
export const scriptorium = (args: string[], how: How) => run("scriptorium.js", args, how);
export const scribe = (args: string[], how: How) => run("scribe.js", args, how);

function run(bin: string, args: string[], { cwd, input, env }: How): Promise<Ran> {
  return new Promise((done, fail) => {
    const child = start(bin, args, cwd, env);
    let stdout = "";
    let stderr = "";
    child.stdout?.on("data", (chunk) => (stdout += chunk));
    child.stderr?.on("data", (chunk) => (stderr += chunk));
    child.on("error", fail);
    child.on("close", (code, signal) => done({ code, signal, stdout, stderr, json: () => JSON.parse(stdout) }));
    child.stdin?.end(input ?? "");
  });
}

export type Served = {
  url: string;
  token: string;
  link: string;
  child: ChildProcess;
  stop(signal?: NodeJS.Signals): Promise<void>;
};

/** Starts `scriptorium serve` on a free port and stops it after the test. */
export async function serve(cwd: string, env?: Record<string, string>): Promise<Served> {
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
  return { ...JSON.parse(line), child, stop };
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
