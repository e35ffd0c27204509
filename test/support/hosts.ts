import type { ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect, onTestFinished } from "vitest";
import type { PlanTask } from "../../src/crew/rules/plan.ts";
import { scriptoriumProcess, start } from "./commands.ts";
import { crewMind } from "./crew-mind.ts";
import { modelServer } from "./model-server.ts";
import type { Heard } from "./model-wire.ts";
import { type engines, gitIn, newWorkspace, temporaryFolder } from "./workspace.ts";

export const key = { FAKE_KEY: "sk-fake" };
type Json = Record<string, unknown>;
type Options = {
  engine?: (typeof engines)[number];
  /** A server of the test's own, which it stops, with a database of this URL. */
  url?: string;
  leaseSeconds?: number;
  /** Called for each request to the model; its promise delays the answer. */
  before?(number: string, heard: Heard): Promise<void>;
  more?: Json;
  /** Further files of the repository. */
  repository?: Record<string, string>;
};

/** A workspace with its entries in the database, and a crew of one model that plans these tasks. */
export async function repositoryHost(tasks: PlanTask[], options: Options = {}) {
  const { engine = "postgres", url, leaseSeconds = 3, before, more = {}, repository = {} } = options;
  const think = crewMind(tasks);
  const model = await modelServer(async (heard) => {
    const number = /# (?:Verify task|Task) ([\d.]+)/.exec(JSON.stringify(heard.messages))?.[1] ?? "";
    // Long enough for each process to get a task.
    if (heard.tools.includes("submit_output")) await sleep(100);
    await before?.(number, heard);
    return think(heard);
  });
  const crew = {
    agents: { all: { runner: "model", model: "fake/one" } },
    providers: { fake: { kind: "openai", base_url: `${model.url}/v1`, key_env: "FAKE_KEY" } },
    sandbox: "none",
    reports: "facts",
    ...more,
  };
  const made = await newWorkspace({
    store: "database",
    engine,
    config: `claims: {lease_seconds: ${leaseSeconds}}\ncrew: ${JSON.stringify(crew)}\n`,
    files: repository,
  });
  const file = made.file("scriptorium.yaml");
  const config = readFileSync(file, "utf8");
  const database = url ?? /^database: "?([^"\n]+)/m.exec(config)?.[1] ?? "";
  if (url !== undefined) {
    await made.app.close();
    writeFileSync(file, config.replace(/^database: .*$/m, `database: ${url}`));
    made.git("commit", "-qam", "Use another database");
  }
  return { ...made, database };
}

/** Another machine: its folder and home are empty. */
export function emptyHost(): { cwd: string; env: Record<string, string> } {
  const home = temporaryFolder();
  const cwd = join(home, "worker");
  mkdirSync(cwd);
  return { cwd, env: { ...key, HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home } };
}

/** The processes of the test, for the message when it waits in vain. */
const watched = new Set<Watched>();

type Watched = { child: ChildProcess; out(): string; ended: Promise<number | null> };

export function watch(args: string[], { cwd, env }: { cwd: string; env: Record<string, string> }): Watched {
  const child = start("scriptorium.js", args, cwd, env);
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (out += chunk));
  const ended = new Promise<number | null>((done) => child.once("close", done));
  const process = { child, out: () => out, ended };
  watched.add(process);
  onTestFinished(async () => {
    watched.delete(process);
    child.kill("SIGKILL");
    await ended;
  });
  return process;
}

export async function until(what: string, holds: () => boolean | Promise<boolean>, seconds = 120): Promise<void> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(100)) if (await holds()) return;
  throw new Error(`waited ${seconds} s for: ${what}\n${[...watched].map((one) => one.out()).join("\n---\n")}`);
}

export async function planOf(root: string): Promise<string> {
  const made = await scriptoriumProcess(["plan", "Make it so", "--json"], { cwd: root, env: key });
  expect([made.code, made.stderr]).toEqual([0, ""]);
  return made.json<{ run: string }>().run;
}

export const shown = async (root: string, run: string) =>
  (await scriptoriumProcess(["run", "show", run, "--json"], { cwd: root, env: key })).json<{
    state: string;
    reason: string | null;
    tasks: { number: string; state: string }[];
  }>();

export async function rows(database: string, sql: string): Promise<Json[]> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** A clone of the repository on another machine. */
export function cloneHost(root: string): { cwd: string; env: Record<string, string> } {
  const cwd = temporaryFolder();
  gitIn(root)("clone", "--quiet", root, cwd);
  return { cwd, env: key };
}

/** Opened from outside. */
export function gate() {
  let open = () => {};
  const opened = new Promise<void>((done) => {
    open = done;
  });
  return { opened, open };
}

export const inboxOf = async (root: string) =>
  (await scriptoriumProcess(["inbox", "--json"], { cwd: root, env: key })).json<{
    waiting: number;
    runs: { id: string; state: string; stalled: boolean; reason: string | null }[];
  }>();
