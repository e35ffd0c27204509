import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { delayBefore, retryAfterMs } from "../src/agents/model/failure.ts";
import { costOf, priceOf } from "../src/agents/model/prices.ts";
import { modelRunner } from "../src/agents/model.ts";
import type { Limits, Meter, RunSpec, Toolset, Usage } from "../src/agents/runner.ts";
import { everyone, operation } from "../src/kernel/operation.ts";
import { ok, refuse } from "../src/kernel/result.ts";
import { modelServer } from "./support/model-server.ts";
import type { Reply } from "./support/model-wire.ts";
import { temporaryFolder } from "./support/workspace.ts";

const note = operation({
  name: "note",
  summary: "Write a note.",
  effect: "writes",
  touches: [],
  callers: everyone,
  group: "crew",
  input: z.object({ text: z.string() }),
  output: z.object({ kept: z.string() }),
  run: async (_app, { text }) => ok({ kept: text }),
});

/** Tools that remember what was asked of them. */
function noting(): Toolset & { notes: unknown[] } {
  const notes: unknown[] = [];
  return {
    notes,
    operations: [note],
    call: async (name, raw) => {
      if (name !== "note") return refuse("not_found", `there is no tool ${name}`);
      notes.push(raw);
      return ok({ kept: raw });
    },
  };
}

const wires = [
  { kind: "anthropic", model: "anthropic/claude-haiku-4-5" },
  { kind: "openai", model: "openai/gpt-5-mini" },
  { kind: "openai-compatible", model: "local/llama" },
] as const;

const asks = (text: string): Reply => ({ calls: [{ name: "note", input: { text } }] });

async function ran(
  wire: (typeof wires)[number],
  reply: Parameters<typeof modelServer>[0],
  more: { limits?: Partial<Limits>; meter?: Meter; signal?: AbortSignal; logFile?: string } = {},
) {
  const server = await modelServer(reply);
  const provider = { kind: wire.kind, baseUrl: `${server.url}/v1`, key: "sk-test" };
  const runner = modelRunner({
    providers: { anthropic: provider, openai: provider, local: provider },
    retries: { most: 3, firstMs: 5 },
  });
  const tools = noting();
  const spec: RunSpec = {
    id: "r",
    prompt: "Note three things.",
    system: "You take notes.",
    cwd: "/",
    env: {},
    model: wire.model,
    tools,
    limits: { wallMs: 20_000, ...more.limits },
    ...(more.meter ? { meter: more.meter } : {}),
    ...(more.logFile ? { logFile: more.logFile } : {}),
  };
  const result = await runner.run(spec, more.signal ?? new AbortController().signal);
  return { result, server, notes: tools.notes };
}

