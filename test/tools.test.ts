import { encode } from "gpt-3-encoder";
import { describe, expect, test } from "vitest";
import { operationsFor } from "../src/crew-tools.ts";
import { jobTools } from "../src/jobs/tools.ts";
import type { Agent, CrewPart } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { allOperations } from "../src/operation-list.ts";
import { scribe, scriptorium, serve } from "./support/commands.ts";
import { openTopic, pageText } from "./support/jobs.ts";
import { eras, overHttp, overStdio } from "./support/mcp.ts";
import { agent, newWorkspace, sampleSchema } from "./support/workspace.ts";

const core = [
  "list_entries",
  "fetch_entry",
  "commit_entry",
  "append_log",
  "transfer_focus",
  "create_section",
  "search",
];
const ofCrewAndJobs = [
  "submit_plan",
  "submit_output",
  "submit_verdict",
  "ask",
  "insert_proposal",
  "put_perspective",
  "submit_brief",
  "submit_preamble",
  "get_passage",
  "search_evidence",
  "read_evidence",
  "report_recheck",
];

async function listed(root: string, role: string, tools?: string) {
  const { client } = await overStdio(root, role, tools === undefined ? {} : { args: ["--tools", tools] });
  const answer = await client.listTools();
  await client.close();
  return {
    names: answer.tools.map((tool) => tool.name),
    tokens: encode(JSON.stringify(answer.tools)).length,
    bytes: JSON.stringify(answer.tools).length,
  };
}

describe("P2: the tools that an interactive agent sees", () => {
  test("are at most 10 and 3,000 tokens by default, and groups add to them", async () => {
    const { root } = await newWorkspace();
    const usual = await listed(root, "planner");
    expect(usual.names).toEqual(core);
    expect(usual.names.length).toBeLessThanOrEqual(10);
    expect(usual.tokens).toBeLessThanOrEqual(3000);

    const more = await listed(root, "planner", "graph, tasks");
    expect(more.names).toEqual(expect.arrayContaining([...core, "memory_search_nodes", "create_todo"]));
    expect(more.names).not.toContain("get_topic");
    const everything = await listed(root, "planner", "all");
    const callable = allOperations.filter(({ callers }) => callers.includes("agent")).map(({ name }) => name);
    expect(everything.names.sort()).toEqual(callable.filter((name) => !ofCrewAndJobs.includes(name)).sort());
    for (const [name, { names, tokens, bytes }] of Object.entries({
      default: usual,
      "graph,tasks": more,
      all: everything,
    }))
      process.stderr.write(`tools ${name}: ${names.length} tools, ${tokens} tokens, ${bytes} characters\n`);
  });

  test("have no handoff where the schema has no pipeline", async () => {
    const schema = sampleSchema.replace(/^pipeline: .*$/m, "pipeline: []");
    const { root } = await newWorkspace({ schema });
    expect((await listed(root, "planner", "all")).names).not.toContain("transfer_focus");
    const { client } = await overStdio(root, "planner");
    expect(client.getInstructions()).not.toMatch(/transfer_focus|handoff|next role/i);
  });

  test("are not all that it can call: rights decide, not the list", async () => {
    const { root } = await newWorkspace();
    const { client, call } = await overStdio(root, "planner");
    const made = await call("create_todo", { title: "Write the design" });
    expect(await call("list_todos")).toMatchObject({ todos: [{ id: made.id, title: "Write the design" }] });
    expect(await call("search_entries", { query: "vision" })).toMatchObject({ results: [{ id: "vision" }] });
    expect(await call("recall", { query: "vision" })).toHaveProperty("passages");
    await expect(call("approve_proposal", { id: "p-1" })).rejects.toThrow(/no tool approve_proposal/);
    await expect(client.callTool({ name: "fetch_entrys" })).rejects.toThrow(/did you mean fetch_entry\?/);
    expect(await call("submit_verdict", verdict)).toMatchObject({ status: "denied" });
  });

  test("a connection that is bound to a task lists the tools to finish it", async () => {
    const { root, app } = await newWorkspace();
    const { id } = unwrap(
      await app.tasks.create(
        { title: "Do it", description: "", dependsOn: [], priority: 0, run: null, maxRetries: 2 },
        "Ada",
      ),
    );
    const bound = await overStdio(root, "engineer", { args: ["--task", id, "--epoch", "1"] });
    const names = (await bound.client.listTools()).tools.map((tool) => tool.name);
    expect(names).toEqual(expect.arrayContaining([...core, "submit_output", "ask"]));
    expect(names.length).toBeLessThanOrEqual(10);
  });

  test("an unknown group is refused with the nearest name, on stdio and over HTTP", async () => {
    const { root, app } = await newWorkspace();
    const refused = await scriptorium(["mcp", "--role", "planner", "--tools", "grahp"], { cwd: root });
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/tool group grahp does not exist; did you mean graph\?/),
    });

    const { url } = await serve(root);
    const owner = { kind: "agent" as const, role: "planner", name: "planner", expiresAt: undefined, by: "Ada" };
    const { token } = await app.tokens.create(owner);
    for (const era of eras) {
      await expect(overHttp(url, token, era, "grahp")).rejects.toThrow(/did you mean graph\?/);
      const { client, call } = await overHttp(url, token, era, "tasks");
      const names = (await client.listTools()).tools.map((tool) => tool.name);
      expect(names).toEqual(expect.arrayContaining([...core, "lock_todo"]));
      expect(names).not.toContain("memory_add_node");
      expect(await call("memory_add_node", { type: "service" })).toHaveProperty("id");
    }
  });
});

