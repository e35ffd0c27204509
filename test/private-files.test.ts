import { spawnSync } from "node:child_process";
import { appendFileSync, chmodSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { scriptorium, serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { jobWorkspace, openTopic, over, runQueue, startJob } from "./support/jobs.ts";
import { signIn } from "./support/requests.ts";
import { engines, newWorkspace, temporaryFolder } from "./support/workspace.ts";

/** Everything in the state folder that others may read, write or enter, with its mode. */
function openToOthers(root: string): string[] {
  const folder = join(root, ".scriptorium");
  const found = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return ["", ...found]
    .filter((path) => !/^worktrees\/[^/]+/.test(path))
    .map((path) => ({ path, mode: lstatSync(join(folder, path)).mode & 0o777 }))
    .filter(({ mode }) => (mode & 0o077) !== 0)
    .map(({ path, mode }) => `${path || "."} ${mode.toString(8)}`);
}

/** The most that a careless system allows. */
function withOpenUmask(): void {
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
}

describe("S10, T11: the state folder", () => {
  test("S10, T11: after init and commands, only its owner can read it", async () => {
    withOpenUmask();
    const folder = temporaryFolder();
    const made = await scriptorium(["init", "book", "--yes", "--connect", "none"], { cwd: folder });
    expect([made.code, made.stderr]).toEqual([0, ""]);
    const root = join(folder, "book");
    expect(openToOthers(root)).toEqual([]);
    await scriptorium(["task", "add", "First"], { cwd: root });
    const hook = { hook_event_name: "SessionStart", session_id: "one", cwd: root };
    await scriptorium(["hook", "session-start"], { cwd: root, input: JSON.stringify(hook) });
    expect(openToOthers(root)).toEqual([]);
    expect(readdirSync(join(root, ".scriptorium"))).toContain("scriptorium.db");
  });

  test.each(engines)("S10, T11: nor after serving, a job and a run (%s)", async (engine) => {
    withOpenUmask();
    const scripted = join(temporaryFolder(), "agent");
    writeFileSync(scripted, "#!/bin/sh\ncat >/dev/null\necho worked\n", { mode: 0o755 });
    const agent = { runner: "command", command: [scripted], isolation: "scratch" };
    const { root, app } = await jobWorkspace(agent, { engine });
    appendFileSync(join(root, "scriptorium.yaml"), "crew: {sandbox: none}\n");
    const { link } = await serve(root);
    await signIn(link);
    await runQueue(app);
    const topic = await openTopic(app);
    const job = await startJob(app, { topic_id: topic });
    if (!job.ok) throw new Error(job.problem.message);
    await over(app, job.value.job_id);
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    const names = readdirSync(join(root, ".scriptorium"));
    expect(names).toEqual(expect.arrayContaining(["agent-logs", "run", "token", "worktrees"]));
    expect(openToOthers(root)).toEqual([]);
  });

  test("S10, T11: what an earlier version left open is closed when the workspace is opened", async () => {
    const { root, app, open } = await newWorkspace();
    await app.close();
    const folder = join(root, ".scriptorium");
    mkdirSync(join(folder, "agent-logs"), { recursive: true });
    writeFileSync(join(folder, "agent-logs/one.log"), "log");
    for (const path of [".", "scriptorium.db", "agent-logs", "agent-logs/one.log"])
      chmodSync(join(folder, path), path.includes("log") || path.endsWith("db") ? 0o644 : 0o755);
    chmodSync(join(folder, "agent-logs"), 0o755);
    expect(openToOthers(root).length).toBeGreaterThan(3);
    await open();
    expect(openToOthers(root)).toEqual([]);
  });

  test("S10, T11: another user of the machine reads neither the database nor anything else", async ({ skip }) => {
    if (process.getuid?.() !== 0) skip("only root can become another user");
    withOpenUmask();
    const { root } = await newWorkspace();
    await serve(root);
    // The folder itself is open, as a project's folder usually is.
    chmodSync(root, 0o755);
    const asOther = (...command: string[]) => {
      const [program = "", ...args] = command;
      return spawnSync(program, args, { uid: 65_534, gid: 65_534, encoding: "utf8" });
    };
    expect(asOther("cat", join(root, "scriptorium.yaml")).status).toBe(0);
    for (const name of ["scriptorium.db", "scriptorium.db-wal", "token", "run/port"]) {
      const read = asOther("cat", join(root, ".scriptorium", name));
      expect([name, read.status, read.stdout]).toEqual([name, 1, ""]);
      expect(read.stderr).toContain("Permission denied");
    }
    expect(asOther("ls", join(root, ".scriptorium")).stdout).toBe("");
  });
});
