import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { agentCli } from "./support/agent-clis.ts";
import { type Asked, fakeModel, type Turn } from "./support/fake-model.ts";
import { newWorkspace, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const repository = new URL("../", import.meta.url).pathname;
const soloSchema = readFileSync(join(repository, "templates/solo/schema.yaml"), "utf8");
const decision = "Chose SQLite for the Quaywise cache, because one file is enough";
const prompt = "Add metrics to the Quaywise cache";
const lesson = "Count cache misses in the client, not in the server";

/** A test may have to install its agent first. */
const installing = { timeout: 600_000 };

/** The command as it ships, as the only scriptorium on the path; a loaded machine gets more time. */
function environmentFor(home: string): Record<string, string> {
  const bin = join(home, "bin");
  mkdirSync(bin);
  symlinkSync(join(repository, "dist/scriptorium.js"), join(bin, "scriptorium"));
  const { PATH = "", ...rest } = testEnvironment();
  return { ...rest, HOME: home, PATH: `${bin}:${PATH}`, SCRIPTORIUM_HOOK_MS: "60000", MCP_TIMEOUT: "60000" };
}

const run = (bin: string, args: string[], options: { cwd: string; env: Record<string, string> }, input = "") =>
  new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
    const child = execFile(bin, args, { ...options, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      done({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
    child.stdin?.end(input);
  });

async function soloWorkspace() {
  const made = await newWorkspace({ schema: soloSchema });
  await promisify(execFile)(
    process.execPath,
    [join(repository, "dist/scribe.js"), "append-log", "--id", "decisions", "--line", decision],
    { cwd: made.root, env: testEnvironment() },
  );
  return made;
}

const toolNamed = (asked: Asked, name: string) => asked.tools.find((tool) => tool.endsWith(`__${name}`));
const count = (text: string, part: string) => text.split(part).length - 1;
const reminder = "recorded nothing in the shared memory";

describe("P3: the plugin in the real Claude Code", installing, () => {
  async function installed(skip: (reason: string) => never, script: (asked: Asked) => Turn) {
    const bin = await agentCli("claude", skip);
    const home = temporaryFolder();
    const model = await fakeModel(script);
    const env = {
      ...environmentFor(home),
      CLAUDE_CONFIG_DIR: join(home, ".claude"),
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: "sk-ant-a-key-for-a-model-that-is-none",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
      CLAUDE_CODE_MAX_RETRIES: "2",
    };
    const claude = async (cwd: string, args: string[], input?: string) => {
      const ran = await run(bin, args, { cwd, env }, input);
      expect(ran.code, `${ran.stdout}\n${ran.stderr}`).toBe(0);
      return ran.stdout;
    };
    await claude(repository, ["plugin", "marketplace", "add", "./"]);
    await claude(repository, ["plugin", "install", "scriptorium@scriptorium"]);
    const say = (cwd: string, input: string, ...args: string[]) => {
      const output = ["--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"];
      const allowed = ["--allowedTools", "mcp__plugin_scriptorium_scriptorium,mcp__scriptorium,Bash(sleep:*)"];
      return claude(cwd, ["-p", ...output, ...allowed, ...args], input);
    };
    return { claude, say, asked: model.asked };
  }

  /** What the session began with: the servers with their states, and the plugins. */
  function beginning(stdout: string): { mcp_servers: { name: string; status: string }[]; slash_commands: string[] } {
    const lines = stdout.split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line)).find(({ subtype }) => subtype === "init");
  }

  test("passes the validation of Claude Code and lists its parts", async ({ skip }) => {
    const { claude } = await installed(skip, () => ({ text: "Hello." }));
    for (const path of [".", "plugin", "plugin/jobs"])
      expect(await claude(repository, ["plugin", "validate", "--strict", path]), path).toContain("passed");
    const details = await claude(repository, ["plugin", "details", "scriptorium"]);
    for (const part of ["scriptorium-memory", "plan-run", "scriptorium-incorporate", "recall", "remember", "handoff"])
      expect(details).toContain(part);
    expect(details).toMatch(/Hooks \(4\)/);
  });

  test("a session starts with the catalogue, its prompt recalls a decision, and it is asked once to record its own", async ({
    skip,
  }) => {
    const { root, git } = await soloWorkspace();
    const script = (asked: Asked): Turn => {
      if (asked.turn === 0) return { call: "Write", input: { file_path: join(root, "metrics.js"), content: "// 1\n" } };
      if (!asked.text.includes(reminder)) return { text: "Added." };
      if (asked.text.includes(lesson)) return { text: "Recorded." };
      const tool = toolNamed(asked, "append_log");
      // On a loaded machine the server may not be connected yet.
      if (!tool) return { call: "Bash", input: { command: "sleep 1", description: "wait for the tools" } };
      return { call: tool, input: { id: "lessons", line: lesson } };
    };
    const { say, asked } = await installed(skip, script);
    const output = await say(root, prompt);
    expect(beginning(output).mcp_servers).toEqual([
      { name: "plugin:scriptorium:scriptorium", status: expect.stringMatching(/connected|pending/) },
    ]);
    const names = ["recall", "remember", "handoff", "plan-run", "scriptorium-memory"];
    expect(beginning(output).slash_commands).toEqual(
      expect.arrayContaining(names.map((name) => `scriptorium:${name}`)),
    );

    const first = asked[0]?.text ?? "";
    expect(first).toContain("decisions (log, version 2, writable by agent): Choices and their reasons");
    expect(first).toContain(decision);
    expect(first).toMatch(/data from entry:decisions, line 1/);
    expect(first).toContain("scriptorium:scriptorium-memory");
    expect(first).toContain("scriptorium:plan-run");

    const last = asked.at(-1);
    expect(count(last?.text ?? "", reminder)).toBe(1);
    expect(toolNamed(last as Asked, "search")).toBe("mcp__plugin_scriptorium_scriptorium__search");
    expect(last?.tools.filter((tool) => tool.startsWith("mcp__")).length).toBeLessThanOrEqual(10);
    await expect.poll(() => git("log", "-1", "--format=%an%n%B", "--", "wiki/lessons.md")).toMatch(/^agent\n/);
    expect(git("show", "HEAD:wiki/lessons.md")).toContain(lesson);
  });

  test("a command becomes the instructions of its file, with what was typed", async ({ skip }) => {
    const { root } = await soloWorkspace();
    const { say, asked } = await installed(skip, () => ({ text: "One file is enough." }));
    await say(root, "/scriptorium:recall why SQLite for the cache?");
    expect(asked[0]?.text).toContain("Answer from the shared memory of this repository: why SQLite for the cache?");
    expect(asked[0]?.text).not.toContain("UserPromptSubmit hook additional context");
  });

  test("before a compaction it asks for unrecorded decisions, and after it the catalogue comes back", async ({
    skip,
  }) => {
    const { root } = await soloWorkspace();
    const { say, asked } = await installed(skip, () => ({ text: "Fine." }));
    // A conversation of one message is not compacted.
    await say(root, "Hello there");
    await say(root, "And again", "--continue");
    await say(root, "/compact", "--continue");
    expect(asked.at(-1)?.text).toContain("Not recorded yet");
    await say(root, "And now?", "--continue");
    const last = asked.at(-1)?.text ?? "";
    expect(last).toContain("The conversation was compacted.");
    expect(last).toContain("decisions (log, version 2");
  });

  test("in a project without a workspace it adds no tools, no text and no error", async ({ skip }) => {
    const { say, asked } = await installed(skip, () => ({ text: "Hello." }));
    const output = await say(temporaryFolder(), prompt);
    expect(beginning(output).mcp_servers).toEqual([
      { name: "plugin:scriptorium:scriptorium", status: expect.stringMatching(/connected|pending/) },
    ]);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.tools.filter((tool) => tool.startsWith("mcp__"))).toEqual([]);
    expect(asked[0]?.text).not.toContain("hook additional context");
  });

  test("a server in .mcp.json is the only one with tools", async ({ skip }) => {
    const { root } = await soloWorkspace();
    const server = { command: "scriptorium", args: ["mcp", "--role", "agent"] };
    writeFileSync(join(root, ".mcp.json"), JSON.stringify({ mcpServers: { scriptorium: server } }));
    const wait = { call: "Bash", input: { command: "sleep 1", description: "wait for the tools" } };
    const isThere = (asked: Asked) => asked.turn > 20 || toolNamed(asked, "append_log") !== undefined;
    const { say, asked } = await installed(skip, (one) => (isThere(one) ? { text: "Hello." } : wait));
    await say(root, prompt);
    const tools = asked.at(-1)?.tools.filter((tool) => tool.endsWith("__append_log"));
    expect(tools).toEqual(["mcp__scriptorium__append_log"]);
  });
});

