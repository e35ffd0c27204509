import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { scriptorium, scriptoriumProcess, serve, start } from "./support/commands.ts";
import { eras, overHttp, overStdio } from "./support/mcp.ts";
import { newWorkspace, read, sampleSchema } from "./support/workspace.ts";

const version = { name: "test", version: "1" };

describe.each(eras)("over stdio, for a client of %s,", (era) => {
  test("the server says which protocol it speaks and tells the agent its role, its sections and the five steps (K5)", async () => {
    const { root } = await newWorkspace();
    const { client } = await overStdio(root, "architect", { era });

    expect(client.getNegotiatedProtocolVersion()).toBe(era);
    expect(client.getServerVersion()).toMatchObject({ name: "scriptorium", title: "Scriptorium: Test" });
    const instructions = client.getInstructions() ?? "";
    expect(instructions).toContain("Your role is architect");
    expect(instructions).toContain("design (snapshot), notes (snapshot), glossary (snapshot), decisions (log)");
    expect(instructions).toContain("planner → architect → engineer");
    for (const tool of ["list_entries", "search", "commit_entry", "append_log", "transfer_focus"])
      expect(instructions).toContain(tool);
  });

  test("each tool has a description that stands alone, honest annotations and a schema of what it takes", async () => {
    const { root } = await newWorkspace();
    const { client } = await overStdio(root, "planner", { era, args: ["--tools", "all"] });
    const { tools } = await client.listTools();
    for (const tool of tools) {
      expect(tool.description?.length, tool.name).toBeGreaterThan(90);
      expect(tool.description?.length, tool.name).toBeLessThan(800);
      const isReader = /^(list|fetch|search|recall|read|get|memory_(search|query|get|find))/.test(tool.name);
      const isDestructive = tool.name.includes("delete");
      expect(tool.annotations, tool.name).toEqual(
        isReader
          ? { readOnlyHint: true, openWorldHint: false }
          : { destructiveHint: isDestructive, openWorldHint: false },
      );
      expect(tool.inputSchema, tool.name).toMatchObject({ type: "object" });
      const fields = Object.entries(tool.inputSchema.properties ?? {}) as [string, { description?: string }][];
      for (const [name, field] of fields) expect(field.description, `${tool.name}.${name}`).toBeTruthy();
    }
  });

  test("one agent's turn is five steps, and each answer is a structure (K3, K5)", async () => {
    const { root, git } = await newWorkspace();
    const { client, call } = await overStdio(root, "planner", { era });

    const listed = await call("list_entries");
    expect(listed.handoff).toBeNull();
    expect((listed.entries as object[])[0]).toEqual({
      id: "vision",
      title: "Vision",
      version: 1,
      lastAuthor: expect.any(String),
      wordCount: 0,
      mode: "snapshot",
      may_write: true,
    });
    expect(JSON.stringify(listed)).not.toContain("content");

    const entry = await call("fetch_entry", { id: "vision" });
    expect(entry).toMatchObject({ id: "vision", content: "", version: 1, metadata: { id: "vision", title: "Vision" } });

    const content = "# Vision\n\nParcels arrive on time.\n";
    expect(await call("commit_entry", { id: "vision", content, version: 1 })).toEqual({
      status: "success",
      version: 2,
    });
    const appended = await call("append_log", { id: "decisions", line: "on time means before noon" });
    expect(appended).toMatchObject({ status: "success", version: 2 });
    expect(appended.line).toMatch(/^- \d{4}-\d\d-\d\dT[\d:.]+Z planner \(run r-\w+\): on time means before noon\n?$/);

    const handed = await call("transfer_focus", { target: "architect", summary: "vision is written; design it" });
    expect(handed).toMatchObject({
      status: "success",
      target: "architect",
      requested: "architect",
      forced: false,
      step: 1,
    });

    await client.close();
    expect(read(`${root}/wiki/vision.md`)).toContain("Parcels arrive on time.");
    expect(git("log", "-1", "--format=%(trailers:key=Role,valueonly)", "--", "wiki/vision.md")).toBe("planner");

    const next = await overStdio(root, "architect", { era });
    expect((await next.call("list_entries")).handoff).toEqual({
      from: "planner",
      summary: "vision is written; design it",
      run: handed.run,
      step: 1,
    });
  });

  test("after the handoff that ends a run, the next run of the same connection reads afresh", async () => {
    const { root } = await newWorkspace();
    const { call } = await overStdio(root, "engineer", { era });
    for (const id of ["vision", "design", "notes", "glossary"]) await call("fetch_entry", { id });
    expect(await call("fetch_entry", { id: "decisions" })).toMatchObject({ status: "refused" });

    const first = await call("transfer_focus", { target: "planner", summary: "done" });
    await call("list_entries");
    expect(await call("fetch_entry", { id: "decisions" })).toMatchObject({ id: "decisions" });
    const second = await call("transfer_focus", { target: "planner", summary: "done again" });
    expect(second.run).not.toBe(first.run);
  });

  test("the entries are resources too, and they count against the same cap (K9)", async () => {
    const { root } = await newWorkspace();
    const { client, call } = await overStdio(root, "planner", { era });
    const { resources } = await client.listResources();
    expect(resources.map((resource) => resource.uri)).toContain("scriptorium://entries/api/errors");
    const [nested] = (await client.readResource({ uri: "scriptorium://entries/api/errors" })).contents;
    expect(nested).toMatchObject({ mimeType: "text/markdown", text: "" });

    for (const id of ["vision", "design", "notes"]) await call("fetch_entry", { id });
    await expect(client.readResource({ uri: "scriptorium://entries/glossary" })).rejects.toThrow(
      /read cap reached: .* of 4 entries/,
    );
    const refused = await call("fetch_entry", { id: "decisions" });
    expect(refused).toMatchObject({
      status: "refused",
      read_cap: 4,
      read: ["api/errors", "vision", "design", "notes"],
    });
    await client.readResource({ uri: "scriptorium://entries/vision" });
    await expect(client.readResource({ uri: "scriptorium://entries/nothing" })).rejects.toMatchObject({
      message: expect.stringContaining("section nothing does not exist"),
      data: { uri: "scriptorium://entries/nothing" },
    });
    await expect(client.readResource({ uri: "scriptorium://entries/../schema.yaml" })).rejects.toThrow();
  });
});