describe.each(wires)("the model runner over the wire of $kind", (wire) => {
  test("performs what the model asks for until it asks for nothing more", async () => {
    const { result, server, notes } = await ran(wire, (_heard, n) =>
      n < 3 ? { text: "noting", ...asks(`thing ${n}`), usage: { cacheRead: 40 } } : { text: "done" },
    );
    expect(result).toMatchObject({ exitCode: 0, ended: "exit" });
    expect(notes).toEqual([{ text: "thing 1" }, { text: "thing 2" }]);
    expect(result.usage).toMatchObject({ inputTokens: 300, outputTokens: 30, cacheReadTokens: 80, toolCalls: 2 });
    expect(server.heard[0]).toMatchObject({ system: "You take notes.", tools: ["note"], key: "sk-test" });
    expect(JSON.stringify(server.heard[2]?.messages)).toContain("thing 2");
    if (wire.kind === "openai-compatible") expect(result.costUsd).toBeNull();
    else expect(result.costUsd).toBeGreaterThan(0);
  });

  test("goes on after 429, 500, cut lines and garbage, with the server's delay", async () => {
    const failures: Reply[] = [
      { status: 429, headers: { "retry-after-ms": "10" } },
      { status: 500 },
      { cut: "before" },
      asks("one"),
      { cut: "middle" },
      { garbage: true },
      { text: "done" },
    ];
    const { result, server, notes } = await ran(wire, (_heard, n) => failures[n - 1] ?? { text: "done" });
    expect(result).toMatchObject({ exitCode: 0, ended: "exit" });
    expect(notes).toEqual([{ text: "one" }]);
    expect(server.heard).toHaveLength(7);
  });

  test("gives up after so many failures, and at once on a request that cannot be right", async () => {
    const always = await ran(wire, () => ({ status: 503 }));
    expect(always.result).toMatchObject({ ended: "outage", outage: "passes", error: expect.stringContaining("503") });
    expect(always.server.heard).toHaveLength(4);
    const denied = await ran(wire, () => ({ status: 401 }));
    expect(denied.result).toMatchObject({
      ended: "outage",
      outage: "person",
      error: expect.stringMatching(/rejected the API key \(401: no: 401\)/),
    });
    expect(denied.server.heard).toHaveLength(1);
  });

  test("tells the model about arguments that are no JSON, and about tools that do not exist", async () => {
    const replies: Reply[] = [
      { name: "note", rawArguments: '{"text": "cut of' },
      { calls: [{ name: "constructor", input: {} }] },
      { text: "done" },
    ];
    const { result, server, notes } = await ran(wire, (_heard, n) => replies[n - 1] ?? { text: "done" });
    expect(result.exitCode).toBe(0);
    expect(notes).toEqual([]);
    expect(JSON.stringify(server.heard[1]?.messages)).toContain("send the arguments again");
    expect(JSON.stringify(server.heard[2]?.messages)).toMatch(/constructor/);
  });

  test("takes a refusal for what it is", async () => {
    const { result } = await ran(wire, () => ({ text: "I will not.", refusal: true }));
    expect(result).toMatchObject({ exitCode: 1, ended: "exit", error: "the model refused to answer" });
  });

  test("O7: an agent that never ends is stopped before the tool call past its limit", async () => {
    const { result, notes } = await ran(wire, () => asks("again"), { limits: { toolCalls: 4, messages: 100 } });
    expect(result).toMatchObject({ ended: "limit", exitCode: null, error: "all 4 tool calls are used" });
    expect(notes).toHaveLength(4);
  });

  test("O7: an agent that floods one answer with calls is stopped within them", async () => {
    const flood = { calls: Array.from({ length: 200 }, (_, i) => ({ name: "note", input: { text: `${i}` } })) };
    const { result, notes, server } = await ran(wire, () => flood, { limits: { toolCalls: 7 } });
    expect(result.ended).toBe("limit");
    expect([notes.length, server.heard.length]).toEqual([7, 1]);
  });

  test("W1: the answer limit holds for each answer, and a total is a limit of its own", async () => {
    const chatty = await ran(wire, () => asks("again"), { limits: { messages: 6 } });
    expect(chatty.result).toMatchObject({ ended: "limit", error: "all 6 messages are used" });
    expect(chatty.server.heard).toHaveLength(3);

    const wordy = await ran(wire, () => ({ ...asks("again"), usage: { output: 400 } }), {
      limits: { outputTokens: 1000 },
    });
    expect(wordy.result).toMatchObject({ ended: "limit", error: "all 1000 output tokens are used" });
    expect(wordy.server.heard.map((heard) => heard.maxTokens)).toEqual([1000, 600, 200]);

    const patient = await ran(
      wire,
      (_heard, n) => (n < 9 ? { ...asks(`${n}`), usage: { output: 900 } } : { text: "" }),
      {
        limits: { answerTokens: 1000 },
      },
    );
    expect(patient.result).toMatchObject({ ended: "exit", exitCode: 0 });
    expect(patient.server.heard.map((heard) => heard.maxTokens)).toEqual(Array(9).fill(1000));
  });
});

