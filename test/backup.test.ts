import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { type App, openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scribe, scriptorium, scriptoriumProcess } from "./support/commands.ts";
import {
  agent,
  allEvents,
  backends,
  freshDatabase,
  gitIn,
  newWorkspace,
  person,
  temporaryFolder,
  testEnvironment,
} from "./support/workspace.ts";

async function openAt(root: string): Promise<App> {
  const app = await openApp(unwrap(loadConfig(root, testEnvironment())));
  onTestFinished(() => app.close().catch(() => undefined));
  return app;
}

const problemsOf = async (app: App) =>
  unwrap(await operations.doctor.perform(app, {}, person())).findings.filter(({ state }) => state === "problem");

describe.each(backends)("M13: backup and restore ($store, $engine)", (backend) => {
  test("M13: a backup made while agents write restores to a state in which versions, files and git agree", async () => {
    const { app, root } = await newWorkspace(backend);
    unwrap(await operations.add_source.perform(app, { name: "input.txt", content: "raw\n" }, person()));
    let isOver = false;
    const writing = (async () => {
      for (let n = 1; !isOver; n++) {
        unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", `line ${n}`));
        const { version } = await app.entries.fetch("vision");
        unwrap(await app.knowledge(agent("planner")).commitEntry("vision", `text ${n}\n`, version));
        if (n % 5 === 0) await app.recorder.record();
        await sleep(30);
      }
    })();
    const out = temporaryFolder();
    const files = [];
    for (let n = 0; n < 3; n++) {
      const file = join(out, `${n}.jsonl.gz`);
      const made = await scriptorium(["backup", file, "--json"], { cwd: root });
      expect([made.code, made.stderr]).toEqual([0, ""]);
      files.push(file);
    }
    isOver = true;
    await writing;
    const { content: after } = await app.entries.fetch("decisions");
    for (const [n, file] of files.entries()) {
      expect(statSync(file).mode & 0o077).toBe(0);
      const folder = join(out, `restored-${n}`);
      const to = backend.engine === "postgres" ? ["--to", await freshDatabase()] : [];
      const restored = await scriptorium(["restore", file, folder, ...to, "--json"], { cwd: out });
      expect([restored.code, restored.stderr]).toEqual([0, ""]);
      const back = await openAt(folder);
      const log = await back.entries.fetch("decisions");
      expect(after.startsWith(log.content)).toBe(true);
      const lines = log.content.split("\n").length - 1;
      expect(await back.entries.history("decisions", 10_000)).toHaveLength(log.version);
      expect(log.version - lines).toBe(backend.store === "files" ? 1 : 0);
      expect(await problemsOf(back)).toEqual([]);
      expect(await back.entries.list()).toHaveLength(6);
      expect((await allEvents(back)).length).toBeGreaterThan(0);
      gitIn(folder)("fsck", "--strict");
      expect(gitIn(folder)("status", "--porcelain")).toBe("");
      const { version } = await back.entries.fetch("vision");
      unwrap(await back.knowledge(agent("planner")).commitEntry("vision", "after the restore\n", version));
      await back.recorder.drain(10_000);
      expect(await problemsOf(back)).toEqual([]);
      await back.close();
    }
  });
});