test("P2: a role sees just the tools it can use", async () => {
  const schema = sampleSchema
    .replace("writable_by: [engineer]", "writable_by: [engineer, writer, clerk]")
    .replace("mode: log\n      writable_by: [planner,", "mode: log\n      writable_by: [reporter, planner,")
    .replace("pipeline: [planner, architect, engineer]", "pipeline: [planner, architect, engineer, judge]");
  const { root } = await newWorkspace({ schema });
  const sees = async (role: string) => {
    const { client } = await overStdio(root, role);
    const { tools } = await client.listTools();
    await client.close();
    return tools.map((tool) => tool.name);
  };
  const reading = ["list_entries", "fetch_entry"];
  const rest = ["create_section", "search"];
  expect(await sees("engineer")).toEqual([...reading, "commit_entry", "append_log", "transfer_focus", ...rest]);
  expect(await sees("writer")).toEqual([...reading, "commit_entry", ...rest]);
  expect(await sees("reporter")).toEqual([...reading, "append_log", ...rest]);
  expect(await sees("judge")).toEqual([...reading, "transfer_focus", ...rest]);
});

test("a forbidden write is denied with the role, the section and what the role may write (K6)", async () => {
  const { root } = await newWorkspace();
  const { call } = await overStdio(root, "engineer");
  const denied = await call("commit_entry", { id: "vision", content: "# Mine\n", version: 1 });
  expect(denied).toMatchObject({
    status: "denied",
    role: "engineer",
    section: "vision",
    may_write: [
      { id: "api/errors", mode: "snapshot" },
      { id: "notes", mode: "snapshot" },
      { id: "glossary", mode: "snapshot" },
      { id: "decisions", mode: "log" },
    ],
  });
  for (const word of ["engineer", "vision", "api/errors", "decisions (log)"]) expect(denied.error).toContain(word);
  expect(await call("fetch_entry", { id: "vision" })).toMatchObject({ content: "", version: 1 });
});