describe("the model runner", () => {
  const wire = wires[0];

  test("C5: sets aside what a call may cost before it makes it, and puts it right afterwards", async () => {
    const log: string[] = [];
    let left = 3000;
    const meter: Meter = {
      async reserve({ tokens, usd }) {
        if (tokens > left)
          return refuse("refused", `the run's budget has ${left} tokens left, this call may take ${tokens}`);
        expect(usd).toBeGreaterThan(0);
        left -= tokens;
        return ok({
          settle: async (spent) => {
            left += tokens - (spent?.tokens ?? tokens);
            log.push(spent ? `spent ${spent.tokens}` : "kept");
          },
        });
      },
    };
    const { result, server } = await ran(wire, () => ({ ...asks("again"), usage: { input: 800, output: 100 } }), {
      meter,
      limits: { outputTokens: 400 },
    });
    expect(result).toMatchObject({ ended: "limit", error: expect.stringContaining("the run's budget has") });
    expect(log).toEqual(server.heard.map(() => "spent 900"));
    expect(left).toBe(3000 - 900 * server.heard.length);
  });

  test("keeps as spent what a call that broke off may have cost, and frees what was refused", async () => {
    const settled: unknown[] = [];
    const meter: Meter = {
      reserve: async () => ok({ settle: async (spent) => void settled.push(spent) }),
    };
    const replies: Reply[] = [{ status: 529 }, { cut: "middle" }, { text: "done" }];
    await ran(wire, (_heard, n) => replies[n - 1] ?? { text: "done" }, { meter });
    expect(settled).toEqual([{ tokens: 0, usd: 0 }, null, { tokens: 110, usd: expect.any(Number) }]);
  });

  test("ends when it is stopped, when time is up, and when nothing is heard any more", async () => {
    const stop = new AbortController();
    const stopped = ran(wire, () => ({ hang: true }), { signal: stop.signal });
    setTimeout(() => stop.abort(), 50);
    expect((await stopped).result).toMatchObject({ ended: "stopped", exitCode: null });
    expect((await ran(wire, () => ({ hang: true }), { limits: { wallMs: 60 } })).result.ended).toBe("timeout");
    expect((await ran(wire, () => ({ hang: true }), { limits: { idleMs: 60 } })).result.ended).toBe("idle");
  });

  test("says what is missing when it cannot start, and writes its log where it is told", async () => {
    const runner = modelRunner({ providers: { anthropic: { kind: "anthropic" } } });
    const spec: RunSpec = { id: "r", prompt: "p", cwd: "/", env: {}, limits: { wallMs: 1000 } };
    const never = new AbortController().signal;
    expect(await runner.run(spec, never)).toMatchObject({
      ended: "spawn-error",
      error: expect.stringContaining("provider/model"),
    });
    expect(await runner.run({ ...spec, model: "anthropic/x" }, never)).toMatchObject({
      ended: "spawn-error",
      error: expect.stringContaining("needs an API key"),
    });
    const logFile = join(temporaryFolder(), "log");
    await ran(wire, (_heard, n) => (n === 1 ? asks("x") : { text: "bye" }), { logFile });
    const lines = readFileSync(logFile, "utf8");
    expect(lines).toContain("bye");
    expect(lines).not.toContain("sk-test");
  });
});

test("a server's delay is milliseconds, seconds or a date; without one the wait doubles", () => {
  const now = Date.parse("2026-11-15T00:00:00Z");
  expect(retryAfterMs({ "retry-after-ms": "250" })).toBe(250);
  expect(retryAfterMs({ "retry-after": "3" })).toBe(3000);
  expect(retryAfterMs({ "retry-after": "Sun, 15 Nov 2026 00:00:05 GMT" }, now)).toBe(5000);
  expect(retryAfterMs({})).toBeUndefined();
  expect([1, 2, 3].map((n) => delayBefore(n, { delayMs: undefined }, 1000, 0.5))).toEqual([1000, 2000, 4000]);
});

test("a price is known for the model itself and its dated names, and null for every other", () => {
  const usage: Usage = {
    inputTokens: 1_000_000,
    outputTokens: 100_000,
    cacheReadTokens: 500_000,
    cacheWriteTokens: 0,
    toolCalls: null,
    messages: null,
  };
  expect(costOf(priceOf("anthropic/claude-haiku-4-5-20251001"), usage)).toBeCloseTo(0.5 + 0.05 + 0.5);
  expect(priceOf("openai/gpt-5-mini")?.input).toBe(0.25);
  for (const unknown of ["openai/gpt-5-codex-max", "ollama/qwen3", "anthropic/claude-haiku-9", "constructor"]) {
    expect(costOf(priceOf(unknown), usage)).toBeNull();
  }
  expect(priceOf("ollama/qwen3", { "ollama/qwen3": { input: 0, output: 0 } })).toEqual({ input: 0, output: 0 });
  expect(costOf(priceOf("openai/gpt-5"), { ...usage, inputTokens: null })).toBeNull();
});
