import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { allowed } from "../src/agents/environment.ts";
import { claudeListener } from "../src/agents/programs/claude.ts";
import { codexListener } from "../src/agents/programs/codex.ts";
import { commandRunner } from "../src/agents/programs/command.ts";
import type { Limits, RunResult, RunSpec } from "../src/agents/runner.ts";
import { survivors } from "../src/agents/survivors.ts";
import { temporaryFolder } from "./support/workspace.ts";

const quick = { interruptMs: 150, terminateMs: 150 };
let runs = 0;

type Case = { limits?: Partial<Limits>; signal?: AbortSignal; prompt?: string; env?: Record<string, string> };

/** Runs a small shell program as an agent, and checks that nothing of it is left. */
async function runScript(text: string, given: Case = {}): Promise<RunResult & { log: string; cwd: string }> {
  const cwd = temporaryFolder();
  const file = join(cwd, "agent.sh");
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  const spec: RunSpec = {
    id: `run-${process.pid}-${runs++}`,
    prompt: given.prompt ?? "the prompt",
    cwd,
    env: { PATH: process.env.PATH ?? "", ...given.env },
    limits: { wallMs: 20_000, ...given.limits },
    logFile: join(cwd, "log", "agent.log"),
  };
  const result = await commandRunner([file], quick).run(spec, given.signal ?? new AbortController().signal);
  expect(await survivors(spec.id)).toEqual([]);
  return { ...result, cwd, log: readFileSync(spec.logFile ?? "", "utf8") };
}

describe("R8, R18: a program run as an agent", () => {
  test("gets its prompt on stdin, which then ends, and only the environment it is given", async () => {
    const { log, ended, exitCode, costUsd, usage } = await runScript("cat; echo; env", { prompt: "do ünïque things" });
    expect({ ended, exitCode, costUsd }).toEqual({ ended: "exit", exitCode: 0, costUsd: null });
    expect(Object.values(usage)).toEqual([null, null, null, null, null, null]);
    expect(log).toContain("do ünïque things\n");
    expect(log).toContain("SCRIPTORIUM_RUN=run-");
    expect(log).not.toContain("HOME=");
  });

  test("is told apart by its exit code, and its last words on stderr are kept", async () => {
    expect(await runScript("echo starting; echo 'no such model' >&2; exit 3")).toMatchObject({
      ended: "exit",
      exitCode: 3,
      errorTail: "no such model\n",
      log: expect.stringContaining("starting"),
    });
  });

  test("takes its time out of one budget: past the wall clock it is ended, and what it said is kept", async () => {
    const result = await runScript("echo half >&2; exec sleep 60", { limits: { wallMs: 200 } });
    expect(result).toMatchObject({ ended: "timeout", errorTail: "half\n", error: expect.stringContaining("200 ms") });
  });

  test("T31: is ended when it says nothing for too long", async () => {
    const result = await runScript("echo one; exec sleep 60", { limits: { idleMs: 200 } });
    expect(result).toMatchObject({ ended: "idle", log: "one\n" });
  });

  test("is killed when it ignores every kinder signal", async () => {
    const text = `trap "" INT TERM\necho deaf >&2\nwhile true; do sleep 1; done`;
    expect(await runScript(text, { limits: { wallMs: 300 } })).toMatchObject({ ended: "timeout", exitCode: null });
  });

  test("T30: takes what it started in sessions of their own with it, after a clean exit as well", async () => {
    const child = "setsid sh -c 'trap \"\" TERM HUP; while true; do sleep 1; done' >/dev/null 2>&1 &";
    expect(await runScript(`${child}\nsleep 0.1; exit 0`)).toMatchObject({ ended: "exit", exitCode: 0 });
    expect(await runScript(`${child}\nexec sleep 60`, { limits: { wallMs: 300 } })).toMatchObject({ ended: "timeout" });
  });

  test("is not waited for when a child keeps its stdout open", async () => {
    expect(await runScript("setsid sleep 60 &\nexit 0")).toMatchObject({ ended: "exit", exitCode: 0 });
  });

  test("may flood stderr: memory and log stay bounded, the last 4 KiB are kept", async () => {
    const before = process.memoryUsage().rss;
    const flood = "head -c 1000000000 /dev/zero >&2; echo the end >&2; exit 1";
    const { errorTail, exitCode, cwd } = await runScript(flood, { limits: { wallMs: 60_000 } });
    expect({ exitCode, length: errorTail.length, end: errorTail.slice(-8) }).toEqual({
      exitCode: 1,
      length: 4096,
      end: "the end\n",
    });
    expect(statSync(join(cwd, "log", "agent.log")).size).toBeLessThan(70 * 1024 * 1024);
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024);
  });

  test("is ended when its caller gives up, and never started when they had given up before", async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 200);
    expect(await runScript("exec sleep 60", { signal: stop.signal })).toMatchObject({ ended: "stopped" });
  });

  test("that cannot be started is told as such", async () => {
    const cwd = temporaryFolder();
    const file = join(cwd, "agent");
    writeFileSync(file, "no program", { mode: 0o644 });
    const spec = { id: "none", prompt: "x", cwd, env: {}, limits: { wallMs: 5000 } };
    for (const argv of [[file], [join(cwd, "missing")], [process.execPath, "x".repeat(3_000_000)]]) {
      const result = await commandRunner(argv).run(spec, new AbortController().signal);
      expect(result).toMatchObject({
        ended: "spawn-error",
        exitCode: null,
        error: expect.stringMatching(/EACCES|ENOENT|E2BIG/),
      });
    }
  });

  test("T26: gets prompt, folder and model as single arguments, whatever characters they have", async () => {
    const cwd = temporaryFolder();
    const prompt = `$(touch ${cwd}/owned) ; "x" 'y' \n {model}`;
    const argv = [
      "/bin/sh",
      "-c",
      'printf "%s|" "$@"; cat "$4"',
      "agent",
      "{prompt}",
      "{cwd}",
      "m={model}",
      "{prompt_file}",
    ];
    const logFile = join(cwd, "log");
    const spec = {
      id: "args",
      prompt,
      cwd,
      env: { PATH: process.env.PATH ?? "" },
      limits: { wallMs: 5000 },
      model: "m1",
      logFile,
    };
    await commandRunner(argv).run(spec, new AbortController().signal);
    const [first, second, third] = readFileSync(logFile, "utf8").split("|");
    expect([first, second, third]).toEqual([prompt, cwd, "m=m1"]);
    expect(readFileSync(logFile, "utf8").endsWith(prompt)).toBe(true);
  });
});

