import type { ChildProcess } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Context, StartOptions } from "./proof.ts";

export type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

export function ended(child: ChildProcess, input = ""): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  child.stdin?.end(input);
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code, signal) => done({ code, signal, stdout, stderr }));
  });
}

type Command = Parameters<Context["start"]>[0];

/** Runs a command that may fail or be killed. */
export const run = (context: Context, command: Command, args: string[], options: StartOptions & { input?: string }) =>
  ended(context.start(command, args, options), options.input);

/** Runs a command that must succeed, and returns its stdout. */
export async function succeed(...args: Parameters<typeof run>): Promise<string> {
  const { code, signal, stdout, stderr } = await run(...args);
  if (code === 0) return stdout;
  throw new Error(`${args[1]} ${args[2].slice(0, 3).join(" ")} ended with ${signal ?? code}: ${stderr.trim()}`);
}

/** The last line of stdout that is whole JSON; undefined if the command was killed before it answered. */
export function answerOf(stdout: string): Record<string, unknown> | undefined {
  const line = stdout.endsWith("\n") ? stdout.trimEnd().split("\n").at(-1) : undefined;
  return line ? JSON.parse(line) : undefined;
}

/** A workspace of the `crew` template: planner writes vision and requirements, engineer appends to decisions. */
export async function newWorkspace(context: Context): Promise<string> {
  const root = join(context.folder, "base");
  mkdirSync(root);
  await succeed(context, "scriptorium", ["init", root, "--template", "crew"], { cwd: context.folder });
  return root;
}

/** Does the work in a copy of the workspace, and removes the copy. */
export async function inCopy<T>(context: Context, base: string, work: (root: string) => Promise<T>): Promise<T> {
  const root = mkdtempSync(join(context.folder, "copy-"));
  cpSync(base, root, { recursive: true });
  try {
    return await work(root);
  } finally {
    rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}

/** Opens the workspace again: `doctor` finds no problem, git is whole, and history has each version once. */
export async function checkIntact(context: Context, root: string, after: string): Promise<void> {
  const doctor = await run(context, "scriptorium", ["doctor", "--json"], { cwd: root });
  const answer = answerOf(doctor.stdout);
  const healthy = doctor.code === 0 && answer?.healthy === true;
  context.check(healthy, `after ${after}: doctor: ${JSON.stringify(problemsIn(answer)) ?? doctor.stderr}`);
  const fsck = await run(context, "git", ["fsck", "--strict", "--no-dangling"], { cwd: root });
  context.check(fsck.code === 0, `after ${after}: git fsck: ${fsck.stdout}${fsck.stderr}`);
  const versions = await succeed(context, "git", ["log", `--format=${versionFormat}`, "refs/scriptorium/history"], {
    cwd: root,
  });
  const repeated = versions.split("\n").filter((line, at, all) => /\d$/.test(line) && all.indexOf(line) < at);
  context.check(repeated.length === 0, `after ${after}: more than once in history: ${repeated.join(", ")}`);
}

const trailer = (key: string) => `%(trailers:key=${key},valueonly,separator=)`;

/** A git format that prints `<entry> <version>` for a commit of the history. */
export const versionFormat = `${trailer("Entry")} ${trailer("Version")}`;

const problemsIn = (answer: Record<string, unknown> | undefined) =>
  (answer?.findings as { state: string }[] | undefined)?.filter(({ state }) => state === "problem");
