import { describe, expect, test } from "vitest";
import * as z from "zod";
import { modelRunner } from "../src/agents/model.ts";
import type { Limits, RunSpec, Toolset } from "../src/agents/runner.ts";
import { everyone, operation } from "../src/kernel/operation.ts";
import { ok } from "../src/kernel/result.ts";
import { modelServer } from "./support/model-server.ts";
import type { Heard, Reply, ServerOptions } from "./support/model-wire.ts";

const tool = (name: string) =>
  operation({
    name,
    summary: `Do ${name}.`,
    effect: "writes",
    touches: [],
    callers: everyone,
    group: "crew",
    input: z.object({ path: z.string(), content: z.string() }),
    output: z.object({}),
    run: async () => ok({}),
  });

/** Tools of an agent that must deliver with `finish`. */
function desk(answer: (name: string, raw: Record<string, string>) => unknown = () => ({ written: true })) {
  const made: [string, Record<string, string>][] = [];
  const tools: Toolset = {
    operations: ["write", "append", "read", "finish"].map(tool),
    delivers: "finish",
    isDone: () => made.some(([name]) => name === "finish"),
    async call(name, raw) {
      made.push([name, raw as Record<string, string>]);
      return ok(answer(name, raw as Record<string, string>));
    },
  };
  return { made, tools };
}

const wires = [
  { kind: "anthropic", model: "anthropic/claude-haiku-4-5" },
  { kind: "openai", model: "openai/gpt-5-mini" },
  { kind: "openai-compatible", model: "local/llama" },
] as const;

type Case = {
  limits?: Partial<Limits>;
  server?: ServerOptions;
  answer?: Parameters<typeof desk>[0];
  onOutage?(message: string | null): void;
  models?: Parameters<typeof modelRunner>[0]["models"];
};

async function ran(
  wire: { kind: (typeof wires)[number]["kind"]; model: string },
  mind: (heard: Heard, n: number) => Reply,
  { limits, server: options, answer, onOutage, models }: Case = {},
) {
  const server = await modelServer(mind, { counts: true, ...options });
  const provider = { kind: wire.kind, baseUrl: `${server.url}/v1`, key: "sk-test" };
  const runner = modelRunner({
    providers: { anthropic: provider, openai: provider, local: provider },
    retries: { most: 2, firstMs: 5 },
    ...(models ? { models } : {}),
  });
  const { made, tools } = desk(answer);
  const spec: RunSpec = {
    id: "r",
    prompt: "Write the file, then finish.",
    cwd: "/",
    env: {},
    model: wire.model,
    tools,
    limits: { wallMs: 30_000, ...limits },
    ...(onOutage ? { onOutage } : {}),
  };
  return { result: await runner.run(spec, new AbortController().signal), server, made };
}

const call = (name: string, content = "x", path = "a.ts"): Reply => ({ calls: [{ name, input: { path, content } }] });
const saidBefore = (heard: Heard, words: string) => heard.messages.some(({ text }) => text.includes(words));
/** A file of 400 lines, about 6,000 tokens. */
const longFile = Array.from(
  { length: 400 },
  (_, i) => `export const setting${i} = "the value of setting ${i}, in words";`,
);

