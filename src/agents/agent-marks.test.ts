import { platform } from "node:process";
import { describe, expect, test } from "vitest";
import { agentMark, jobMark } from "./agent-marks.ts";
import { ancestors, type ProcessInfo, processInPs, psLine } from "./ancestors.ts";

const process = (args: string[], env: Record<string, string> = {}): ProcessInfo => ({ pid: 7, parent: 1, args, env });
const shell = process(["-zsh"], { TERM_PROGRAM: "vscode", CURSOR_TRACE_ID: "1", CLAUDE_CODE_SSE_PORT: "4711" });
const terminal = process(["/usr/share/cursor/cursor", "--no-sandbox"], { VSCODE_PID: "12" });

describe("V1, S6: a process belongs to an agent", () => {
  test.each([
    ["CLAUDECODE", "1", "Claude Code"],
    ["CODEX_THREAD_ID", "x", "Codex"],
    ["GEMINI_CLI", "1", "Gemini CLI"],
    ["SCRIPTORIUM_RUN", "run-1", "an agent of Scriptorium"],
    ["AGENT", "amp", "an AI agent"],
  ])("when it or an ancestor has %s=%s", (name, value, agent) => {
    expect(agentMark({ [name]: value }, [])).toEqual({ agent, because: `${name} is set` });
    const inherited = [shell, process(["bash"], { [name]: value }), terminal];
    expect(agentMark({}, inherited)).toEqual({ agent, because: `${name} is set in its parent process 7` });
  });

  test.each([
    [["claude"], "Claude Code"],
    [["/home/ada/.local/bin/claude", "-p", "hello"], "Claude Code"],
    [["node", "--no-warnings", "/usr/lib/node_modules/.bin/gemini"], "Gemini CLI"],
    [["/usr/bin/python3.12", "/home/ada/.local/bin/aider"], "Aider"],
    [["/opt/codex.exe"], "Codex"],
  ])("when an ancestor runs %j", (args, agent) => {
    expect(agentMark({}, [shell, process(args)])?.agent).toBe(agent);
  });

  test("but not a person's terminal, in an IDE or beside an agent", () => {
    expect(agentMark({ TERM: "xterm", AGENT: "" }, [shell, terminal])).toBeUndefined();
    const editor = process(["vim", "claude"], { ANTHROPIC_API_KEY: "k", CODEX_HOME: "/home/ada/.codex" });
    expect(agentMark({ AGENT: "build-agent-7" }, [editor, process(["node", "-e", "1"])])).toBeUndefined();
  });
});

test("R11, V1: a command belongs to the job of its ancestors, and cannot name another one", () => {
  const inJob = [shell, process(["sh"], { SCRIPTORIUM_JOB: "j-1" })];
  expect(jobMark({}, inJob)).toEqual({ ok: true, value: "j-1" });
  expect(jobMark({ SCRIPTORIUM_JOB: "j-1" }, inJob)).toEqual({ ok: true, value: "j-1" });
  expect(jobMark({ SCRIPTORIUM_JOB: "j-2" }, inJob)).toMatchObject({ ok: false, problem: { code: "denied" } });
  expect(jobMark({}, [shell])).toEqual({ ok: true, value: undefined });
});

test.runIf(platform === "linux")("ps lists the same parent processes as /proc", async () => {
  const [parent, ...older] = await ancestors();
  expect(older.at(-1)?.pid).toBe(1);
  const inPs = (await processInPs())(parent?.pid ?? 0);
  expect(inPs).toMatchObject({ pid: parent?.pid, parent: parent?.parent, env: { PATH: parent?.env.PATH } });
});

test("the line of a process in the output of ps has its arguments and environment", () => {
  const [info] = psLine("  812   801 /bin/zsh -l PATH=/bin CLAUDECODE=1 EMPTY=");
  expect(info).toMatchObject({ pid: 812, parent: 801, env: { PATH: "/bin", CLAUDECODE: "1", EMPTY: "" } });
  expect(agentMark({}, info ? [info] : [])?.agent).toBe("Claude Code");
  expect(psLine("")).toEqual([]);
});