describe("P3: the same plugin in the real Codex", installing, () => {
  test("is installed from this repository: tools, skills, catalogue, recall and the reminder", async ({ skip }) => {
    const bin = await agentCli("codex", skip);
    const { root, git } = await soloWorkspace();
    const home = temporaryFolder();
    const script = (asked: Asked): Turn => {
      if (!asked.text.includes(reminder)) {
        return asked.turn === 0 ? { call: "exec_command", input: { cmd: patch } } : { text: "Added." };
      }
      return asked.text.includes(lesson)
        ? { text: "Recorded." }
        : { call: "mcp__scriptorium/append_log", input: { id: "lessons", line: lesson } };
    };
    const patch = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: metrics.js\n+// 1\n*** End Patch\nE";
    const { url, asked } = await fakeModel(script);
    mkdirSync(join(home, "codex"));
    const provider = `name = "fake"\nbase_url = "${url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n`;
    writeFileSync(
      join(home, "codex/config.toml"),
      `model = "fake"\nmodel_provider = "fake"\n[model_providers.fake]\n${provider}`,
    );
    const env = { ...environmentFor(home), CODEX_HOME: join(home, "codex"), OPENAI_API_KEY: "none" };
    const codex = async (args: string[], input?: string) => {
      const ran = await run(bin, args, { cwd: root, env }, input);
      expect(ran.code, `${ran.stdout}\n${ran.stderr}`).toBe(0);
    };
    await codex(["plugin", "marketplace", "add", repository]);
    await codex(["plugin", "add", "scriptorium@scriptorium"]);
    const flags = [
      "--skip-git-repo-check",
      "--dangerously-bypass-hook-trust",
      "--dangerously-bypass-approvals-and-sandbox",
    ];
    await codex(["exec", "--json", ...flags, "-"], prompt);

    const first = asked[0];
    expect(first?.tools).toContain("mcp__scriptorium");
    for (const name of ["scriptorium-memory", "plan-run"]) expect(first?.text).toContain(`scriptorium:${name}`);
    expect(first?.text).toContain("decisions (log, version 2, writable by agent): Choices and their reasons");
    expect(first?.text).toContain(decision);
    expect(count(asked.at(-1)?.text ?? "", reminder)).toBe(1);
    // Codex may kill the server before it has recorded the line in git; the next command does.
    await run(process.execPath, [join(repository, "dist/scriptorium.js"), "entry", "list"], { cwd: root, env });
    await expect.poll(() => git("log", "-1", "--format=%an", "--", "wiki/lessons.md")).toBe("agent");
    expect(git("show", "HEAD:wiki/lessons.md")).toContain(lesson);
  });
});