const verdict = { verdict: "PASS", score: 100, feedback: "fine", evidence: [], task: "task-1", epoch: 1 };

test("P2: crew and job agents see and can call exactly their tools", async () => {
  for (const part of ["brief", "pm", "preamble", "worker", "qc", "reporter"] satisfies CrewPart[]) {
    const names = operationsFor(part).map(({ name }) => name);
    const own = { worker: ["submit_output", "ask"], qc: ["submit_verdict"] }[part as string] ?? [];
    expect(names.filter((name) => ofCrewAndJobs.includes(name)).sort()).toEqual([...own].sort());
  }
  const { app } = await newWorkspace({ files: { "docs/deploy.md": pageText } });
  const topic = await openTopic(app);
  const job = unwrap(
    await app.jobs.start({
      kind: "incorporate",
      source_path: "docs/deploy.md",
      topic_id: topic,
      persona_name: null,
      passage: null,
      by: "Ada",
    }),
  );
  const tools = jobTools(app, job, allOperations);
  expect(tools.operations.map(({ name }) => name).sort()).toEqual(
    ["get_topic", "insert_proposal", "list_open_topics", "reply_topic"].sort(),
  );
  expect(await tools.call("search", { query: "deploy" })).toMatchObject({ ok: false, problem: { code: "denied" } });
});

describe("P2: one search for agents", () => {
  const words = "The lease expires after thirty seconds without a heartbeat. ";

  async function book() {
    const made = await newWorkspace();
    const { call } = await overStdio(made.root, "planner");
    for (const [at, id] of ["notes", "glossary", "design"].entries()) {
      const content = `# Lease ${at}\n\n${words.repeat(40)}\n\n## Fence\n\nA fence refuses late writes.\n`;
      await call("commit_entry", { id, content, version: 1 });
    }
    return { ...made, call };
  }

  test("returns snippets by default and whole passages on request, within a budget, and uses no read", async () => {
    const { call } = await book();
    type Found = { results: { ref: string; snippet: string; type: string }[]; omitted: number };
    const snippets = (await call("search", { query: "lease expires" })) as unknown as Found;
    expect(snippets.results[0]).toMatchObject({ type: "entry", ref: expect.stringMatching(/^entry:/) });
    expect(snippets.results[0]?.snippet).toContain("«");

    const whole = (await call("search", { query: "what does a fence refuse?", passages: true })) as unknown as Found;
    expect(whole.results.map(({ snippet }) => snippet).join()).toContain("A fence refuses late writes.");
    expect(whole.results[0]?.snippet).not.toContain("«");
    for (const budget of [1000, 3000, undefined]) {
      const answer = await call("search", { query: "lease", passages: true, ...(budget ? { budget } : {}) });
      expect(JSON.stringify(answer).length).toBeLessThanOrEqual(budget ?? 6000);
    }
    for (const id of ["vision", "design", "notes", "glossary"])
      expect(await call("fetch_entry", { id })).toHaveProperty("id");
  });

  test("narrows by type and refuses an unknown one", async () => {
    const { call } = await book();
    expect(await call("search", { query: "lease type:entry" })).toMatchObject({ notes: [] });
    expect(await call("search", { query: "lease type:entrie" })).toMatchObject({
      status: "invalid",
      error: "type: unknown type entrie; did you mean entry?",
    });
  });
});

