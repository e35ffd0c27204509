import { describe, expect, test } from "vitest";
import * as z from "zod";
import { offeredTools } from "../src/agents/model/offered-tools.ts";
import { modelRunner } from "../src/agents/model.ts";
import type { RunSpec, Toolset } from "../src/agents/runner.ts";
import { briefInput } from "../src/crew/agent/brief-input.ts";
import { deskTools } from "../src/crew/agent/desk.ts";
import { diffTool } from "../src/crew/agent/desk-diff.ts";
import { rareTools } from "../src/crew/agent/rare-tools.ts";
import { draftTools } from "../src/crew/plan/draft-tools.ts";
import { operationsFor } from "../src/crew-tools.ts";
import { everyone, type Operation, operation } from "../src/kernel/operation.ts";
import { ok, refuse } from "../src/kernel/result.ts";
import { modelServer } from "./support/model-server.ts";
import type { Heard, Reply } from "./support/model-wire.ts";
import { refusals } from "./support/provider-rules.ts";

const tool = (name: string, input: z.ZodType) =>
  operation({
    ...{ name, input, output: z.object({}), summary: `Do ${name}.`, guidance: "Details." },
    ...{ effect: "writes", touches: [], callers: everyone, group: "crew", run: async () => ok({}) },
  });

const operations = [
  tool("finish", z.object({ output: z.string() })),
  tool("find", z.object({ query: z.string(), limit: z.int().optional() })),
  tool("steps", z.object({ items: z.array(z.object({ text: z.string(), state: z.enum(["open", "done"]) })) })),
  tool("page", z.object({ skip: z.int().optional() })),
];
const rare = new Map([
  ["find", "the wiki"],
  ["steps", "your steps"],
  ["page", "the next page"],
]);

const wires = [
  { kind: "anthropic", model: "anthropic/claude-haiku-4-5" },
  { kind: "openai", model: "openai/gpt-5-mini" },
  { kind: "openai-compatible", model: "local/llama" },
] as const;

/** Runs an agent whose model answers with these replies in turn; returns the calls that were made and what it heard. */
async function ran({ kind, model }: (typeof wires)[number], replies: Reply[]) {
  const { url, heard } = await modelServer((_heard, n) => replies[n - 1] ?? finish);
  const made: [string, unknown][] = [];
  const tools: Toolset = {
    operations,
    rare,
    delivers: "finish",
    isDone: () => made.some(([name]) => name === "finish"),
    async call(name, raw) {
      if (!operations.some((one) => one.name === name)) return refuse("not_found", `tool ${name} does not exist`);
      made.push([name, raw]);
      return ok({ from: name });
    },
  };
  const provider = { kind, baseUrl: `${url}/v1`, key: "sk-test" };
  const runner = modelRunner({ providers: { anthropic: provider, openai: provider, local: provider } });
  const spec: RunSpec = { id: "r", prompt: "Go.", cwd: "/", env: {}, model, tools, limits: { wallMs: 30_000 } };
  const result = await runner.run(spec, new AbortController().signal);
  expect(result).toMatchObject({ ended: "exit", exitCode: 0 });
  return { made, heard, told: (n: number) => lastOf(heard[n]) };
}

const finish: Reply = { calls: [{ name: "finish", input: { output: "done" } }] };
const use = (input: unknown): Reply => ({ calls: [{ name: "use_tool", input }] });
const lastOf = (heard: Heard | undefined) => heard?.messages.at(-1)?.text ?? "";

describe.each(wires)("the rare tools of an agent over the API of $kind", (wire) => {
  test("W16: a rare tool is one line in use_tool, with its parameters", async () => {
    const { heard } = await ran(wire, [finish]);
    expect(heard[0]?.tools).toEqual(["finish", "use_tool"]);
    const listed = JSON.stringify(heard[0]?.body.tools);
    expect(listed).toContain("find(query, limit?): the wiki");
    expect(listed).toContain("steps(items: [{text, state: open|done}]): your steps");
    expect(listed).not.toContain("Do find");
  });

  test.each([
    ["as JSON text", { tool: "find", input: '{"query": "a \\"b\\"", "limit": 3}' }, { query: 'a "b"', limit: 3 }],
    ["as an object", { tool: "find", input: { query: "x", limit: 3 } }, { query: "x", limit: 3 }],
    ["beside its name", { tool: "find", query: "x" }, { query: "x" }],
    ["as plain text for the first one", { tool: "find", input: "a [b] {c}\nd" }, { query: "a [b] {c}\nd" }],
  ])("W16: use_tool takes parameters %s", async (_how, input, expected) => {
    const { made, told } = await ran(wire, [use(input)]);
    expect(made[0]).toEqual(["find", expected]);
    expect(told(1)).toContain("find");
  });

  test("W16: a rare tool can be called by its own name, also beside other calls", async () => {
    const { made } = await ran(wire, [
      {
        calls: [
          { name: "find", input: { query: "x" } },
          { name: "page", input: {} },
        ],
      },
    ]);
    expect(made.map(([name]) => name)).toEqual(["find", "page", "finish"]);
  });

  test("W16: use_tool without input describes a tool, or calls it if it takes none of its parameters", async () => {
    const { made, told } = await ran(wire, [use({ tool: "find" }), use({ tool: "page", input: "{}" })]);
    expect(told(1)).toMatch(/Do find\. Details\./);
    expect(told(1)).toMatch(/limit/);
    expect(made).toEqual([
      ["page", {}],
      ["finish", { output: "done" }],
    ]);
  });

  test("W16: a mistake in a call of use_tool is told, and nothing is called", async () => {
    const mistakes = [use({ tool: "find", input: '{"query": ' }), use({ tool: "fnd", input: "x" }), use({})];
    const { made, told } = await ran(wire, mistakes);
    expect(told(1)).toMatch(/input: .*JSON/);
    expect(told(2)).toContain("tool fnd does not exist");
    expect(told(3)).toMatch(/tool: missing; expected one of find, steps, page/);
    expect(made.map(([name]) => name)).toEqual(["finish"]);
  });
});

const parts = ["pm", "worker", "qc"] as const;

describe.each(parts)("the tools of %s", (part) => {
  const desk = deskTools({ write: part !== "pm" } as Parameters<typeof deskTools>[0], part);
  const own = part === "pm" ? draftTools : part === "qc" ? [diffTool(async () => "")] : [];
  const all: Operation[] = [...own, ...operationsFor(part), ...desk].map((one) => ({ ...one, input: briefInput(one) }));

  test("W3: no provider refuses them as a model is offered them", () => {
    const tools = offeredTools({ operations: all, rare: rareTools(part) });
    expect(tools.at(-1)?.name).toBe("use_tool");
    expect(tools.flatMap(refusals)).toEqual([]);
  });

  test("W16: every tool is listed or a line of use_tool, and every rare tool exists", () => {
    const rare = rareTools(part);
    const names = all.map(({ name }) => name);
    expect([...rare.keys()].filter((name) => !names.includes(name))).toEqual([]);
    const offered = offeredTools({ operations: all, rare });
    for (const name of names)
      expect(offered.some((one) => one.name === name) || offered.at(-1)?.description.includes(`${name}(`), name).toBe(
        true,
      );
  });
});
