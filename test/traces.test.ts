import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { agentSpans } from "../src/http/trace-spans.ts";
import { startTraces } from "../src/http/traces.ts";
import { lastEventId } from "../src/store/events.ts";
import { findMeta, setMeta } from "../src/store/queries/meta.ts";
import { serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, verdictOf, writes } from "./support/crew.ts";
import type { Json } from "./support/requests.ts";
import { newWorkspace, sampledEngines } from "./support/workspace.ts";

type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code?: number };
  attributes: Record<string, unknown>;
};

/** A collector of OpenTelemetry on loopback, which answers with `status`. */
async function startCollector() {
  const collector = { url: "", status: 200, spans: [] as Span[], text: "", headers: [] as unknown[], path: "" };
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    if (collector.status === 200) {
      collector.text += text;
      collector.headers.push(request.headers.authorization);
      collector.path = request.url ?? "";
      collector.spans.push(...spansIn(JSON.parse(text)));
    }
    response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return collector;
}

const spansIn = (body: Json): Span[] =>
  body.resourceSpans.flatMap((one: Json) =>
    one.scopeSpans.flatMap((scope: Json) =>
      scope.spans.map((span: Json) => ({
        ...span,
        attributes: Object.fromEntries(span.attributes.map(({ key, value }: Json) => [key, Object.values(value)[0]])),
      })),
    ),
  );

