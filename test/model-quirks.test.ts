import { createServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { modelRunner } from "../src/agents/model.ts";
import type { Limits, RunSpec, Toolset } from "../src/agents/runner.ts";
import { everyone, operation } from "../src/kernel/operation.ts";
import { ok } from "../src/kernel/result.ts";

type Answer = { status?: number; headers?: Record<string, string>; body: string };
type Sent = { messages: { role: string; content: unknown; tool_calls?: { id: string; function: unknown }[] }[] };

/** A server that sends these answers byte by byte as given, and keeps the bodies of requests. */
async function rawServer(answers: Answer[]) {
  const sent: Sent[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    sent.push(JSON.parse(Buffer.concat(chunks).toString("utf8")) as Sent);
    const { status = 200, headers, body } = answers[sent.length - 1] ?? { body: "" };
    const type = body.startsWith("{") ? "application/json" : "text/event-stream";
    response.writeHead(status, { "content-type": type, ...headers }).end(body);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`, sent };
}

const tool = (name: string) =>
  operation({
    ...{ name, input: z.object({ path: z.string() }), output: z.object({}), summary: `Do ${name}.` },
    ...{ effect: "writes", touches: [], callers: everyone, group: "crew", run: async () => ok({}) },
  });

async function ran(kind: "anthropic" | "openai-compatible", answers: Answer[], limits: Partial<Limits> = {}) {
  const { url, sent } = await rawServer(answers);
  const made: [string, unknown][] = [];
  const retries: string[] = [];
  const tools: Toolset = {
    operations: ["read", "finish"].map(tool),
    delivers: "finish",
    isDone: () => made.some(([name]) => name === "finish"),
    async call(name, raw) {
      made.push([name, raw]);
      return ok({ done: name });
    },
  };
  const runner = modelRunner({
    providers: { any: { kind, baseUrl: url, key: "k" } },
    retries: { most: 2, firstMs: 1 },
  });
  const spec: RunSpec = {
    id: "r",
    prompt: "Go.",
    cwd: "/",
    env: {},
    model: "any/model",
    tools,
    limits: { wallMs: 9000, ...limits },
  };
  const result = await runner.run({ ...spec, onRetry: (why) => retries.push(why) }, new AbortController().signal);
  return { result, sent, made: made.map(([name]) => name), inputs: made.map(([, input]) => input), retries };
}

const chunk = (data: object) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", ...data })}\n\n`;
const delta = (one: object, finish_reason: string | null = null) =>
  chunk({ choices: [{ index: 0, delta: one, finish_reason }] });
const callOf = (name: string, args: unknown, id: string | null, index = 0) => ({
  tool_calls: [{ index, id, type: "function", function: { name, arguments: args } }],
});
const done = "data: [DONE]\n\n";
const answer = (...parts: string[]): Answer => ({ body: [...parts, done].join("") });
const finish = answer(delta(callOf("finish", '{"path":"x"}', "f1")), delta({}, "tool_calls"));

const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const message = { id: "m", type: "message", role: "assistant", model: "model", content: [], stop_reason: null };
const usage = { input_tokens: 5, output_tokens: 5 };
const blocks = (stop_reason: string, ...content: { start: object; deltas?: object[] }[]): Answer => ({
  body: [
    event("message_start", { message: { ...message, usage } }),
    ...content.flatMap(({ start, deltas = [] }, index) => [
      event("content_block_start", { index, content_block: start }),
      ...deltas.map((one) => event("content_block_delta", { index, delta: one })),
      event("content_block_stop", { index }),
    ]),
    event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage }),
    event("message_stop", {}),
  ].join(""),
});
const toolUse = (id: string, name: string, json: string) => ({
  start: { type: "tool_use", id, name, input: {} },
  deltas: [{ type: "input_json_delta", partial_json: json }],
});
const finishes = blocks("tool_use", toolUse("f", "finish", '{"path":"x"}'));

describe("answers that are not as documented", () => {
  test.each([
    [
      "arguments as an object instead of text",
      [answer(delta(callOf("read", { path: "a" }, "1")), delta({}, "tool_calls")), finish],
    ],
    [
      "arguments in pieces with null ids and names",
      [
        answer(
          delta(callOf("read", '{"pa', "1")),
          delta({ tool_calls: [{ index: 0, id: null, function: { name: null, arguments: 'th":"a"}' } }] }),
          delta({}, "tool_calls"),
        ),
        finish,
      ],
    ],
    ["no id", [answer(delta(callOf("read", '{"path":"a"}', null)), delta({}, "tool_calls")), finish]],
    [
      "null content beside a call",
      [
        answer(
          delta({ role: "assistant", content: null, ...callOf("read", '{"path":"a"}', "1") }),
          delta({}, "tool_calls"),
        ),
        finish,
      ],
    ],
    [
      "usage that is null",
      [
        answer(
          delta(callOf("read", '{"path":"a"}', "1")),
          chunk({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }], usage: null }),
        ),
        finish,
      ],
    ],
  ])("W1: %s: the call is made", async (_what, answers) => {
    const { made, inputs, result } = await ran("openai-compatible", answers);
    expect(result).toMatchObject({ ended: "exit", exitCode: 0 });
    expect(made).toEqual(["read", "finish"]);
    expect(inputs[0]).toEqual({ path: "a" });
  });

  test.each([
    ["an empty list of calls and no text", [answer(delta({ content: "", tool_calls: [] }), delta({}, "stop"))]],
    ["null content and nothing else", [answer(delta({ role: "assistant", content: null }), delta({}, "stop"))]],
    ["thoughts only", [answer(delta({ reasoning_content: "Let me see." }), delta({}, "stop"))]],
  ])("W10: %s: the model is reminded, and the next request is one that servers accept", async (_what, answers) => {
    const { made, sent } = await ran("openai-compatible", [...answers, finish]);
    expect(made).toEqual(["finish"]);
    expect(JSON.stringify(sent[1]?.messages)).toContain("Your answer called no tool");
    for (const { role, content, tool_calls } of sent[1]?.messages ?? [])
      if (role === "assistant") expect([content, tool_calls]).not.toEqual(["", undefined]);
    expect(sent[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  });

  test.each([
    ["nothing at all", blocks("end_turn")],
    ["an empty text", blocks("end_turn", { start: { type: "text", text: "" } })],
    [
      "blanks",
      blocks("end_turn", { start: { type: "text", text: "" }, deltas: [{ type: "text_delta", text: " \n" }] }),
    ],
  ])("W10: %s over Anthropic's API: no request has an empty message or text", async (_what, first) => {
    const { made, sent } = await ran("anthropic", [first, finishes]);
    expect(made).toEqual(["finish"]);
    for (const { content } of sent[1]?.messages ?? []) {
      expect(content).not.toEqual([]);
      for (const part of content as { type: string; text?: string }[])
        if (part.type === "text") expect(part.text?.trim()).not.toBe("");
    }
  });

  test("W1: calls with the same id are both made, and answered under ids that differ", async () => {
    const twice = blocks("tool_use", toolUse("same", "read", '{"path":"a"}'), toolUse("same", "read", '{"path":"b"}'));
    const { made, inputs, sent } = await ran("anthropic", [twice, finishes]);
    expect(made).toEqual(["read", "read", "finish"]);
    expect(inputs.slice(0, 2)).toEqual([{ path: "a" }, { path: "b" }]);
    const ids = (kind: string, field: string) =>
      (sent[1]?.messages ?? []).flatMap(({ content }) =>
        (content as Record<string, string>[]).filter(({ type }) => type === kind).map((part) => part[field]),
      );
    expect(new Set(ids("tool_use", "id")).size).toBe(2);
    expect(ids("tool_result", "tool_use_id")).toEqual(ids("tool_use", "id"));
  });

  test("W1: an id that an earlier answer had is not used again", async () => {
    const again = blocks("tool_use", toolUse("call_0", "read", '{"path":"a"}'));
    const { sent } = await ran("anthropic", [again, again, finishes]);
    const used = (sent[2]?.messages ?? []).flatMap(({ content }) =>
      (content as Record<string, string>[]).filter(({ type }) => type === "tool_use").map(({ id }) => id),
    );
    expect(used).toHaveLength(2);
    expect(new Set(used).size).toBe(2);
  });

  test.each(["anthropic", "openai-compatible"] as const)(
    "W1: arguments that are not JSON stand in the next request as an object, which %s requires",
    async (kind) => {
      const broken = '{"path": "a';
      const first =
        kind === "anthropic"
          ? blocks("tool_use", toolUse("t", "read", broken))
          : answer(delta(callOf("read", broken, "1")), delta({}, "tool_calls"));
      const { made, sent } = await ran(kind, [first, kind === "anthropic" ? finishes : finish]);
      expect(made).toEqual(["finish"]);
      const said = sent[1]?.messages.find(({ role }) => role === "assistant");
      const [part] = (said?.content ?? []) as { input: unknown }[];
      const [call] = (said?.tool_calls ?? []) as { function: { arguments: string } }[];
      const input = kind === "anthropic" ? part?.input : JSON.parse(call?.function.arguments ?? "null");
      expect(input).toEqual(expect.any(Object));
    },
  );

  test("W1: of parallel calls of which the last is cut at the limit, the whole ones are made and the rest is told", async () => {
    const cut = answer(
      delta(callOf("read", '{"path":"a"}', "1", 0)),
      delta(callOf("read", '{"path":"b"}', "2", 1)),
      delta(callOf("read", '{"pat', "3", 2)),
      delta({}, "length"),
    );
    const { made, inputs, sent } = await ran("openai-compatible", [cut, finish]);
    expect(made).toEqual(["read", "read", "finish"]);
    expect(inputs.slice(0, 2)).toEqual([{ path: "a" }, { path: "b" }]);
    const said = sent[1]?.messages.find(({ role }) => role === "assistant");
    expect(said?.tool_calls).toHaveLength(2);
    expect(sent[1]?.messages.filter(({ role }) => role === "tool")).toHaveLength(2);
    expect(JSON.stringify(sent[1]?.messages.at(-1))).toContain("was cut at its limit");
  });

  test.each([
    ["ends without a reason to finish", "openai-compatible", { body: delta(callOf("read", '{"path":"a"}', "1")) }],
    [
      "ends in the middle of a line",
      "openai-compatible",
      { body: `${delta({ content: "I" })}data: {"choices": [{"del` },
    ],
    [
      "brings an error in the stream",
      "openai-compatible",
      { body: `${delta({ content: "I" })}data: {"error": {"message": "overloaded", "code": 503}}\n\n` },
    ],
    ["is JSON instead of a stream", "openai-compatible", { body: '{"error": {"message": "no capacity"}}' }],
    [
      "brings overloaded_error in the stream",
      "anthropic",
      {
        body:
          event("message_start", { message: { ...message, usage } }) +
          event("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
      },
    ],
  ] as const)("W6: an answer that %s is asked for again, and nothing of it is done", async (_how, kind, first) => {
    const { made, retries } = await ran(kind, [first, kind === "anthropic" ? finishes : finish]);
    expect(made).toEqual(["finish"]);
    expect(retries).toHaveLength(1);
  });
});
