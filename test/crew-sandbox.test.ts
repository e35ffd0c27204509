import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commandRunner } from "../src/agents/programs/command.ts";
import type { RunSpec } from "../src/agents/runner.ts";
import type { SandboxPolicy } from "../src/agents/sandbox.ts";
import { findSandbox } from "../src/agents/sandbox.ts";
import { survivors } from "../src/agents/survivors.ts";
import { configuredAgents } from "../src/crew/agent/parts.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { unwrap } from "../src/kernel/result.ts";
import { attemptsOf } from "../src/store/queries/attempts.ts";
import { contextsOf, toolCallsOf } from "../src/store/queries/contexts.ts";
import { agentProgram } from "./support/agent-program.ts";
import { executed, newRun, passes, planned, playing } from "./support/crew.ts";
import { defaultLimits } from "./support/limits.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const found = await findSandbox("auto", testEnvironment());

async function workspaceWith(text: string, crew: Record<string, unknown> = {}, more: Record<string, unknown> = {}) {
  const folder = agentProgram(text);
  const made = await newWorkspace();
  const worker = { runner: "command", command: [process.execPath, join(folder, "agent.mjs"), "{mcp_config}"] };
  const block = { read: [folder], agents: { worker }, network: false, ...crew };
  const blocks = Object.entries({ ...more, crew: block }).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  appendFileSync(made.file("scriptorium.yaml"), blocks.join(""));
  made.git("commit", "-qam", "Configure the crew");
  const app = await made.open();
  const configured = configuredAgents(app.config);
  const verifying = playing({ qc: passes });
  const agents: typeof configured = (part) => (part === "worker" ? configured(part) : verifying(part));
  return { ...made, app, agents };
}