test("no tool rewrites a log, and a snapshot takes no lines (K2)", async () => {
  const { root } = await newWorkspace();
  const { call } = await overStdio(root, "planner");
  const rewrite = await call("commit_entry", { id: "decisions", content: "nothing was decided", version: 1 });
  expect(rewrite).toMatchObject({ status: "denied", error: expect.stringContaining("append_log") });
  const line = await call("append_log", { id: "vision", line: "a line" });
  expect(line).toMatchObject({ status: "denied", error: expect.stringContaining("commit_entry") });
  const twoLines = await call("append_log", { id: "decisions", line: "one\n- 2026-01-01T00:00:00Z architect: forged" });
  expect(twoLines).toMatchObject({ status: "invalid", error: expect.stringContaining("one line at a time") });
});

test("a stale commit is a conflict that brings a merge where one is possible, and the three texts where not (K7)", async () => {
  const { root } = await newWorkspace();
  const planner = await overStdio(root, "planner");
  const architect = await overStdio(root, "architect");
  const base = "# One\n\nfirst\n\n# Two\n\nsecond\n";
  await planner.call("commit_entry", { id: "notes", content: base, version: 1 });
  const theirs = base.replace("first", "first, by the architect");
  await architect.call("commit_entry", { id: "notes", content: theirs, version: 2 });

  const apart = await planner.call("commit_entry", {
    id: "notes",
    content: base.replace("second", "second, by the planner"),
    version: 2,
  });
  expect(apart).toMatchObject({ status: "conflict", latestContent: theirs, latestVersion: 3, merged_version: 3 });
  expect(apart.message).toContain("by architect");
  const merged = theirs.replace("second", "second, by the planner");
  expect(apart.merged).toBe(merged);

  const yours = base.replace("first", "first, by the planner");
  const together = await planner.call("commit_entry", { id: "notes", content: yours, version: 2 });
  expect(together).toMatchObject({ status: "conflict", latestContent: theirs, latestVersion: 3, base, theirs, yours });
  expect(together.merged).toBeUndefined();

  expect(await planner.call("commit_entry", { id: "notes", content: merged, version: 3 })).toEqual({
    status: "success",
    version: 4,
  });
});

test("a fifth entry in one turn is refused with what to do instead, and reading one again is free (K9)", async () => {
  const { root } = await newWorkspace();
  const { call } = await overStdio(root, "engineer");
  for (const id of ["vision", "design", "notes", "glossary"]) await call("fetch_entry", { id });
  const refused = await call("fetch_entry", { id: "api/errors" });
  expect(refused).toMatchObject({ status: "refused", read_cap: 4, read: ["vision", "design", "notes", "glossary"] });
  for (const way of ["search", "transfer_focus"]) expect(refused.error).toContain(way);
  expect(await call("fetch_entry", { id: "vision" })).toMatchObject({ id: "vision" });
  expect(await call("search_entries", { query: "errors" })).toMatchObject({ results: [{ id: "api/errors" }] });
});

test("a handoff backwards or to oneself goes forward by force, and the attempt is logged (K8)", async () => {
  const { root, app } = await newWorkspace();
  const { call } = await overStdio(root, "architect");
  const back = await call("transfer_focus", { target: "planner", summary: "please rethink" });
  expect(back).toMatchObject({ status: "success", target: "engineer", requested: "planner", forced: true });
  expect(back.message).toContain("handoffs only move forward");
  expect(await call("transfer_focus", { target: "architect", summary: "again me" })).toMatchObject({
    status: "refused",
    holder: "engineer",
  });
  const events = await app.db.read.selectFrom("events").select("kind").where("kind", "like", "handoff-%").execute();
  expect(events.map((event) => event.kind)).toEqual(["handoff-forced"]);
});

test("the last role's handoff ends the run, and a role hands off once (K8)", async () => {
  const { root } = await newWorkspace();
  const engineer = await overStdio(root, "engineer", { args: ["--run", "r-1"] });
  const done = await engineer.call("transfer_focus", { target: "engineer", summary: "all built" });
  expect(done).toMatchObject({ status: "success", target: null, ended: "pipeline complete", run: "r-1" });
  const after = await engineer.call("commit_entry", { id: "notes", content: "more", version: 1 });
  expect(after).toMatchObject({ status: "refused", error: expect.stringContaining("run r-1 ended") });

  const planner = await overStdio(root, "planner", { args: ["--run", "r-2"] });
  const handed = await planner.call("transfer_focus", { target: "architect", summary: "once" });
  expect(handed).toMatchObject({ target: "architect", step: 1 });
  const again = await planner.call("transfer_focus", { target: "architect", summary: "once more" });
  expect(again).toMatchObject({ status: "refused", holder: "architect" });
});