test("T19: an agent's environment is an allow-list", () => {
  const env = {
    PATH: "/bin",
    HOME: "/home/ada",
    AWS_SECRET_ACCESS_KEY: "s",
    ANTHROPIC_API_KEY: "k",
    MY_TOKEN: "t",
    X: undefined,
  };
  expect(allowed(env, ["MY_TOKEN", "ANTHROPIC_API_KEY"])).toEqual({
    PATH: "/bin",
    HOME: "/home/ada",
    ANTHROPIC_API_KEY: "k",
    MY_TOKEN: "t",
  });
});

describe("what a CLI says it used", () => {
  const control = () => {
    const seen: string[] = [];
    return {
      seen,
      sawResult: () => seen.push("result"),
      stop: (_why: string, error?: string) => seen.push(error ?? ""),
    };
  };

  test("claude repeats a message for each of its blocks: it is counted once", () => {
    const listener = claudeListener({ wallMs: 1 });
    const said = control();
    const block = (id: string, content: object) =>
      JSON.stringify({ type: "assistant", message: { id, content: [content], usage: { output_tokens: 7 } } });
    for (const line of [
      "not json",
      '{"type":"system"}',
      block("m1", { type: "text" }),
      block("m1", { type: "tool_use", id: "t1" }),
      block("m2", { type: "text" }),
      '{"total_cost_usd":0.25,"usage":{"output_tokens":14,"input_tokens":3,"cache_read_input_tokens":0},"type":"result","subtype":"success","is_error":false}',
    ])
      listener.line(line, said as never);
    expect(said.seen).toEqual(["result"]);
    expect(listener.summary()).toEqual({
      costUsd: 0.25,
      usage: {
        inputTokens: 3,
        outputTokens: 14,
        cacheReadTokens: 0,
        cacheWriteTokens: null,
        toolCalls: 1,
        messages: 2,
      },
    });
  });

  test("an error that claude calls success is an error; a silent claude used we know not what", () => {
    const listener = claudeListener({ wallMs: 1 });
    expect(listener.summary()).toMatchObject({ costUsd: null, usage: { outputTokens: null, toolCalls: null } });
    listener.line(
      '{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529"}',
      control() as never,
    );
    expect(listener.summary()).toMatchObject({ error: "API Error: 529" });
  });

  test("codex counts cached tokens as input: they are told apart, and its cost is not known", () => {
    const listener = codexListener({ wallMs: 1, toolCalls: 1 });
    const said = control();
    for (const line of [
      '{"type":"item.completed","item":{"type":"mcp_tool_call"}}',
      '{"type":"item.completed","item":{"type":"mcp_tool_call"}}',
      '{"type":"item.completed","item":{"type":"agent_message"}}',
      '{"type":"turn.completed","usage":{"input_tokens":30,"cached_input_tokens":10,"output_tokens":5}}',
    ])
      listener.line(line, said as never);
    expect(said.seen).toContain("exceeded its limit of 1 tool calls");
    expect(listener.summary()).toEqual({
      costUsd: null,
      reached: "toolCalls",
      usage: {
        inputTokens: 20,
        outputTokens: 5,
        cacheReadTokens: 10,
        cacheWriteTokens: null,
        toolCalls: 2,
        messages: 1,
      },
    });
  });
});
