import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type * as z from "zod";
import type { App } from "../src/app.ts";
import { exportLines } from "../src/graph/exchange.ts";
import { reader } from "../src/http/markdown/read.ts";
import { type Caller, newTurn } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operationNamed, operations } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import type { Claim } from "../src/tasks/engine.ts";
import { linksIn, linksInLog, linksWith } from "../src/wiki/pages/links.ts";
import { scriptorium } from "./support/commands.ts";
import { agent, allEvents, backends, newWorkspace, person, sampledEngines } from "./support/workspace.ts";

const asking = (app: App, caller: Caller = agent("planner")) => ({
  ask: async <N extends OperationName>(name: N, input: object) =>
    unwrap(await operationNamed(name).perform(app, input, caller)),
  problem: async (name: OperationName, input: object) => {
    const result = await operations[name].perform(app, input, caller);
    if (result.ok) throw new Error(`${name} was not refused`);
    return result.problem;
  },
});

/** The edges of a node as sentences. */
const edgesOf = async (app: App, id: string) => {
  const { neighbors } = await asking(app).ask("memory_get_neighbors", { id, limit: 100 });
  return neighbors
    .map((n) => (n.edge.direction === "out" ? `${n.edge.type} ${n.id}` : `${n.id} ${n.edge.type}`))
    .sort();
};

const underClaim = (role: string, task: string, { epoch, secret }: Claim): Caller => ({
  kind: "agent",
  role,
  task,
  epoch,
  secret,
  turn: newTurn("r-1", true),
});

describe.each(backends)("O1: the wiki is in the graph ($store, $engine)", (backend) => {
  test("O1: links are edges as soon as they are written, by whichever way, and gone when they are taken out", async () => {
    const { app } = await newWorkspace(backend);
    const { ask } = asking(app);
    const write = (id: string, content: string, version: number) => ask("commit_entry", { id, content, version });
    const { version } = await ask("fetch_entry", { id: "vision" });
    const first = await write("vision", "See [[design]], [[api/errors|codes]] and [[notes#later]].\n", version);
    const design = await ask("fetch_entry", { id: "design" });
    await write("design", "Back to [the vision](vision.md#goal).\n", design.version);
    await ask("append_log", { id: "decisions", line: "as [[vision]] says" });
    await ask("append_log", { id: "decisions", line: "nothing new" });
    await operations.commit_entry.perform(
      app,
      { id: "api/errors", content: "[v](../vision.md)\n", version: 1 },
      person(),
    );
    await operations.commit_entry.perform(
      app,
      { id: "notes", content: "Words.\n", version: backend.store === "files" ? 1 : 0 },
      person(),
    );
    if (backend.store === "database")
      await operations.commit_entry.perform(
        app,
        { id: "api/errors", content: "[v](../vision.md)\n", version: 0 },
        person(),
      );
    expect(await edgesOf(app, "entry:vision")).toEqual([
      "entry:api/errors links_to",
      "entry:decisions links_to",
      "entry:design links_to",
      "links_to entry:api/errors",
      "links_to entry:design",
      "links_to entry:notes",
    ]);
    const second = await write("vision", "Still [[design]], and [[glossary]].\n", first.version);
    expect((await edgesOf(app, "entry:vision")).filter((edge) => edge.startsWith("links_to"))).toEqual(
      backend.store === "files" ? ["links_to entry:design", "links_to entry:glossary"] : ["links_to entry:design"],
    );
    await write("vision", "Nothing.\n", second.version);
    expect(await edgesOf(app, "entry:vision")).toEqual([
      "entry:api/errors links_to",
      "entry:decisions links_to",
      "entry:design links_to",
    ]);
    expect(await ask("list_backlinks", { id: "vision" })).toMatchObject({
      id: "entry:vision",
      exists: true,
      backlinks: [{ id: "entry:api/errors" }, { id: "entry:decisions" }, { id: "entry:design" }],
    });
    expect(await app.links.mend()).toEqual([]);
  });

  test("O1: a link to what is not there is kept, listed, and an edge once it is", async () => {
    const { app } = await newWorkspace(backend);
    const { ask } = asking(app);
    const { version } = await ask("fetch_entry", { id: "vision" });
    const content =
      "[[service:billing]], [[nowhere]], [log](../sources/logs/a%20b.txt), [plan](../docs/plan.md), [x](https://e.org/a.md)\n";
    await ask("commit_entry", { id: "vision", content, version });
    expect(await edgesOf(app, "entry:vision")).toEqual(["links_to page:docs/plan.md"]);
    expect(await ask("list_backlinks", { id: "vision" })).toMatchObject({
      backlinks: [],
      broken: ["entry:nowhere", "service:billing", "source:logs/a b.txt"],
    });
    expect(await ask("list_backlinks", { id: "nowhere" })).toMatchObject({
      exists: false,
      backlinks: [{ id: "entry:vision" }],
    });
    const { findings } = unwrap(await operations.doctor.perform(app, {}, person()));
    expect(findings).toContainEqual(
      expect.objectContaining({ check: "links", message: "vision links to entry:nowhere, which does not exist" }),
    );

    await ask("memory_add_node", { type: "service", id: "service:billing" });
    unwrap(await operations.add_source.perform(app, { name: "logs/a b.txt", content: "x" }, person()));
    expect(await edgesOf(app, "entry:vision")).toEqual([
      "cites source:logs/a b.txt",
      "links_to page:docs/plan.md",
      "links_to service:billing",
    ]);
    expect(await edgesOf(app, "service:billing")).toEqual(["entry:vision links_to"]);
    expect(await ask("list_backlinks", { path: "sources/logs/a b.txt" })).toMatchObject({
      id: "source:logs/a b.txt",
      backlinks: [{ id: "entry:vision" }],
    });
    expect(await ask("list_backlinks", { path: "docs/plan.md" })).toMatchObject({
      backlinks: [{ id: "entry:vision" }],
    });
    const way = await ask("memory_find_path", { from: "service:billing", to: "source:logs/a b.txt" });
    expect(way.nodes.map((node) => node.id)).toEqual(["service:billing", "entry:vision", "source:logs/a b.txt"]);
  });
});