describe.each(wires)("a model over the API of $kind that keeps to max_tokens", (wire) => {
  test("W1: a worker writes a file of 400 lines in one call within the default limit of a worker", async () => {
    const { result, made } = await ran(
      wire,
      (_heard, n) => (n === 1 ? call("write", longFile.join("\n")) : call("finish")),
      {
        limits: { answerTokens: 16_000 },
      },
    );
    expect(result).toMatchObject({ ended: "exit", exitCode: 0 });
    expect(made.map(([name]) => name)).toEqual(["write", "finish"]);
    expect(made[0]?.[1].content?.split("\n")).toHaveLength(400);
  });

  test("W1: a call that is cut at the limit is not made; the model is told and writes in parts", async () => {
    const whole = longFile.join("\n");
    const parts = [0, 1, 2, 3].map((n) => longFile.slice(n * 100, n * 100 + 100).join("\n"));
    let next = 0;
    const { result, made, server } = await ran(
      wire,
      (heard) => {
        if (!saidBefore(heard, "was cut at its limit of 2000 output tokens")) return call("write", whole);
        return next < parts.length ? call("append", parts[next++]) : call("finish");
      },
      { limits: { answerTokens: 2000 } },
    );
    expect(result).toMatchObject({ ended: "exit", exitCode: 0 });
    expect(made.map(([name]) => name)).toEqual(["append", "append", "append", "append", "finish"]);
    expect(JSON.stringify(server.heard[1]?.messages)).not.toContain("setting0 =");
  });

  test("W1: calls that were complete before the cut are made", async () => {
    const both = {
      calls: [call("write", "short"), call("append", longFile.join("\n"))].flatMap((one) =>
        "calls" in one ? (one.calls ?? []) : [],
      ),
    };
    const { made } = await ran(wire, (_heard, n) => (n === 1 ? both : call("finish")), {
      limits: { answerTokens: 1000 },
    });
    expect(made.map(([name]) => name)).toEqual(["write", "finish"]);
  });

  test("W1: a text that is cut is continued", async () => {
    const { result, server } = await ran(
      wire,
      (_heard, n) => (n === 1 ? { text: longFile.join("\n") } : call("finish")),
      { limits: { answerTokens: 1000 } },
    );
    expect(result.exitCode).toBe(0);
    expect(server.heard[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(server.heard[1]?.messages.at(-1)?.text).toMatch(/cut at its limit of 1000 output tokens.*Continue/);
  });

  test("W1: a model that thinks until its answer is cut ends after three such answers, with the limit named", async () => {
    const { result, server } = await ran(wire, () => ({ reasoning: 5000, text: "so" }), {
      limits: { answerTokens: 800 },
    });
    expect(result).toMatchObject({ ended: "limit", error: "3 answers in a row were cut at 800 output tokens" });
    expect(server.heard).toHaveLength(3);
  });

  test("W10: text without a call gets one reminder that names the missing call, then counts", async () => {
    const once = await ran(wire, (_heard, n) => (n === 1 ? { text: "Let me look first." } : call("finish")));
    expect(once.result.exitCode).toBe(0);
    expect(once.made.map(([name]) => name)).toEqual(["finish"]);
    expect(once.server.heard[1]?.messages.at(-1)?.text).toContain("call finish when you are done");
    const never = await ran(wire, () => ({ text: "I think about it." }));
    expect(never.server.heard).toHaveLength(2);
    expect(never.made).toEqual([]);
  });

  test("W16: a conversation is compacted before it overflows the model's context, and the record says what was removed", async () => {
    const page = "words of a long file ".repeat(700);
    const { result, server, made } = await ran(
      wire,
      (_heard, n) => (n <= 20 ? call("read", "", `src/${n}.ts`) : call("finish")),
      {
        answer: () => ({ content: page }),
        server: { contextTokens: 32_000 },
        models: { [wire.model]: { contextTokens: 32_000 } },
        limits: { answerTokens: 1000 },
      },
    );
    expect(result).toMatchObject({ ended: "exit", exitCode: 0 });
    expect(made).toHaveLength(21);
    expect(server.heard.every((heard) => heard.messages[0]?.text.includes("Write the file"))).toBe(true);
    expect(result.compactions?.[0]).toMatchObject({ removed: expect.arrayContaining(["the result of read"]) });
    expect(result.compactions?.[0]?.characters).toBeGreaterThan(10_000);
  });

  test("W16: a context that is smaller than believed is learned from the server's refusal", async () => {
    const page = "words of a long file ".repeat(700);
    const { result } = await ran(wire, (_heard, n) => (n <= 12 ? call("read", "", `src/${n}.ts`) : call("finish")), {
      answer: () => ({ content: page }),
      server: { contextTokens: 20_000 },
      limits: { answerTokens: 1000 },
    });
    expect(result).toMatchObject({ ended: "exit", exitCode: 0 });
    expect(result.compactions?.length).toBeGreaterThan(0);
  });

  test("W1: an answer limit above the model's own is lowered to it", async () => {
    const { result, server } = await ran(wire, () => call("finish"), {
      server: { answerTokens: 4096 },
      limits: { answerTokens: 16_000 },
    });
    expect(result.exitCode).toBe(0);
    expect(server.heard.map(({ maxTokens }) => maxTokens)).toEqual([16_000, 4096]);
  });

  test("W16: a prompt that can never fit ends with the cause, not with attempts", async () => {
    const { result, server } = await ran(wire, () => call("finish"), {
      server: { contextTokens: 300 },
      limits: { answerTokens: 256 },
    });
    expect(result).toMatchObject({ ended: "limit", error: expect.stringContaining("does not fit into the model") });
    expect(server.heard).toHaveLength(1);
  });

  test.each([
    { status: 401 },
    { status: 403 },
    { status: 404 },
    { status: 429, code: "insufficient_quota", message: "You exceeded your current quota" },
  ])("W6: $status $code in the middle of the work needs a person, at once", async (refusal) => {
    const { result, server } = await ran(wire, (_heard, n) => (n === 1 ? call("write") : refusal), {
      limits: { outageMs: 60_000 },
    });
    expect(result).toMatchObject({ ended: "outage", outage: "person" });
    expect(server.heard).toHaveLength(2);
  });
});

test.each(["ollama", "vllm", "lmstudio"] as const)("calls of a model in %s are performed", async (local) => {
  const two = { calls: ["one.ts", "two.ts"].map((path) => ({ name: "write", input: { path, content: "x" } })) };
  const many = local === "ollama" ? call("write") : two;
  const wire = { kind: "openai-compatible" as const, model: "local/llama" };
  const { result, made } = await ran(wire, (_heard, n) => (n === 1 ? many : call("finish")), { server: { local } });
  expect(result).toMatchObject({ ended: "exit", exitCode: 0 });
  expect(made.map(([name]) => name)).toEqual([
    ...("calls" in many ? (many.calls ?? []) : []).map(() => "write"),
    "finish",
  ]);
});

test("a picture from a tool reaches the model as a picture", async () => {
  const image = { media_type: "image/png", data: "iVBORw0KGgo=" };
  const { server } = await ran(wires[0], (_heard, n) => (n === 1 ? call("read", "", "a.png") : call("finish")), {
    answer: () => ({ image }),
  });
  expect(JSON.stringify(server.heard[1]?.body)).toContain('"media_type":"image/png","data":"iVBORw0KGgo="');
  expect(server.heard[1]?.messages.map(({ text }) => text).join()).not.toContain('\\"data');
});

test("W6: a provider that is out of service is asked again until it answers; the time does not count as the agent's", async () => {
  const told: (string | null)[] = [];
  const out = { status: 503, headers: { "retry-after-ms": "800" } };
  const { result, made } = await ran(
    wires[0],
    (_heard, n) => (n === 1 ? call("write") : n < 9 ? out : call("finish")),
    {
      limits: { wallMs: 5000, outageMs: 60_000 },
      onOutage: (message) => void told.push(message),
    },
  );
  expect(result).toMatchObject({ ended: "exit", exitCode: 0 });
  expect(result.durationMs).toBeGreaterThan(5000);
  expect(made.map(([name]) => name)).toEqual(["write", "finish"]);
  expect(told).toEqual([expect.stringContaining("answered 503"), null]);
});

test("W6: a provider that asks for more time than a run waits is left to a person, with the time", async () => {
  const asked = { status: 429, headers: { "retry-after": "86400" } };
  const { result, server } = await ran(wires[0], () => asked, { limits: { outageMs: 60_000 } });
  expect(result).toMatchObject({ ended: "outage", outage: "person" });
  expect(result.error).toContain("it asks to wait 1440 min");
  expect(server.heard).toHaveLength(1);
});

test("W6: a delay that the provider names as a date is kept", async () => {
  const date = new Date(Date.now() + 2500).toUTCString();
  const { result, server } = await ran(wires[0], (_heard, n) =>
    n === 1 ? { status: 503, headers: { "retry-after": date } } : call("finish"),
  );
  expect(result).toMatchObject({ ended: "exit", exitCode: 0 });
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(date));
  expect(server.heard).toHaveLength(2);
});

test("W6: credit that is used up, which Anthropic reports as 400, costs no attempt and says what to do", async () => {
  const { result } = await ran(wires[0], () => ({
    status: 400,
    code: "invalid_request_error",
    message: "Your credit balance is too low to access the Anthropic API.",
  }));
  expect(result).toMatchObject({ ended: "outage", outage: "person" });
  expect(result.error).toMatch(/the quota is used up .*; raise it with the provider, then resume the run/);
});