test("wrong input is answered with the field's name and what was expected", async () => {
  const { root } = await newWorkspace();
  const { call } = await overStdio(root, "planner");
  const wrong: [string, Record<string, unknown>, RegExp][] = [
    ["fetch_entry", {}, /^id: missing; expected text$/],
    ["fetch_entry", { id: "../schema" }, /^id: expected lower-case letters/],
    ["fetch_entry", { id: 7 }, /^id: expected text, not 7/],
    ["commit_entry", { id: "vision", content: "x" }, /^version: .*expected a number/],
    ["commit_entry", { id: "vision", content: "x", version: "1" }, /^version: .*expected a number/],
    ["commit_entry", { id: "vision", content: "x", version: -1 }, /^version: /],
    ["commit_entry", { id: "vision", content: "a\0b", version: 1 }, /NUL/],
    ["append_log", { id: "decisions", line: "  " }, /line is empty/],
    ["transfer_focus", { target: "architect", summary: "  " }, /^summary: must not be empty/],
    ["transfer_focus", { target: "nobody", summary: "hello" }, /role nobody is not in the pipeline/],
    ["search_entries", { query: "", limit: 99 }, /query: the query is empty; limit: /],
    [
      "create_section",
      { id: "x", title: "X", mode: "both", writable_by: [], description: "d" },
      /^mode: expected snapshot or log/,
    ],
  ];
  for (const [tool, input, message] of wrong) {
    const answer = await call(tool, input);
    expect(answer, tool).toMatchObject({ status: "invalid", error: expect.stringMatching(message) });
  }
});

test("names that every object has are names like any other (T24)", async () => {
  const { root } = await newWorkspace();
  const { client, call } = await overStdio(root, "planner");
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    await expect(client.callTool({ name, arguments: {} }), name).rejects.toThrow(new RegExp(name));
    const fetched = await call("fetch_entry", { id: name });
    expect(["invalid", "not_found"], name).toContain(fetched.status);
    expect(["invalid", "not_found"], name).toContain((await call("append_log", { id: name, line: "x" })).status);
    expect(await call("transfer_focus", { target: name, summary: "x" })).toMatchObject({ status: "invalid" });
    await expect(client.readResource({ uri: `scriptorium://entries/${name}` }), name).rejects.toThrow();
  }
  const polluting = JSON.parse('{"id": "vision", "__proto__": {"status": "polluted"}}');
  expect(await call("fetch_entry", polluting)).toMatchObject({ id: "vision" });
  expect(await call("list_entries")).not.toHaveProperty("status");
});

test("a new section waits for a person, and is there for every agent once approved (K11)", async () => {
  const { root, git } = await newWorkspace();
  const { call } = await overStdio(root, "planner");
  const wanted = {
    id: "risks",
    title: "Risks",
    mode: "snapshot",
    writable_by: ["planner"],
    description: "What could go wrong.",
  };
  const pending = await call("create_section", wanted);
  expect(pending).toMatchObject({ status: "pending", proposal_id: expect.stringMatching(/^p-/) });
  expect(pending.message).toContain("a person approves");
  expect(await call("fetch_entry", { id: "risks" })).toMatchObject({ status: "not_found" });
  expect(await call("create_section", { ...wanted, id: "vision" })).toMatchObject({ status: "conflict" });
  const strangers = await call("create_section", { ...wanted, id: "other", writable_by: ["root"] });
  expect(strangers).toMatchObject({
    status: "invalid",
    error: expect.stringContaining("role root is not in schema.yaml"),
  });

  const approved = await scriptorium(["proposal", "approve", String(pending.proposal_id), "--json"], { cwd: root });
  expect(approved.json()).toMatchObject({ status: "approved" });
  expect(await call("fetch_entry", { id: "risks" })).toMatchObject({ id: "risks", content: "" });
  expect(await call("commit_entry", { id: "risks", content: "# Rain\n", version: 1 })).toEqual({
    status: "success",
    version: 2,
  });
  expect(git("log", "-1", "--format=%(trailers:key=Approved-by,valueonly)", "--", "wiki/schema.yaml")).toBe(
    "Ada Lovelace",
  );
});