describe.each(sampledEngines)("O1: what the workspace keeps, as nodes on %s", (engine) => {
  test("O1: a person's edit, a deletion and a rebuilt index are in the graph when it is next asked", async () => {
    const { app, file } = await newWorkspace({ engine });
    await edgesOf(app, "entry:vision");
    writeFileSync(file("notes.md"), "---\ntitle: Notes\n---\n\nSee [[vision]] and `[[design]]`.\n");
    expect(await edgesOf(app, "entry:vision")).toEqual(["entry:notes links_to"]);
    expect(await edgesOf(app, "entry:design")).toEqual([]);
    await app.recorder.record();
    await app.rebuild();
    expect(await edgesOf(app, "entry:vision")).toEqual(["entry:notes links_to"]);

    await app.db.write(async (tx) => {
      await tx.deleteFrom("entry_links").execute();
    });
    expect(await app.links.mend()).toEqual(["notes"]);
    expect(await edgesOf(app, "entry:vision")).toEqual(["entry:notes links_to"]);
    rmSync(file("notes.md"));
    expect(await edgesOf(app, "entry:vision")).toEqual([]);
  });

  test("O1: tasks are nodes with their state, what they wait for, their run, and what they wrote", async () => {
    const { app } = await newWorkspace({ engine });
    const { ask } = asking(app);
    const first = unwrap(
      await app.tasks.create(
        {
          title: "Measure the lease",
          description: "with two clocks",
          dependsOn: [],
          priority: 0,
          run: "r-1",
          maxRetries: 2,
        },
        "planner",
      ),
    );
    const second = unwrap(
      await app.tasks.create(
        { title: "Report", description: "", dependsOn: [first.id], priority: 5, run: "r-1", maxRetries: 2 },
        "planner",
      ),
    );
    const [a, b] = [`task:${first.id}`, `task:${second.id}`];
    expect(await edgesOf(app, a)).toEqual(["part_of run:r-1", `${b} depends_on`]);
    const claim = await app.tasks.claim("worker");
    if (!claim) throw new Error("nothing to claim");
    const held = asking(app, underClaim("planner", first.id, claim));
    await held.ask("append_log", { id: "decisions", line: "the lease is 30 s" });
    await held.ask("memory_add_node", { type: "fact", id: "fact:lease", properties: { seconds: 30 } });
    await held.ask("memory_add_edge", { type: "about", from: "fact:lease", to: "entry:decisions" });
    expect(await edgesOf(app, a)).toEqual([
      "entry:decisions written_by",
      "fact:lease written_by",
      "part_of run:r-1",
      `${b} depends_on`,
    ]);
    expect(await edgesOf(app, "entry:decisions")).toEqual(["fact:lease about", `written_by ${a}`]);
    const wrote = await ask("memory_get_edge", { id: `entry:decisions>written_by>${a}` });
    expect(wrote).toMatchObject({ from: "entry:decisions", to: a, properties: { attempt: 1, epoch: claim.epoch } });
    const expected = { role: "planner", run: "r-1", task: first.id, epoch: claim.epoch, attempt: 1 };
    expect(await ask("memory_get_node", { id: "fact:lease" })).toMatchObject({ written: expected });

    const query = (where: object[], type?: string) => ask("memory_query_nodes", { type, where, fields: ["state"] });
    const executing = await query([{ property: "state", op: "eq", value: "worker_executing" }]);
    expect(executing.nodes).toMatchObject([{ id: a, properties: { state: "worker_executing" } }]);
    expect((await query([], "task")).nodes.map((node) => node.id)).toEqual([b, a]);
    expect((await query([{ property: "priority", op: "gt", value: 1 }])).nodes).toMatchObject([{ id: b }]);
    expect((await query([{ property: "holder", op: "exists", value: false }], "task")).nodes).toMatchObject([
      { id: b },
    ]);
    expect((await query([], "run")).nodes).toMatchObject([{ id: "run:r-1", title: "r-1" }]);

    const search = async (input: object) => (await ask("memory_search_nodes", input)).nodes.map((node) => node.id);
    expect((await search({ query: "lease" })).sort()).toEqual(["entry:decisions", "fact:lease", a].sort());
    expect(await search({ query: "clocks", type: "task" })).toEqual([a]);
    expect(await search({ query: "lease", type: "entry" })).toEqual(["entry:decisions"]);
    await app.tasks.edit(second.id, { title: "Tell the others" }, "planner");
    expect(await search({ query: "report" })).toEqual([]);
    expect(await search({ query: "others" })).toEqual([b]);
    const way = await ask("memory_get_subgraph", { id: "fact:lease", depth: 2 });
    expect(way.nodes.map((node) => node.id).sort()).toEqual(["entry:decisions", "fact:lease", "run:r-1", a, b].sort());
  });

  test("O1: topics are nodes about the page they stand on, and a planned run has its own words", async () => {
    const { app, root, git } = await newWorkspace({ engine });
    const { ask } = asking(app);
    writeFileSync(join(root, "GUIDE.md"), "# Guide\n\nHow we work.\n");
    const open = async (path: string, quote?: string) =>
      unwrap(
        await operations.open_topic.perform(
          app,
          { source_path: path, kind: "question", content: "Why?", quote },
          person(),
        ),
      ).id;
    const onEntry = await open("wiki/vision.md");
    const onPage = await open("GUIDE.md", "How we work.");
    expect(await edgesOf(app, `topic:${onEntry}`)).toEqual(["about entry:vision"]);
    expect(await edgesOf(app, "page:GUIDE.md")).toEqual([`topic:${onPage} about`]);
    const { nodes } = await ask("memory_query_nodes", {
      type: "topic",
      where: [{ property: "status", op: "eq", value: "open" }],
      fields: ["kind", "source_path"],
    });
    expect(nodes).toMatchObject([
      {
        id: `topic:${onPage}`,
        title: "question about GUIDE.md",
        properties: { kind: "question", source_path: "GUIDE.md" },
      },
      { id: `topic:${onEntry}`, title: "question about wiki/vision.md" },
    ]);

    git("add", "GUIDE.md");
    git("commit", "-qm", "guide");
    git("mv", "GUIDE.md", "HANDBOOK.md");
    git("commit", "-qm", "rename");
    unwrap(await operations.get_topic.perform(app, { id: onPage }, person()));
    expect(await edgesOf(app, `topic:${onPage}`)).toEqual(["about page:HANDBOOK.md"]);

    const { id } = await app.runs.create("Tell what a lease is", "Ada");
    const node = await ask("memory_get_node", { id: `run:${id}`, fields: ["request", "state"] });
    expect(node.properties).toMatchObject({ request: "Tell what a lease is" });
  });

  test("O1: what the workspace keeps cannot be changed or forged through the graph, and edges of one's own to it stay", async () => {
    const { app } = await newWorkspace({ engine });
    const { ask, problem } = asking(app);
    const { version } = await ask("fetch_entry", { id: "vision" });
    await ask("commit_entry", { id: "vision", content: "[[design]]\n", version });
    await ask("memory_add_node", { type: "t", id: "mine" });
    const { id } = await ask("memory_add_edge", {
      type: "explains",
      from: "mine",
      to: "entry:vision",
      properties: { why: "x" },
    });
    const table: [OperationName, object, RegExp][] = [
      ["memory_update_node", { id: "entry:vision", version: 1, properties: {} }, /change its text/],
      ["memory_delete_node", { id: "entry:vision" }, /change its text/],
      ["memory_delete_node", { id: "task:none", confirm: true }, /change the task/],
      ["memory_add_node", { type: "entry", id: "entry:forged" }, /is derived from the workspace/],
      ["memory_add_node", { type: "t", id: "source:forged" }, /is derived from the workspace/],
      [
        "memory_delete_edge",
        { id: "entry:vision>links_to>entry:design" },
        /it is a link in an entry; change the entry/,
      ],
    ];
    for (const [name, input, message] of table)
      expect(await problem(name, input)).toMatchObject({ code: "refused", message: expect.stringMatching(message) });
    const forged = JSON.stringify({ kind: "node", id: "entry:x", type: "t", properties: {} });
    expect(await operations.import_graph.perform(app, { lines: forged }, person())).toMatchObject({ ok: false });
    expect(await problem("memory_add_edge", { type: "r", from: "mine", to: "entry:nowhere" })).toMatchObject({
      code: "not_found",
    });

    await ask("commit_entry", { id: "vision", content: "Other.\n", version: version + 1 });
    await app.recorder.record();
    await app.rebuild();
    expect(await edgesOf(app, "mine")).toEqual(["explains entry:vision"]);
    expect(await ask("memory_get_edge", { id })).toMatchObject({
      type: "explains",
      properties: { why: "x" },
      written: { role: "planner" },
    });
    const lines = async (whole: boolean) => {
      const found: string[] = [];
      for await (const line of exportLines(app.db, "jsonl", whole)) found.push(line);
      return found;
    };
    expect(await lines(false)).toHaveLength(2);
    const whole = await lines(true);
    expect(whole.filter((line) => line.includes('"kept":"elsewhere"'))).toHaveLength(whole.length - 2);
    const other = (await newWorkspace({ engine })).app;
    await other.links.catchUp();
    expect(await operations.import_graph.perform(other, { lines: whole.join("\n") }, person())).toMatchObject({
      value: { nodes: 1, edges: 1 },
    });
  });

  test("C2, T6: a write under a claim that is over is refused and recorded, in the graph and in entries", async () => {
    const { app } = await newWorkspace({ engine });
    const task = unwrap(
      await app.tasks.create(
        { title: "t", description: "", dependsOn: [], priority: 0, run: null, maxRetries: 2 },
        "planner",
      ),
    );
    const old = unwrap(await app.tasks.lock(task.id, "one", 60_000));
    if (!("epoch" in old)) throw new Error("held");
    const late = asking(app, underClaim("planner", task.id, old));
    const { version } = await late.ask("memory_add_node", { type: "t", id: "a" });
    await late.ask("memory_add_node", { type: "t", id: "b" });
    const edge = await late.ask("memory_add_edge", { type: "r", from: "a", to: "b" });
    const writes: [OperationName, object][] = [
      ["memory_add_node", { type: "t", id: "late" }],
      ["memory_update_node", { id: "a", version, properties: { x: 1 } }],
      ["memory_delete_node", { id: "a", confirm: true }],
      ["memory_add_edge", { type: "late", from: "a", to: "b" }],
      ["memory_delete_edge", edge],
      ["commit_entry", { id: "vision", content: "late\n", version: 1 }],
      ["append_log", { id: "decisions", line: "late" }],
    ];
    await app.db.write((tx) => tx.updateTable("tasks").set({ lease_until: 1 }).where("id", "=", task.id).execute());
    for (const [name, input] of writes)
      expect([name, await late.problem(name, input)]).toMatchObject([
        name,
        {
          code: "conflict",
          message: expect.stringMatching(/lease has expired; nothing was saved/),
          details: { late: true },
        },
      ]);
    const now = unwrap(await app.tasks.lock(task.id, "two", 60_000));
    if (!("epoch" in now)) throw new Error("held");
    for (const [name, input] of writes)
      expect([name, await late.problem(name, input)]).toMatchObject([
        name,
        {
          code: "conflict",
          message: `task ${task.id}: the claim with epoch ${old.epoch} has ended; the task is at epoch ${now.epoch}; nothing was saved`,
        },
      ]);
    expect((await allEvents(app)).filter((event) => event.kind === "task-write-refused")).toHaveLength(
      writes.length * 2,
    );
    const holder = asking(app, underClaim("planner", task.id, now));
    for (const [name, input] of [writes[1], writes[3], writes[6]] as [OperationName, object][])
      await holder.ask(name, input);
    expect(await edgesOf(app, "a")).toEqual(["late b", "r b", `written_by task:${task.id}`]);
  });

  test("O1: a subgraph that does not fit goes on with its cursor until every node and edge was shown once", async () => {
    const { app } = await newWorkspace({ engine });
    const { ask } = asking(app);
    const name = (i: number) => `n${i}.${"x".repeat(60)}`;
    const lines = Array.from({ length: 60 }, (_, i) => [
      { kind: "node", id: name(i), type: "t", properties: {} },
      ...(i > 0 ? [{ kind: "edge", id: `a${i}`, type: "r", from: name(0), to: name(i), properties: {} }] : []),
      ...(i > 1 ? [{ kind: "edge", id: `b${i}`, type: "r", from: name(i), to: name(i - 1), properties: {} }] : []),
    ]).flat();
    const text = lines.map((line) => JSON.stringify(line)).join("\n");
    unwrap(await operations.import_graph.perform(app, { lines: text }, person()));
    const nodes: string[] = [];
    const edges: string[] = [];
    let cursor: string | undefined;
    do {
      const page: z.infer<typeof operations.memory_get_subgraph.output> = await ask("memory_get_subgraph", {
        id: name(0),
        depth: 2,
        max_nodes: 40,
        cursor,
      });
      expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThanOrEqual(6000);
      expect(page.truncated === true).toBe(page.cursor !== undefined);
      nodes.push(...page.nodes.map((node) => node.id));
      edges.push(...page.edges.map((edge) => `${edge.from} ${edge.to}`));
      cursor = page.cursor;
    } while (cursor);
    expect([...nodes].sort()).toEqual(Array.from({ length: 60 }, (_, i) => name(i)).sort());
    expect(new Set(edges).size).toBe(edges.length);
    expect(edges).toHaveLength(59 + 58);
  });

  test("O1: lists of neighbours and nodes go on from one kind to the next, and miss nothing", async () => {
    const { app } = await newWorkspace({ engine });
    const { ask } = asking(app);
    await ask("memory_add_node", { type: "service", id: "service:hub" });
    for (const id of ["vision", "design", "notes", "glossary"]) {
      const { version } = await ask("fetch_entry", { id });
      unwrap(await operations.commit_entry.perform(app, { id, content: "[[service:hub]]\n", version }, person()));
      await ask("memory_add_edge", { type: "about", from: "service:hub", to: `entry:${id}` });
    }
    const pages = async (name: "memory_query_nodes" | "memory_get_neighbors", input: object) => {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await ask(name, { ...input, limit: 3, ...(cursor ? { cursor } : {}) });
        found.push(...("nodes" in page ? page.nodes : page.neighbors).map((node) => node.id));
        cursor = page.cursor;
      } while (cursor);
      return found;
    };
    const about = ["entry:vision", "entry:design", "entry:notes", "entry:glossary"];
    expect(await pages("memory_get_neighbors", { id: "service:hub" })).toEqual([...about, ...[...about].sort()]);
    const entries = ["api/errors", "decisions", "design", "glossary", "notes", "vision"].map((id) => `entry:${id}`);
    expect(await pages("memory_query_nodes", {})).toEqual(["service:hub", ...entries]);
  });
});