describe("P17: one name for one field", () => {
  test("an unknown field is refused with the nearest known name, at every depth", async () => {
    const { root } = await newWorkspace();
    const { call } = await overStdio(root, "planner");
    const body = { id: "vision", version: 1 };
    expect(await call("commit_entry", { ...body, contents: "# Vision" })).toMatchObject({
      status: "invalid",
      error: "contents: unknown field; did you mean content?",
    });
    expect(await call("append_log", { id: "decisions", text: "chose it" })).toMatchObject({
      error: "text: unknown field; expected id or line",
    });
    const where = [{ propery: "owner", op: "exists" }];
    expect(await call("memory_query_nodes", { where })).toMatchObject({
      error: expect.stringContaining("where.0.propery: unknown field; did you mean property?"),
    });
    expect(await call("fetch_entry", { id: "vision", _meta: { progressToken: 1 } })).toMatchObject({ id: "vision" });
    expect(await call("fetch_entry", { id: "vision" })).toMatchObject({ content: "", version: 1 });
  });

  test("every markdown body is called content, in tools, HTTP and scribe", async () => {
    const bodies = allOperations.filter(({ name }) =>
      /^(commit_entry|insert_proposal|put_perspective|open_topic|reply_topic|edit_message|comment_proposal|request_revision|save_plan|add_source)$/.test(
        name,
      ),
    );
    expect(bodies).toHaveLength(10);
    for (const { name, input } of bodies)
      expect(Object.keys((input as never as { shape: object }).shape), name).toContain("content");
    const { root, app } = await newWorkspace({ files: { "docs/deploy.md": pageText } });
    const id = await openTopic(app);
    const cwd = { cwd: root };
    expect(
      (await scribe(["reply-topic", "--role", "engineer", "--id", id, "--content", "The green one."], cwd)).code,
    ).toBe(0);
    const piped = await scribe(["reply-topic", "--role", "engineer", "--id", id], { ...cwd, input: "The red one." });
    expect(piped.code).toBe(0);
    const { messages } = (await scribe(["get-topic", "--role", "engineer", "--id", id], cwd)).json<{
      messages: object[];
    }>();
    expect(messages).toMatchObject([{}, { content: "The green one." }, { content: "The red one." }]);
  });
});

test("P2: the sources group lets an agent list sources and read one in parts", async () => {
  const { app, root } = await newWorkspace();
  unwrap(await app.sources.add("log.txt", Buffer.from("x".repeat(25_000)), { name: "Ada" }));
  const { call } = await overStdio(root, "engineer", { args: ["--tools", "sources"] });
  expect(await call("list_sources")).toMatchObject({ sources: [{ path: "log.txt" }] });
  const first = (await call("read_source", { path: "log.txt" })) as { content?: string; next?: number };
  expect(first).toMatchObject({ truncated: true, next: 20_000 });
  expect(await call("read_source", { path: "log.txt", offset: first.next })).toMatchObject({
    content: "x".repeat(5000),
    truncated: false,
  });
  const engineer: Agent = agent("engineer") as Agent;
  expect(await allOperations.find(({ name }) => name === "add_source")?.perform(app, {}, engineer)).toMatchObject({
    problem: { code: "denied" },
  });
});