test("a base of 300 sections is listed by folder in under 2,000 tokens, and found by search (K10)", async () => {
  const sections = Array.from({ length: 300 }, (_, i) => {
    const id = `area${String(i % 20).padStart(2, "0")}/topic${String(i).padStart(3, "0")}`;
    return `    - { id: ${id}, title: Topic ${i}, mode: snapshot, writable_by: [planner], description: About topic ${i}., summary: One line about topic ${i} }`;
  });
  const schema = `schema:\n  sections:\n${sections.join("\n")}\npipeline: [planner, architect]\nmax_steps: 5\n`;
  const { root } = await newWorkspace({ schema });
  const { client, call } = await overStdio(root, "planner");
  const length = (value: unknown) => JSON.stringify(value).length;

  const listed = await call("list_entries");
  expect(listed.folders).toHaveLength(20);
  expect(listed.folders).toContainEqual({ id: "area07", entries: 15 });
  expect(length(listed)).toBeLessThan(8000);
  expect(client.getInstructions()?.length).toBeLessThan(2500);

  const folder = await call("list_entries", { under: "area07" });
  expect(folder.entries).toHaveLength(15);
  expect((folder.entries as object[])[0]).toMatchObject({ id: "area07/topic007", summary: "One line about topic 7" });
  expect(length(folder)).toBeLessThan(8000);

  await call("commit_entry", { id: "area07/topic007", content: "# Kingfisher\n\nblue and orange\n", version: 1 });
  const { results } = await call("search_entries", { query: "kingfisher" });
  expect(results).toMatchObject([{ id: "area07/topic007", snippet: expect.stringContaining("«Kingfisher»") }]);
  expect(length(await call("fetch_entry", { id: "nothing/here" }))).toBeLessThan(1000);
});

test("a role that the schema does not know cannot start", async () => {
  const { root } = await newWorkspace();
  const { code, stdout, stderr } = await scriptoriumProcess(["mcp", "--role", "emperor"], { cwd: root });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("role emperor is not in wiki/schema.yaml; expected planner, architect or engineer");
});

describe("when the client hangs up", () => {
  test("the process ends by itself with code 0, and its work is in git with role, run and version", async () => {
    const { root, git } = await newWorkspace();
    const { ask, child, ended } = await rawServer(root, "planner", ["--run", "r-42"]);
    await ask("tools/call", { name: "commit_entry", arguments: { id: "vision", content: "# Vision\n", version: 1 } });
    child.stdin?.end();
    expect(await ended).toEqual([0, null]);
    const trailers = git("log", "-1", "--format=%(trailers:only,unfold)", "--", "wiki/vision.md").split("\n");
    expect(trailers).toEqual(expect.arrayContaining(["Role: planner", "Run: r-42", "Version: 2"]));
    expect(git("status", "--porcelain", "wiki/vision.md")).toBe("");
  });

  test("what was asked before is still done and answered", async () => {
    const { root, git } = await newWorkspace();
    const { say, child, ended, answers } = await rawServer(root, "planner");
    const content = "# Vision\n\nwritten in passing\n";
    const lines = Array.from({ length: 40 }, (_, i) => i);
    for (const id of lines)
      say(id, "tools/call", { name: "append_log", arguments: { id: "decisions", line: `line ${id}` } });
    say(99, "tools/call", { name: "commit_entry", arguments: { id: "vision", content, version: 1 } });
    child.stdin?.end();
    expect(await ended).toEqual([0, null]);
    for (const id of lines)
      expect(answers.get(id)).toMatchObject({ result: { structuredContent: { status: "success" } } });
    expect(answers.get(99)).toMatchObject({ result: { structuredContent: { status: "success", version: 2 } } });
    expect(git("show", "HEAD:wiki/vision.md")).toContain("written in passing");
    expect(git("log", "-1", "--format=%an", "--", "wiki/vision.md")).toBe("planner");
  });

  test("SIGTERM ends it too", async () => {
    const { root, git } = await newWorkspace();
    const { ask, child, ended } = await rawServer(root, "planner");
    await ask("tools/call", { name: "commit_entry", arguments: { id: "vision", content: "# Vision\n", version: 1 } });
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    expect(git("log", "-1", "--format=%an", "--", "wiki/vision.md")).toBe("planner");
  });
});