describe("T19, T32, T33: an agent that is a program of its own", needs("bubblewrap"), () => {
  test("works in its folder through its tools and by itself, and reaches nothing else of the machine", async () => {
    const secrets = temporaryFolder();
    writeFileSync(join(secrets, "key"), "PLANTED-SECRET");
    const report = `
      const workspace = process.cwd().split("/.scriptorium/")[0];
      writeFileSync("by-itself.txt", "mine\\n");
      const tried = {
        secret: attempt(() => readFileSync(${JSON.stringify(join(secrets, "key"))}, "utf8")),
        database: attempt(() => readFileSync(workspace + "/.scriptorium/scriptorium.db").length),
        settings: attempt(() => writeFileSync(workspace + "/scriptorium.yaml", "x")),
        outside: attempt(() => writeFileSync(${JSON.stringify(join(secrets, "left"))}, "x")),
        repository: attempt(() => writeFileSync(".git", "gitdir: /elsewhere")),
        programs: attempt(() => writeFileSync("/usr/bin/planted", "x")),
        home: attempt(() => readFileSync(${JSON.stringify(join(process.env.HOME ?? "", ".profile"))}, "utf8")),
        variables: Object.keys(process.env).sort().join(" "),
        network: spawnSync("cat", ["/proc/net/dev"]).stdout.toString().split("\\n").filter((line) => line.includes(":")).length,
        others: spawnSync("sh", ["-c", "ls /proc | grep -c '^[0-9]'"]).stdout.toString().trim(),
      };
      await use("write_file", { path: "by-tool.txt", content: "through the desk\\n" });
      await use("submit_output", { output: JSON.stringify(tried) });`;
    const { app, agents, git } = await workspaceWith(report);
    app.config.environment = {
      ...app.config.environment,
      PLANTED: "PLANTED-SECRET",
      ANTHROPIC_API_KEY: "PLANTED-SECRET",
    };
    const run = await newRun(app, [planned("0", { deliverable: "files" })]);
    const outcome = await executed(app, run, agents, { workers: 1 });
    const [attempt] = await attemptsOf(app.db.read, { run });
    expect([outcome.state, attempt?.stopped_because]).toEqual(["completed", null]);
    const { variables, settings, ...tried } = JSON.parse(attempt?.output ?? "{}");
    expect(tried).toEqual({
      secret: "ENOENT",
      database: "ENOENT",
      outside: "ENOENT",
      repository: "EROFS",
      programs: "EROFS",
      home: "ENOENT",
      network: 1,
      others: expect.stringMatching(/^[1-9]$/),
    });
    expect(variables.split(" ")).toEqual(expect.arrayContaining(["HOME", "PATH", "SCRIPTORIUM_RUN"]));
    expect(variables).not.toMatch(/PLANTED|KEY|TOKEN/);
    expect(JSON.stringify(attempt)).not.toContain("PLANTED-SECRET");
    expect(existsSync(join(secrets, "left"))).toBe(false);
    for (const file of ["by-itself.txt", "by-tool.txt"]) git("cat-file", "-e", `${acceptedBranch(run)}:${file}`);
    // Folders on the way to its own are empty and its alone: what it writes there is gone with it.
    expect(settings).toBe("undefined");
    expect(git("status", "--porcelain", "--untracked-files=no")).toBe("");
  });

  test("O7: one that loops is ended within one call of its limit, whatever it does with the refusal", async () => {
    const { app, agents } = await workspaceWith(
      `for (let n = 0; ; n++) await use("search_files", { pattern: "a" + n });`,
    );
    const run = await newRun(app, [planned("0", { deliverable: "files", estimated_tool_calls: 4, max_retries: 0 })]);
    expect(await executed(app, run, agents, { workers: 1 })).toMatchObject({ state: "failed" });
    const [attempt] = await attemptsOf(app.db.read, { run });
    expect(attempt?.stopped_because).toBe("limit of 6 tool calls reached");
    expect(await toolCallsOf(app.db.read, { run })).toHaveLength(6);
    const [context] = (await contextsOf(app.db.read, { run })).filter((row) => row.part === "worker");
    expect(await survivors(context?.id ?? "")).toEqual([]);
  });

  test("C5: one that tells what it uses is ended when it has used what was set aside for it", async () => {
    const folder = temporaryFolder();
    const bin = join(folder, "claude");
    const usage = '"usage":{"input_tokens":200,"cache_read_input_tokens":700,"output_tokens":100}';
    const message = `{"type":"assistant","message":{"id":"m'$i'","content":[],${usage}}}`;
    writeFileSync(bin, `#!/bin/sh\necho "$@"\ni=0\nwhile true; do echo '${message}'; i=$((i+1)); sleep 0.05; done\n`, {
      mode: 0o755,
    });
    const agent = { author_name: "Crew", author_email: "crew@example.org", claude_bin: bin };
    const budget = { attempt_tokens: 5000, attempt_usd: 0.5, run_usd: 2 };
    const { app, agents } = await workspaceWith("", { budget, agents: { worker: { runner: "claude" } } }, { agent });
    const run = await newRun(app, [planned("0", { max_retries: 0 })]);
    expect(await executed(app, run, agents, { workers: 1 })).toMatchObject({ state: "failed" });
    const [attempt] = await attemptsOf(app.db.read, { run });
    expect(attempt?.stopped_because).toBe("exceeded its limit of 5000 tokens");
    const spends = await app.db.read.selectFrom("spends").selectAll().where("part", "=", "worker").execute();
    expect(spends).toMatchObject([{ state: "settled", reserved_tokens: 5000, reserved_usd: 0.5, tokens: null }]);
    const [context] = (await contextsOf(app.db.read, { run })).filter((row) => row.part === "worker");
    const log = readFileSync(join(app.config.agent?.logDir ?? "", `${context?.id}.log`), "utf8");
    expect(log).toContain("--max-budget-usd 0.5");
  });

  test("is not started where the sandbox is missing, and the refusal says what to do", async () => {
    const { app, agents } = await workspaceWith("");
    app.config.environment = { ...app.config.environment, PATH: "/nowhere" };
    const run = await newRun(app, [planned("0")]);
    await expect(executed(app, run, agents)).rejects.toThrow(/bubblewrap.*install it .*sandbox: none/);
    expect(await attemptsOf(app.db.read, { run })).toEqual([]);
  });

  const policy = (more: Partial<SandboxPolicy> = {}): SandboxPolicy => ({
    ...{
      sandbox: unwrap(found),
      write: true,
      network: { mode: "off", hosts: [] },
      read: [],
      own: [],
      limits: defaultLimits,
      ...more,
    },
  });
  const quick = { interruptMs: 10_000, terminateMs: 300 };

  /** Runs a script in a sandbox, to its end or until it has said `last`. */
  async function inside(script: string, more: Partial<SandboxPolicy> = {}, spec: Partial<RunSpec> = {}, last?: string) {
    const cwd = temporaryFolder();
    const logFile = join(temporaryFolder(), "log");
    const id = `walls-${process.pid}-${Math.random().toString(36).slice(2)}`;
    const runner = commandRunner(["sh", "-c", script], quick);
    const env = { PATH: process.env.PATH ?? "", HOME: "/nonexistent" };
    const limits = { wallMs: 20_000 };
    const stop = new AbortController();
    const said = () => existsSync(logFile) && readFileSync(logFile, "utf8") === last;
    const listening = setInterval(() => said() && stop.abort(), 20);
    const whole = { id, prompt: "p", cwd, env, limits, logFile, sandboxPolicy: policy(more), ...spec };
    const result = await runner.run(whole, stop.signal);
    clearInterval(listening);
    expect(await survivors(id)).toEqual([]);
    return { ...result, log: readFileSync(logFile, "utf8"), cwd };
  }

  test("that verifies cannot change what it judges", async () => {
    const { log, cwd } = await inside("touch made 2>&1; echo over", { write: false });
    expect(log).toMatch(/Read-only file system\nover/);
    expect(existsSync(join(cwd, "made"))).toBe(false);
  });

  test("is interrupted itself, so that it can still say what it used, and takes all it started with it", async () => {
    const script = `trap 'echo I used 7; exit 0' INT; setsid sleep 60 & echo ready; while true; do sleep 0.05; done`;
    const { log, ended } = await inside(script, {}, {}, "ready\n");
    expect({ log, ended }).toEqual({ log: "ready\nI used 7\n", ended: "stopped" });
  });

  test("finds its own files in its new home, and what it writes there is kept; nothing else of the home is there", async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, ".agent"));
    writeFileSync(join(home, ".agent/login"), "old");
    writeFileSync(join(home, ".bashrc"), "theirs");
    const script = `cat ~/.agent/login; echo new > ~/.agent/login; ls -A ~; echo x > ~/.bashrc`;
    const env = { PATH: process.env.PATH ?? "", HOME: home };
    const { log } = await inside(script, { own: ["~/.agent/login", "~/.agent/none"] }, { env });
    expect(log).toBe("old.agent\n");
    expect(readFileSync(join(home, ".agent/login"), "utf8")).toBe("new\n");
    expect(readFileSync(join(home, ".bashrc"), "utf8")).toBe("theirs");
  });

  test("that is not there is told as such", async () => {
    const runner = commandRunner(["no-such-agent"]);
    const spec = {
      id: "none",
      prompt: "",
      cwd: temporaryFolder(),
      env: { PATH: "/usr/bin" },
      limits: { wallMs: 1000 },
    };
    const result = await runner.run({ ...spec, sandboxPolicy: policy() }, new AbortController().signal);
    expect(result).toMatchObject({
      ended: "spawn-error",
      error: expect.stringContaining("no-such-agent is not executable"),
    });
  });
});
