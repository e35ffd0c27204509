import { type ChildProcess, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { PlanTask } from "../src/crew/rules/plan.ts";
import { scriptoriumProcess, serveProcess, start } from "./support/commands.ts";
import { planned } from "./support/crew.ts";
import { crewMind } from "./support/crew-mind.ts";
import { modelServer } from "./support/model-server.ts";
import type { Heard, Reply } from "./support/model-wire.ts";
import { newWorkspace, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const key = { FAKE_KEY: "sk-fake" };
type Json = Record<string, unknown>;
type Mind = (number: string, heard: Heard) => Reply | undefined;

/** A workspace with its entries in PostgreSQL, and a crew of one model that plans these tasks. */
async function repositoryHost(tasks: PlanTask[], { mind, more = {} }: { mind?: Mind; more?: Json } = {}) {
  const think = crewMind(tasks, mind);
  const model = await modelServer(async (heard) => {
    // Long enough for each process to get a task.
    if (heard.tools.includes("submit_output")) await sleep(150);
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
    engine: "postgres",
    config: `claims: {lease_seconds: 3}\ncrew: ${JSON.stringify(crew)}\n`,
  });
  await made.app.close();
  const database = /^database: "?([^"\n]+)/m.exec(readFileSync(made.file("scriptorium.yaml"), "utf8"))?.[1] ?? "";
  return { ...made, database };
}

/** Another machine: its folder and home are empty. */
function emptyHost(): { cwd: string; env: Record<string, string> } {
  const home = temporaryFolder();
  const cwd = join(home, "worker");
  mkdirSync(cwd);
  return { cwd, env: { ...key, HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home } };
}

/** The processes of the test, for the message when it waits in vain. */
const watched = new Set<Watched>();

type Watched = { child: ChildProcess; out(): string; ended: Promise<number | null> };

function watch(args: string[], { cwd, env }: { cwd: string; env: Record<string, string> }): Watched {
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

async function until(what: string, holds: () => boolean | Promise<boolean>, seconds = 40): Promise<void> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(100)) if (await holds()) return;
  throw new Error(`waited ${seconds} s for: ${what}\n${[...watched].map((one) => one.out()).join("\n---\n")}`);
}

async function planOf(root: string): Promise<string> {
  const made = await scriptoriumProcess(["plan", "Make it so", "--json"], { cwd: root, env: key });
  expect([made.code, made.stderr]).toEqual([0, ""]);
  return made.json<{ run: string }>().run;
}

const shown = async (root: string, run: string) =>
  (await scriptoriumProcess(["run", "show", run, "--json"], { cwd: root, env: key })).json<{
    state: string;
    reason: string | null;
    tasks: { number: string; state: string }[];
  }>();

async function rows(database: string, sql: string): Promise<Json[]> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const files = ["1.1", "1.2", "1.3", "1.4", "1.5", "1.6"];
const tasks = [
  planned("0"),
  ...files.map((number) => planned(number)),
  planned("1.7", { depends_on: files }),
];
const delivered = [...files, "1.7"].map((number) => `out/${number}.txt`);

describe("several machines on one PostgreSQL", () => {
  test("M1: a run over three machines, one in an empty folder and one killed, has every file in its accepted branch", async () => {
    const { root, git, database } = await repositoryHost(tasks);
    const run = await planOf(root);
    const worker = emptyHost();
    const killed = emptyHost();
    const [second, third] = [worker, killed].map((host) =>
      watch(["work", "--database", database, "--workers", "2"], host),
    );
    const first = watch(["execute", run, "--workers", "1", "--json"], { cwd: root, env: key });
    await until("the third machine to begin a task", () => third?.out().includes("started:") ?? false);
    third?.child.kill("SIGKILL");
    expect([await first.ended, first.out().trim().split("\n").at(-1)]).toEqual([0, expect.stringContaining("completed")]);

    expect(second?.out()).toContain("delivered 1 changed file");
    const accepted = git("ls-tree", "-r", "--name-only", `scriptorium/${run}/accepted`).split("\n");
    expect(accepted.filter((path) => path.startsWith("out/"))).toEqual(delivered);
    const { tasks: ended } = await shown(root, run);
    expect(ended.filter(({ state }) => state !== "completed")).toEqual([]);
    const report = readFileSync(join(root, "runs", run, "execution-report.md"), "utf8");
    expect(report).toContain("8 of 8 tasks accepted. 7 files changed.");
    expect(await rows(database, "SELECT DISTINCT attempt FROM attempts WHERE phase LIKE '%failed%'")).toEqual([]);

    second?.child.kill("SIGTERM");
    await second?.ended;
    const cleaned = await scriptoriumProcess(["run", "clean", run, "--unmerged", "--json"], { cwd: root, env: key });
    expect(cleaned.json<{ stored_bytes: number }>().stored_bytes).toBeGreaterThan(0);
    expect(await rows(database, "SELECT count(*)::int AS n FROM git_pack_chunks")).toEqual([{ n: 0 }]);
  });
});