test("a method that is unknown, or of the other protocol, is an error and not the end", async () => {
  const { root } = await newWorkspace();
  const { ask, child, ended } = await rawServer(root, "planner");
  expect(await ask("server/discover", {})).toMatchObject({ error: { code: -32601 } });
  expect(await ask("prompts/list", {})).toMatchObject({ error: { code: -32601 } });
  expect(await ask("__proto__", {})).toMatchObject({ error: { code: -32601 } });
  child.stdin?.write("this is not JSON\n{}\n[]\n");
  expect(await ask("ping", {})).toMatchObject({ result: {} });
  expect(await ask("tools/call", { name: "list_entries" })).toMatchObject({
    result: { structuredContent: { handoff: null } },
  });
  child.stdin?.end();
  expect(await ended).toEqual([0, null]);
});

test("a client that first asks server/discover without saying which protocol it speaks can still initialize", async () => {
  const { root } = await newWorkspace();
  const { ask } = await rawServer(root, "planner", [], false);
  expect(await ask("server/discover", {})).toHaveProperty("error");
  const began = await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: version });
  expect(began).toMatchObject({ result: { protocolVersion: "2025-11-25", serverInfo: { name: "scriptorium" } } });
  expect(await ask("tools/list", {})).toHaveProperty("result.tools");
});

test("stdout carries nothing but the protocol, and the largest entry passes through it", async () => {
  const { root } = await newWorkspace();
  const { ask, strays } = await rawServer(root, "planner");
  const content = `# Long\n\n${"æ".repeat(999_000)}\n`;
  const done = await ask("tools/call", { name: "commit_entry", arguments: { id: "vision", content, version: 1 } });
  expect(done).toMatchObject({ result: { structuredContent: { status: "success" } } });
  const fetched = await ask("tools/call", { name: "fetch_entry", arguments: { id: "vision" } });
  expect(fetched).toMatchObject({ result: { structuredContent: { version: 2 } } });
  expect(strays).toEqual([]);
});