describe.each(sampledEngines)("traces, on %s", (engine) => {
  test("O5: a collector gets run, attempts, agents and tool calls as one tree, once, without any text of them", async () => {
    const { app, root } = await newWorkspace({ engine, config: "crew: {sandbox: none}\n" });
    const collector = await startCollector();
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20collector-key",
    };
    await serve(root, env);
    await serve(root, env);
    const run = await newRun(app, [planned("0"), planned("1.1")], "canary-request");
    let rejections = 0;
    const agents = playing({
      worker: writes((number) => `canary-deliverable ${number}\n`),
      qc: async (scene) => {
        if (scene.number === "1.1" && rejections++ === 0) await scene.use("submit_verdict", verdictOf(false));
        else await passes(scene);
      },
    });
    await executed(app, run, agents, { budgetTokens: 100_000 });

    const named = (name: string) => collector.spans.filter((span) => span.name === name);
    await expect.poll(() => named("run").length, { timeout: 30_000 }).toBe(1);
    const [top] = named("run");
    const byId = new Map(collector.spans.map((span) => [span.spanId, span]));
    expect(byId.size).toBe(collector.spans.length);
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1);
    const tree = collector.spans.map(({ name, parentSpanId }) => [name, byId.get(parentSpanId ?? "")?.name]);
    expect(named("attempt 1.1").length).toBe(2);
    expect(tree).toEqual(
      expect.arrayContaining([
        ["run", undefined],
        ["attempt 1.1", "run"],
        ["invoke_agent worker", "attempt 1.1"],
        ["invoke_agent qc", "attempt 1.1"],
        ["execute_tool submit_verdict", "invoke_agent qc"],
      ]),
    );
    // Only the run has no parent.
    expect(tree.filter(([, parent]) => parent === undefined)).toEqual([["run", undefined]]);
    expect(top?.attributes).toMatchObject({ "scriptorium.run.id": run, "scriptorium.run.state": "completed" });
    expect(
      named("attempt 1.1")
        .map(({ status }) => status.code ?? 0)
        .sort(),
    ).toEqual([0, 2]);
    expect(named("invoke_agent worker")[0]?.attributes).toMatchObject({
      ...{ "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "worker", "scriptorium.run.id": run },
    });
    expect(named("execute_tool submit_verdict")[0]?.attributes).toMatchObject({
      ...{ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "submit_verdict" },
    });
    for (const span of collector.spans)
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));
    expect(collector.text).not.toMatch(/canary|collector-key/);
    expect(new Set(collector.headers)).toEqual(new Set(["Bearer collector-key"]));
    expect(collector.path).toBe("/v1/traces");
  });

  test("O5: what ended while no server ran, or while the collector refused, is sent by the next server", async () => {
    const { app, root } = await newWorkspace({ engine, config: "crew: {sandbox: none}\n" });
    const collector = await startCollector();
    const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/own` };
    const first = await serve(root, env);
    collector.status = 400;
    const agents = playing({ worker: writes(), qc: passes });
    const runs = [await newRun(app, [planned("0")])];
    await executed(app, runs[0] ?? "", agents);
    await first.stop();
    runs.push(await newRun(app, [planned("0")]));
    await executed(app, runs[1] ?? "", agents);
    expect(collector.spans).toEqual([]);
    collector.status = 200;
    await serve(root, env);
    const sent = () =>
      collector.spans.filter(({ name }) => name === "run").map((span) => span.attributes["scriptorium.run.id"]);
    await expect.poll(sent, { timeout: 30_000 }).toEqual(runs);
    expect(collector.path).toBe("/own");
  });

  test("O5: of two servers that take over at the same time one sends, and the position does not go back", async () => {
    const { app, open } = await newWorkspace({ engine, config: "crew: {sandbox: none}\n" });
    const collector = await startCollector();
    const run = await newRun(app, [planned("0")]);
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    const apps = [app, await open(), await open(), await open()];
    await app.db.write((tx) => setMeta(tx, "traces", JSON.stringify({ cursor: "0", owner: "gone", until: 1 })));
    const senders = apps.map((one) => startTraces(one, { url: `${collector.url}/v1/traces`, headers: {} }));
    const sent = () => collector.spans.filter(({ name }) => name === "run").length;
    await expect.poll(sent).toBeGreaterThan(0);
    await expect
      .poll(async () => JSON.parse((await findMeta(app.db.read, "traces")) ?? "{}").cursor)
      .toBe(await lastEventId(app.db));
    await Promise.all(senders.map((sender) => sender.stop()));
    expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(collector.spans.length);
  });

  test("O5: without a collector nothing is sent and no position is kept", async () => {
    const { app, root } = await newWorkspace({ engine });
    await serve(root);
    const rows = await app.db.read.selectFrom("meta").select("key").where("key", "=", "traces").execute();
    expect(rows).toEqual([]);
  });
});

test("O5: a model call is a span of its agent, and a program's one reservation is not taken for a call", () => {
  const context = {
    ...{ id: "c-1", run_id: "run-1", task_id: null, epoch: null, attempt: null, part: "pm" as const, agent: "planner" },
    ...{ runner: "model", model: "anthropic/m-1", characters: 1, tokens: 1, repeats: 0, repeat_characters: 0 },
    ...{ removed_characters: 0, started_at: "2026-11-18T10:00:00.000Z", ended_at: "2026-11-18T10:01:00.000Z" },
    ...{ ended: "exit", input_tokens: 900, output_tokens: 80, cache_read_tokens: null, cache_write_tokens: null },
    ...{ tool_calls: 0, messages: 2, cost_usd: 0.01 },
  };
  const at = "2026-11-18T10:00:05.000Z";
  const calls = [
    {
      id: "s-1",
      model: "anthropic/m-1",
      tokens: 400,
      usd: 0.004,
      at,
      settled_at: "2026-11-18T10:00:09.000Z",
      state: "settled" as const,
    },
    { id: "s-2", model: "anthropic/m-1", tokens: null, usd: null, at, settled_at: null, state: "reserved" as const },
  ];
  const [agent, ...chats] = agentSpans({ context, attempt: undefined, calls, tools: [] });
  expect(agent).toMatchObject({ name: "invoke_agent pm", error: undefined });
  expect(agent?.attributes).toMatchObject({ "gen_ai.usage.input_tokens": 900, "gen_ai.usage.output_tokens": 80 });
  expect(
    chats.map(({ name, parent, isClient, attributes }) => [
      name,
      parent,
      isClient,
      attributes["gen_ai.operation.name"],
      attributes["gen_ai.provider.name"],
      attributes["gen_ai.request.model"],
    ]),
  ).toEqual([["chat m-1", agent?.id, true, "chat", "anthropic", "m-1"]]);
  const program = agentSpans({
    context: { ...context, runner: "claude", model: "opus" },
    attempt: undefined,
    calls,
    tools: [],
  });
  expect(program.map(({ name }) => name)).toEqual(["invoke_agent pm"]);
  expect(program[0]?.attributes).toMatchObject({ "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "opus" });
});
