import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operationNamed } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { scribe, scriptorium, serve } from "./support/commands.ts";
import { overHttp } from "./support/mcp.ts";
import { agent, allEvents, backends, gitPerson, newWorkspace, person, sampleSchema } from "./support/workspace.ts";

const ask = async <N extends OperationName>(app: App, name: N, input: object, caller = person()) =>
  unwrap(await operationNamed(name).perform(app, input, caller));

/** Events about changes of a schema that was recorded before. */
const changesIn = async (app: App) =>
  (await allEvents(app))
    .filter(({ kind, data }) => kind === "schema-changed" && (data as { version: number }).version > 1)
    .map(({ actor, data }) => ({ actor, data }));

const withoutDesign = sampleSchema.replace(/ {4}# the architect's part\n {4}- \{ id: design.*\n/, "");

describe.each(backends)("schema.yaml is part of the book ($store, $engine)", (backend) => {
  test("N9: an edit by hand is a version with author, diff and event, which says when agents may do more", async () => {
    const { app, file, git } = await newWorkspace(backend);
    writeFileSync(
      file("wiki/schema.yaml"),
      sampleSchema.replace("writable_by: [planner]", "writable_by: [planner, engineer]").replace("[engineer]", "[]"),
    );
    unwrap(await app.schema());
    const [change] = await changesIn(app);
    expect(change).toMatchObject({
      actor: gitPerson.name,
      data: {
        version: 2,
        widened: ["engineer may now write vision"],
        narrowed: ["engineer may no longer write api/errors"],
      },
    });
    const { versions } = await ask(app, "schema_history", { diff: true });
    expect(versions[0]).toMatchObject({ version: 2, author: gitPerson.name });
    expect(versions[0]?.summary).toContain("agents may do more: engineer may now write vision");
    expect(versions[0]?.diff).toContain("+      writable_by: [planner, engineer]");
    await app.recorder.record();
    const ref = "refs/scriptorium/history";
    expect(git("show", `${ref}:wiki/schema.yaml`)).toContain("[planner, engineer]");
    expect(git("log", "-1", "--format=%an %s", ref, "--", "wiki/schema.yaml")).toBe(
      `${gitPerson.name} Change schema (version 2)`,
    );
    expect((await ask(app, "show_schema", { version: 1 })).text).toBe(sampleSchema);
  });

  test("N11: the last valid schema serves while a save is broken, says so, and also serves the next start", async () => {
    const { app, file, open } = await newWorkspace(backend);
    const good = readFileSync(file("wiki/schema.yaml"), "utf8");
    writeFileSync(
      file("wiki/schema.yaml"),
      good
        .slice(0, good.length / 2)
        .trimEnd()
        .slice(0, -20),
    );
    const { entries } = await ask(app, "list_entries", {}, agent("planner"));
    expect(entries).toHaveLength(6);
    expect(app.schemaWarning()).toMatch(/wiki.schema\.yaml is not in force: .*\. Version 1 of .* by .* is used/);
    const second = await open();
    expect((await ask(second, "list_entries", {})).entries).toHaveLength(6);
    const { findings } = await ask(second, "doctor", {});
    expect(findings).toContainEqual(expect.objectContaining({ check: "schema", state: "problem" }));
    writeFileSync(file("wiki/schema.yaml"), good);
    await ask(app, "list_entries", {});
    expect(app.schemaWarning()).toBeUndefined();
    expect(await changesIn(app)).toHaveLength(0);
  });

  test("N7: a removed section leaves graph, search and lists at once and comes back with its history", async () => {
    const { app, file, open } = await newWorkspace(backend);
    const write = async (id: string, content: string) => {
      const { version } = await ask(app, "fetch_entry", { id });
      await ask(app, "commit_entry", { id, content, version });
    };
    await write("design", "The heron nests here. See [[vision]].\n");
    await write("vision", "Read [[design]].\n");
    const seen = async (by: App) => {
      const [found, nodes, neighbors, backlinks] = await Promise.all([
        ask(by, "search_entries", { query: "heron" }),
        ask(by, "memory_query_nodes", { type: "entry", limit: 50 }),
        ask(by, "memory_get_neighbors", { id: "entry:vision", limit: 50 }),
        ask(by, "list_backlinks", { id: "vision" }),
      ]);
      return {
        hit: found.results.some(({ id }) => id === "design"),
        node: nodes.nodes.some(({ id }) => id === "entry:design"),
        edges: neighbors.neighbors.filter(({ id }) => id === "entry:design").length,
        broken: backlinks.broken ?? [],
      };
    };
    expect(await seen(app)).toEqual({ hit: true, node: true, edges: 2, broken: [] });
    writeFileSync(file("wiki/schema.yaml"), withoutDesign);
    const gone = { hit: false, node: false, edges: 0, broken: ["entry:design"] };
    // In a one-shot command, which opens the workspace, and in a process that was open.
    expect(await seen(await open())).toEqual(gone);
    expect(await seen(app)).toEqual(gone);
    const { findings } = await ask(app, "doctor", {});
    expect(findings.map(({ message }) => message)).toContain("vision links to entry:design, which does not exist");
    writeFileSync(file("wiki/schema.yaml"), sampleSchema);
    expect(await seen(app)).toEqual({ hit: true, node: true, edges: 2, broken: [] });
    expect((await ask(app, "entry_history", { id: "design" })).versions.length).toBeGreaterThan(0);
    const events = await changesIn(app);
    expect(events.map(({ data }) => data)).toMatchObject([
      { removed: ["design"] },
      { added: ["design (snapshot, written by architect, planner)"] },
    ]);
  });

  test("K11: an approved section is a version of the schema by its approver", async () => {
    const { app } = await newWorkspace(backend);
    const wanted = {
      id: "risks",
      title: "Risks",
      mode: "log",
      writable_by: ["planner"],
      description: "What may fail.",
    };
    const { proposal_id: id } = await ask(app, "create_section", wanted, agent("planner"));
    await ask(app, "approve_proposal", { id });
    const { versions } = await ask(app, "schema_history", {});
    expect(versions[0]).toMatchObject({
      version: 2,
      author: gitPerson.name,
      changes: { added: ["risks (log, written by planner)"] },
    });
    expect(await changesIn(app)).toHaveLength(1);
  });

  // The database store has no index that is rebuilt.
  // The database store has no index to rebuild.
  if (backend.store === "database") return;

  test("N9: its versions survive a rebuild from git, to the millisecond", async () => {
    const { app, file } = await newWorkspace(backend);
    writeFileSync(file("wiki/schema.yaml"), withoutDesign);
    const before = (await ask(app, "schema_history", {})).versions[0];
    await app.recorder.record();
    await app.rebuild();
    const { versions } = await ask(app, "schema_history", {});
    expect(versions[0]).toEqual({ ...before, version: versions[0]?.version });
  });
});

test("N11: a schema that was never valid is refused with the reason", async () => {
  const { app, file } = await newWorkspace({ files: { "wiki/schema.yaml": "schema: {}\n" } });
  expect(await app.schema()).toMatchObject({ ok: false, problem: { code: "invalid" } });
  rmSync(file("wiki/schema.yaml"));
  expect(await app.schema()).toMatchObject({ ok: false, problem: { code: "not_found" } });
});

describe("N11: a broken schema.yaml is reported on every face while the last valid one serves", () => {
  test("N11: commands, scribe, MCP and HTTP", async () => {
    const { root, file, app } = await newWorkspace();
    await app.close();
    writeFileSync(file("wiki/schema.yaml"), "schema: [\n");
    const said = "wiki/schema.yaml is not in force";
    const listed = await scriptorium(["entry", "list", "--json"], { cwd: root });
    expect(listed.stderr).toContain(`warning: ${said}`);
    expect(listed.json<unknown[]>()).toHaveLength(6);
    const served = await serve(root);
    const own = await scribe(["list-entries", "--role", "planner"], { cwd: root });
    expect(own.stderr).toContain(`warning: ${said}`);
    const headers = { authorization: `Bearer ${served.token}` };
    const answer = await fetch(`${served.url}/api/entries`, { headers });
    expect(answer.status).toBe(200);
    expect(decodeURIComponent(answer.headers.get("scriptorium-warning") ?? "")).toContain(said);
    const made = await fetch(`${served.url}/api/tokens`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ kind: "agent", name: "a", role: "planner" }),
    });
    const { token } = (await made.json()) as { token: string };
    const { client } = await overHttp(served.url, token);
    const { content } = await client.callTool({ name: "list_entries", arguments: {} });
    expect(content).toMatchObject([{}, { type: "text", text: expect.stringContaining(`warning: ${said}`) }]);
  });

  test("N7: a running server notices a removed section by itself, on both stores", async () => {
    for (const store of ["files", "database"] as const) {
      const { root, file, app } = await newWorkspace({ store });
      const { version } = await ask(app, "fetch_entry", { id: "design" });
      await ask(app, "commit_entry", { id: "design", content: "The heron.\n", version });
      const served = await serve(root);
      writeFileSync(file("wiki/schema.yaml"), withoutDesign);
      await expect.poll(() => changesIn(app), { timeout: 10_000 }).toHaveLength(1);
      await served.stop();
    }
  });

  test("N9: `schema history` and `schema show` print versions", async () => {
    const { root, file } = await newWorkspace();
    writeFileSync(file("wiki/schema.yaml"), withoutDesign);
    const history = await scriptorium(["schema", "history", "--diff"], { cwd: root });
    expect(history.stdout).toMatch(/version 2 .* Ada Lovelace {2}removed: design/);
    expect(history.stdout).toContain("-    # the architect's part");
    const first = await scriptorium(["schema", "show", "--version", "1"], { cwd: root });
    expect(first.stdout).toBe(sampleSchema);
    expect((await scriptorium(["schema", "show", "--version", "9"], { cwd: root })).stderr).toContain(
      "schema.yaml has no version 9; the latest is 2",
    );
  });
});