test("O1: people see backlinks and the whole graph from the shell", async () => {
  const { root, file } = await newWorkspace();
  writeFileSync(file("notes.md"), "---\ntitle: Notes\n---\n\n[[vision]] and [[gone]]\n");
  const graph = (...args: string[]) => scriptorium(["graph", ...args], { cwd: root });
  expect((await graph("backlinks", "wiki/vision.md")).stdout).toContain("entry:notes");
  expect((await graph("backlinks", "notes")).stdout).toContain("broken links: entry:gone");
  expect((await graph("backlinks", "gone", "--json")).json()).toMatchObject({ exists: false });
  expect((await graph("export", "--format", "dot")).stdout).toContain(
    '"entry:notes" -> "entry:vision" [label="links_to"];',
  );
});

const folders = { wiki: "wiki", sources: "sources" };
const links = (text: string, entry = "api/overview") => linksIn(text, entry, folders);

test.each([
  ["[[vision]]", ["entry:vision"]],
  ["[[ vision | the *goal* ]] [[vision#a b]]", ["entry:vision"]],
  ["[[task:task-01]] [[service:billing]]", ["service:billing", "task:task-01"]],
  ["[a](errors.md) [b](../vision.md?x#y) [c](errors)", ["entry:api/errors", "entry:vision"]],
  ["[a](<../../sources/a b.txt>) ![](../../sources/p.png 'title')", ["source:a b.txt", "source:p.png"]],
  ["[a]: ../../docs/x.md\n\n[a]", ["page:docs/x.md"]],
  ["[a](../../README.md) [b](../../src/x.ts)", ["page:README.md"]],
  [
    "[a](https://x.org/b.md) [b](mailto:x@y.md) [c](//h/x.md) [d](/etc/x.md) [e](../../../out.md) [f](#x) [g](%zz.md)",
    [],
  ],
  ["`[[a]]` ``[x](a.md) ` `` \\[[a]] \\`[[b]]", ["entry:b"]],
  ["```\n[[a]]\n```\n[[b]]\n~~~md\n[[c]]", ["entry:b"]],
  ["- item\n  ```\n  [[a]]\n  ```\n- [[b]]\n> ```\n> [[c]]\n> ```\n> [[d]]", ["entry:b", "entry:d"]],
  ["[[]] [[ ]] [[|x]] [[a\nb]] [[x>y]] [[a]](b.md)", ["entry:api/b"]],
])("O1: the links of %j", (text, expected) => {
  expect(links(text)).toEqual(expected);
});