describe("over HTTP at /mcp,", () => {
  const served = async () => {
    const workspace = await newWorkspace();
    const server = await serve(workspace.root);
    const token = async (role: string) => {
      const made = await scriptorium(["token", "create", "--agent", role, "--json"], { cwd: workspace.root });
      return made.json() as { id: string; token: string };
    };
    return { ...workspace, ...server, token };
  };

  test.each(eras)("an agent of a %s client takes its turn, in the role of its token", async (era) => {
    const { url, token, git, stop } = await served();
    const { client, call } = await overHttp(url, (await token("planner")).token, era);
    expect(client.getNegotiatedProtocolVersion()).toBe(era);
    expect(client.getInstructions()).toContain("Your role is planner");
    await call("list_entries");
    const { version } = await call("fetch_entry", { id: "vision" });
    expect(await call("commit_entry", { id: "vision", content: "# Here\n", version })).toMatchObject({
      status: "success",
    });
    expect(await call("append_log", { id: "decisions", line: "over HTTP" })).toMatchObject({ status: "success" });
    const handed = await call("transfer_focus", { target: "architect", summary: "your turn" });
    expect(handed).toMatchObject({ status: "success", target: "architect" });

    const next = await overHttp(url, (await token("architect")).token, era);
    expect(await next.call("list_entries")).toMatchObject({ handoff: { from: "planner", run: handed.run } });
    expect(await next.call("commit_entry", { id: "vision", content: "no", version: 2 })).toMatchObject({
      status: "denied",
    });
    await stop();
    expect(git("log", "-1", "--format=%(trailers:key=Role,valueonly)", "--", "wiki/vision.md")).toBe("planner");
  });

  test("the read cap belongs to the token, in every session (K9)", async () => {
    const { url, token } = await served();
    const { token: secret } = await token("planner");
    const ids = ["vision", "design", "notes", "glossary"];
    const fifth = { id: "decisions" };

    const modern = await overHttp(url, secret, "2026-07-28");
    for (const id of ids) await modern.call("fetch_entry", { id });
    const sameToken = await overHttp(url, secret, "2026-07-28");
    expect(await sameToken.call("fetch_entry", fifth)).toMatchObject({ status: "refused" });
    await expect(sameToken.client.readResource({ uri: "scriptorium://entries/decisions" })).rejects.toThrow(
      /read cap reached: .* of 4 entries/,
    );
    const otherToken = await overHttp(url, (await token("planner")).token, "2026-07-28");
    expect(await otherToken.call("fetch_entry", fifth)).toMatchObject({ id: "decisions" });

    const session = await overHttp(url, secret, "2025-11-25");
    for (const id of ids) await session.call("fetch_entry", { id });
    expect(await session.call("fetch_entry", fifth)).toMatchObject({ status: "refused" });
    const otherSession = await overHttp(url, secret, "2025-11-25");
    expect(await otherSession.call("fetch_entry", fifth)).toMatchObject({ status: "refused" });
  });

  test("a session answers only to the token that opened it (T28)", async () => {
    const { url, token } = await served();
    const [mine, theirs] = [await token("planner"), await token("planner")];
    const { transport, call } = await overHttp(url, mine.token);
    await call("list_entries");
    const session = transport.sessionId ?? "";
    expect(session.length).toBeGreaterThanOrEqual(32);

    const knock = (secret: string, id: string, method = "POST") =>
      fetch(`${url}/mcp`, {
        method,
        headers: {
          ...jsonHeaders,
          authorization: `Bearer ${secret}`,
          "mcp-session-id": id,
          "mcp-protocol-version": "2025-11-25",
        },
        ...(method === "POST" ? { body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }) } : {}),
      });
    const [stolen, unknown] = [await knock(theirs.token, session), await knock(theirs.token, crypto.randomUUID())];
    expect(stolen.status).toBe(404);
    expect(await stolen.json()).toEqual(await unknown.json());
    expect((await knock(theirs.token, session, "DELETE")).status).toBe(404);
    expect((await knock(mine.token, session)).status).toBe(200);
    expect((await knock(mine.token, session, "DELETE")).status).toBe(200);
    expect((await knock(mine.token, session)).status).toBe(404);
  });

  test("without a good token nothing is answered", async () => {
    const { root, url, token } = await served();
    const { id, token: secret } = await token("planner");
    const knock = (authorization?: string) =>
      fetch(`${url}/mcp`, {
        method: "POST",
        headers: { ...jsonHeaders, ...(authorization ? { authorization } : {}) },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      });
    for (const wrong of [undefined, "Bearer wrong", `Basic ${secret}`, "Bearer "]) {
      const answer = await knock(wrong);
      expect(answer.status, wrong).toBe(401);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }

    const before = await Promise.all(eras.map((era) => overHttp(url, secret, era)));
    for (const { call } of before) await call("list_entries");
    expect((await scriptorium(["token", "revoke", id], { cwd: root })).code).toBe(0);
    for (const { client } of before)
      await expect(client.callTool({ name: "list_entries" })).rejects.toThrow(/401|nauthorized|token/);
    for (const era of eras) await expect(overHttp(url, secret, era)).rejects.toThrow();
  });

  test("a person's token sees what the person may do", async () => {
    const { root, url } = await served();
    const made = await scriptorium(["token", "create", "--person", "Grace", "--role", "reader", "--json"], {
      cwd: root,
    });
    const { client, call } = await overHttp(url, made.json<{ token: string }>().token, eras[0], "all");
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    expect(names).toEqual(expect.arrayContaining(["list_entries", "fetch_entry", "entry_history", "list_proposals"]));
    for (const name of ["commit_entry", "transfer_focus", "approve_proposal", "create_token"])
      expect(names).not.toContain(name);
    expect(await call("fetch_entry", { id: "vision" })).toMatchObject({ id: "vision" });
  });
});

const jsonHeaders = { "content-type": "application/json", accept: "application/json, text/event-stream" };

type Message = { id?: number; [key: string]: unknown };

/** `scriptorium mcp` without a client library between: lines in, lines out. */
async function rawServer(root: string, role: string, args: string[] = [], initialize = true) {
  const child: ChildProcess = start("scriptorium.js", ["mcp", "--role", role, ...args], root);
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "close");
  const answers = new Map<number, Message>();
  const strays: string[] = [];
  let rest = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const message = JSON.parse(line) as Message;
      if (message.id === undefined || message.id === null) strays.push(line);
      else answers.set(message.id, message);
    }
  });
  let last = 100;
  const say = (id: number, method: string, params: unknown) =>
    child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  const ask = async (method: string, params: unknown): Promise<Message> => {
    const id = ++last;
    say(id, method, params);
    return expect
      .poll(() => answers.get(id), { interval: 10 })
      .toBeDefined()
      .then(() => answers.get(id) as Message);
  };
  if (initialize) {
    await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: version });
    child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  }
  return { child, ended, answers, strays, say, ask };
}
