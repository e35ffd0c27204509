import { execFileSync, spawn } from "node:child_process";
import { cpSync, renameSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { describe, expect, onTestFinished, test } from "vitest";
import { stateFolderOf } from "../src/config/environment.ts";
import { processName, processState } from "../src/kernel/process-name.ts";
import { unwrap } from "../src/kernel/result.ts";
import { ownerToken } from "../src/people/token-person.ts";
import { scriptorium, scriptoriumProcess } from "./support/commands.ts";
import { findFaketime, needs, skipNow } from "./support/programs.ts";
import { gitIn, newWorkspace, temporaryFolder } from "./support/workspace.ts";

/** A process that says its name, in a container of its own: the same host name, its own process ids. */
async function containerized(code: string): Promise<{ said: string; stop(): Promise<void> }> {
  const script = `hostname box && exec "$0" --input-type=module -e "$1"`;
  const child = spawn(
    "unshare",
    ["--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script, process.execPath, code],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let [stdout, stderr] = ["", ""];
  child.stderr.on("data", (chunk) => (stderr += chunk));
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(stop);
  await new Promise<void>((done) => {
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
      if (stdout.includes("\n")) done();
    });
    void ended.then(done);
  });
  if (/Operation not permitted/.test(stderr)) skipNow("unshare needs root, or user namespaces");
  if (stdout === "") throw new Error(stderr);
  return { said: stdout.trim(), stop };
}

describe("M11: a process is identified by more than its host name", () => {
  test("M11: of two containers with one host name, neither takes the other's process for dead", async () => {
    const module = join(temporaryFolder(), "process-name.mjs");
    const entryPoints = [new URL("../src/kernel/process-name.ts", import.meta.url).pathname];
    buildSync({ entryPoints, outfile: module, bundle: true, platform: "node", format: "esm" });
    const withModule = (code: string) =>
      `const { processName, processState } = await import(${JSON.stringify(module)});
       console.log(${code}); setInterval(() => undefined, 1000);`;
    const one = await containerized(withModule("processName()"));
    expect(one.said).toMatch(/^box:\d+:\d+:/);
    const other = await containerized(withModule(`processState(${JSON.stringify(one.said)})`));
    expect(other.said).toBe("unknown");
    expect(processState(one.said)).toBe("unknown");
  });

  test("M11: a process knows itself, its living neighbours and its dead ones", () => {
    expect(processState(processName())).toBe("running");
    expect(processState(`${processName()}/server`)).toBe("running");
    const dead = processName()
      .replace(/:(\d+):(\d+):/, ":$1:1:")
      .replace(/\w+$/, "00000000");
    expect(processState(dead)).toBe("gone");
    expect(processState(dead.replace(/^[^:]+/, "elsewhere"))).toBe("gone");
    const rebooted = dead.replace(/\.\w{8}\.(\w{8})\./, ".00000001.$1.");
    expect(processState(rebooted.replace(/^[^:]+/, "elsewhere"))).toBe("unknown");
  });
});

describe("M10: leases on SQLite do not follow the time of day", needs("faketime"), () => {
  /** Runs a command under another time of day; the monotonic clock stays. */
  const under = (shift: string) => ({
    LD_PRELOAD: findFaketime() ?? "",
    FAKETIME: shift,
    DONT_FAKE_MONOTONIC: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  });

  async function claimed(seconds: number) {
    const { root, app } = await newWorkspace({ config: `claims: { lease_seconds: ${seconds} }\n` });
    const { id } = unwrap(
      await app.tasks.create(
        { title: "One", description: "", dependsOn: [], priority: 0, run: null, maxRetries: 1 },
        "test",
      ),
    );
    expect(await app.tasks.claim("worker")).toMatchObject({ task: { id } });
    await app.close();
    const now = execFileSync("date", ["+%s"], { env: { ...process.env, ...under("-1h") }, encoding: "utf8" });
    expect(Math.round(Date.now() / 1000 - Number(now))).toBeGreaterThan(3500);
    const locked = async (shift: string) => {
      const args = ["task", "claim", id, "--as", "other", "--json"];
      return (await scriptoriumProcess(args, { cwd: root, env: under(shift) })).stdout;
    };
    return { locked };
  }

  test("M10: a clock that is set back an hour keeps no dead lease", async () => {
    const { locked } = await claimed(2);
    await expect
      .poll(async () => JSON.parse(await locked("-1h")), { timeout: 20_000, interval: 1000 })
      .toMatchObject({ status: "locked", epoch: 2 });
  });

  test("M10: a clock that is set an hour forward ends no living lease", async () => {
    const { locked } = await claimed(300);
    expect(JSON.parse(await locked("+1h"))).toMatchObject({ holder: "worker", alive: true });
  });
});

describe("M6: store: files on PostgreSQL belongs to one folder", needs("postgresql"), () => {
  test("M6: a second folder is refused with what to do, and adopting moves the workspace there for good", async () => {
    const { root, app, git } = await newWorkspace({ store: "files", engine: "postgres" });
    await app.close();
    expect((await scriptorium(["entry", "append", "decisions", "first"], { cwd: root })).code).toBe(0);
    git("add", "-A");
    git("commit", "-qm", "Save", "--allow-empty");
    const clone = join(temporaryFolder(), "clone");
    execFileSync("git", ["clone", "-q", root, clone]);
    const refused = await scriptorium(["status"], { cwd: clone });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(root);
    expect(refused.stderr).toMatch(
      /this is another folder .*scriptorium store move database.*scriptorium store adopt/s,
    );
    const copy = join(temporaryFolder(), "copy");
    cpSync(root, copy, { recursive: true });
    expect((await scriptorium(["status"], { cwd: copy })).stderr).toMatch(/this is another folder/);
    expect((await scriptorium(["status"], { cwd: root })).code).toBe(0);

    gitIn(clone)("fetch", "-q", "origin", "+refs/scriptorium/*:refs/scriptorium/*");
    ownerToken(stateFolderOf(clone));
    const adopted = await scriptorium(["store", "adopt"], { cwd: clone });
    expect(adopted.code, adopted.stderr).toBe(0);
    expect(adopted.stdout).toContain(`the entries are the files in`);
    expect((await scriptorium(["status"], { cwd: clone })).code).toBe(0);
    expect((await scriptorium(["status"], { cwd: root })).stderr).toMatch(/this is another folder/);
  });

  test("M6: a folder that is renamed stays the one", async () => {
    const { root, app } = await newWorkspace({ store: "files", engine: "postgres" });
    await app.close();
    const moved = join(temporaryFolder(), "moved");
    renameSync(root, moved);
    expect((await scriptorium(["status"], { cwd: moved })).code).toBe(0);
  });
});