test("O1: a log's links are the same whether it is read at once or grew line by line", () => {
  const piece = fc.constantFrom("[[a]]", "[[b|c]]", "`", "```", "[x](d.md)", "text", " ", "\n", "\n- ", "> ");
  fc.assert(
    fc.property(
      fc.array(
        fc.array(piece, { maxLength: 6 }).map((p) => p.join("").replaceAll("\n", " ")),
        { maxLength: 12 },
      ),
      (lines) => {
        const grown = lines.reduce<string[]>((known, line) => linksWith(known, line, "log", folders), []);
        expect(linksInLog(lines.join("\n"), "log", folders)).toEqual(grown);
      },
    ),
  );
});

test("O1: the scanner finds the links that the parser of pages finds", () => {
  const inline = fc.constantFrom(
    ...'[[a]]|[[b/c]]|[[d#e]]|[x](y.md)|[x *y*](<z w.md> "t")|![p](q.md)|`code`|`` a`b ``|`[[no]]`|``[n](no.md)``'.split(
      "|",
    ),
    ..."*em*|**strong**|\\[[[k]]|\\`|word|.|(|)|<b|~~s~~|[r][def]|[def]|a_b".split("|"),
    "[[l|m]]",
  );
  const line = fc.array(inline, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(" "));
  const block = fc.oneof(
    fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.join("\n")),
    line.map((text) => `## ${text}`),
    fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.map((text) => `- ${text}`).join("\n")),
    fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.map((text) => `> ${text}`).join("\n")),
    fc.tuple(fc.constantFrom("```", "~~~", "````"), line, line).map(([f, a, b]) => `${f}\n${a}\n\n${b}\n${f}`),
    fc.tuple(line, line).map(([a, b]) => `1. ${a}\n\n   \`\`\`js\n   ${b}\n   \`\`\``),
    line.map((text) => `[def]: def.md\n\n${text}`),
  );
  fc.assert(
    fc.property(fc.array(block, { maxLength: 6 }), (blocks) => {
      const text = blocks.join("\n\n");
      expect([text, links(text, "e")]).toEqual([text, parsedLinks(text)]);
    }),
    { numRuns: 200 },
  );
});

type Tree = { type: string; value?: string; url?: string; children?: Tree[] };

/** The same by the parser: wiki links in texts that are in no link, and the addresses of links, images and definitions. */
function parsedLinks(text: string): string[] {
  const written: string[] = [];
  const visit = (node: Tree, inLink: boolean) => {
    if (node.type === "text" && !inLink)
      for (const [, inner = ""] of node.value?.matchAll(/\[\[([^\n[\]]+)\]\]/g) ?? []) written.push(`[[${inner}]]`);
    if (node.url !== undefined) written.push(`[x](<${node.url}>)`);
    for (const child of node.children ?? [])
      visit(child, inLink || node.type === "link" || node.type === "linkReference");
  };
  visit(reader.parse(text) as Tree, false);
  return links(written.join("\n\n"), "e");
}