test("M13: a restore that is killed is finished by the same command, and by no other", async () => {
  const { root, app } = await newWorkspace();
  for (let n = 2; n <= 12; n++) unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", `line ${n - 1}`));
  await app.close();
  const out = temporaryFolder();
  expect((await scriptorium(["backup", join(out, "one.gz")], { cwd: root })).code).toBe(0);
  expect(
    (await scribe(["append-log", "--role", "engineer", "--id", "decisions", "--line", "x"], { cwd: root })).code,
  ).toBe(0);
  expect((await scriptorium(["backup", join(out, "two.gz")], { cwd: root })).code).toBe(0);
  for (const database of ["sqlite", await freshDatabase()]) {
    const folder = join(out, database === "sqlite" ? "one" : "two");
    const restore = (file: string, into: string, crash = "") =>
      scriptoriumProcess(["restore", join(out, file), into, "--to", database], {
        cwd: out,
        env: crash === "" ? {} : { SCRIPTORIUM_CRASH_AT: crash },
      });
    for (const point of ["restored-rows", "3", "restored-tables"]) {
      const killed = await restore("one.gz", folder, point);
      expect([point, killed.signal, killed.stderr]).toEqual([point, "SIGKILL", ""]);
      expect(existsSync(folder)).toBe(false);
    }
    if (database !== "sqlite") {
      for (const [file, into] of [
        ["two.gz", folder],
        ["one.gz", join(out, "elsewhere")],
      ] as const)
        expect((await restore(file, into)).stderr).toContain("was interrupted in");
    }
    expect(await restore("one.gz", folder)).toMatchObject({ code: 0, stderr: "" });
    const back = await openAt(folder);
    expect((await back.entries.fetch("decisions")).version).toBe(12);
    expect(await problemsOf(back)).toEqual([]);
    await back.close();
    expect(await restore("one.gz", folder)).toMatchObject({ code: 1 });
    if (database !== "sqlite")
      expect((await restore("one.gz", join(out, "third"))).stderr).toContain("is not empty; name an empty database");
  }
});

test("M13: a backup has no token, and says what it leaves out", async () => {
  const { root, app } = await newWorkspace();
  await app.close();
  const file = join(temporaryFolder(), "backup.jsonl.gz");
  const made = await scriptorium(["backup", file], { cwd: root });
  expect(made.stdout).toContain(".scriptorium/token");
  const token = readFileSync(join(root, ".scriptorium/token"), "utf8").trim();
  expect(gunzipSync(readFileSync(file)).toString("utf8")).not.toContain(token);
  expect(await scriptorium(["backup", file], { cwd: root })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("exists"),
  });
});

test("M13: a damaged backup is found by --verify and refused by restore before anything is written", async () => {
  const { root, app } = await newWorkspace();
  unwrap(await app.knowledge(agent("planner")).commitEntry("vision", "precious words\n", 1));
  await app.close();
  const out = temporaryFolder();
  const file = join(out, "backup.jsonl.gz");
  expect((await scriptorium(["backup", file], { cwd: root })).code).toBe(0);
  expect(await scriptorium(["backup", "--verify", file], { cwd: out })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("complete"),
  });
  const whole = readFileSync(file);
  const lines = gunzipSync(whole).toString("utf8");
  const spoilt: Record<string, Buffer> = {
    cut: whole.subarray(0, whole.length - 100),
    changed: gzipSync(lines.replace('"planner"', '"plannor"')),
    shortened: gzipSync(lines.split("\n").slice(0, -2).join("\n")),
    foreign: gzipSync('{"something":"else"}\n'),
    plain: Buffer.from("not a backup"),
  };
  for (const [name, bytes] of Object.entries(spoilt)) {
    const bad = join(out, `${name}.gz`);
    writeFileSync(bad, bytes);
    expect([name, (await scriptorium(["backup", "--verify", bad], { cwd: out })).code]).toEqual([name, 1]);
    const folder = join(out, `from-${name}`);
    const refused = await scriptorium(["restore", bad, folder], { cwd: out });
    expect([name, refused.code, existsSync(folder)]).toEqual([name, 1, false]);
  }
  mkdirSync(join(out, "taken"));
  writeFileSync(join(out, "taken/mine.txt"), "mine");
  expect((await scriptorium(["restore", file, "taken"], { cwd: out })).code).toBe(1);
  expect(readdirSync(join(out, "taken"))).toEqual(["mine.txt"]);
  expect((await scriptorium(["restore", file, "good"], { cwd: out })).code).toBe(0);
  expect((await (await openAt(join(out, "good"))).entries.fetch("vision")).content).toBe("precious words\n");
});
