import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type * as z from "zod";
import type { App } from "../src/app.ts";
import { exportLines, formats } from "../src/graph/exchange.ts";
import { nodesAround } from "../src/graph/walk.ts";
import type { Caller } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operationNamed, operations } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { scribe, scriptorium } from "./support/commands.ts";
import { overStdio } from "./support/mcp.ts";
import { agent, allEvents, engines, newWorkspace, person } from "./support/workspace.ts";

/** Performs an operation as an agent, in few words. */
const asking = (app: App, caller: Caller = agent("engineer")) => {
  const ask = async <N extends OperationName>(name: N, input: object) =>
    unwrap(await operationNamed(name).perform(app, input, caller));
  const problem = async (name: OperationName, input: object) => {
    const result = await operations[name].perform(app, input, caller);
    if (result.ok) throw new Error(`${name} was not refused`);
    return result.problem;
  };
  return { ask, problem };
};

const hostileNames = [
  "__proto__",
  "constructor",
  "toString",
  'quo"te',
  "back\\slash",
  "a.b",
  "$.x",
  "[0]",
  "'; DROP TABLE nodes;--",
  "line\nbreak",
  "tab\t",
  "ümläut ☂ 𝒻",
  " ",
  "#-1",
  "\u007f",
  "/",
];

describe.each(engines)("O1: the knowledge graph on %s", (engine) => {
  const fresh = async () => {
    const workspace = await newWorkspace({ engine });
    return { ...workspace, ...asking(workspace.app) };
  };

  test("O1: a node is added, read, changed, and read again", async () => {
    const { ask } = await fresh();
    const { id, version } = await ask("memory_add_node", {
      type: "service",
      properties: { title: "Billing", tier: 1, notes: null },
    });
    expect(id).toMatch(/^n-/);
    const brief = await ask("memory_get_node", { id });
    expect(brief).toMatchObject({ id, type: "service", title: "Billing", version: 1, created_by: "engineer" });
    expect(brief).toMatchObject({ names: ["title", "tier"] });
    expect(brief).not.toHaveProperty("properties");
    expect(await ask("memory_get_node", { id, fields: ["tier", "none"] })).toMatchObject({ properties: { tier: 1 } });

    const changes = { tier: null, title: "Invoices", owner: { team: "money" } };
    expect(await ask("memory_update_node", { id, version, properties: changes })).toEqual({ id, version: 2 });
    const all = await ask("memory_get_node", { id, fields: ["*"] });
    expect(all).toMatchObject({ title: "Invoices", version: 2 });
    expect(all.properties).toEqual({ title: "Invoices", owner: { team: "money" } });
  });

  test("O1: of two who change the same version, the second is told what is there now", async () => {
    const { ask, problem, app } = await fresh();
    const { id } = await ask("memory_add_node", { type: "t", properties: { a: 1 } });
    const change = (b: number) =>
      operations.memory_update_node.perform(app, { id, version: 1, properties: { b } }, agent("planner"));
    const both = await Promise.all([change(1), change(2)]);
    expect(both.filter((result) => result.ok)).toHaveLength(1);
    const { properties } = await ask("memory_get_node", { id, fields: ["*"] });
    const stale = await problem("memory_update_node", { id, version: 1, properties: { b: 3 } });
    expect(stale).toMatchObject({ code: "conflict", details: { latestVersion: 2, latest_properties: properties } });
    expect(await problem("memory_update_node", { id: "none", version: 1, properties: {} })).toMatchObject({
      code: "not_found",
    });
  });

  test("O1: an id of one's own can be taken once", async () => {
    const { ask, problem } = await fresh();
    await ask("memory_add_node", { type: "t", id: "service:billing/eu-1.x" });
    expect(await problem("memory_add_node", { type: "t", id: "service:billing/eu-1.x" })).toMatchObject({
      code: "conflict",
      details: { latestVersion: 1 },
    });
    for (const id of ["", "a b", "x".repeat(201), "a\n", "ü", "'"])
      expect(await problem("memory_add_node", { type: "t", id })).toMatchObject({ code: "invalid" });
  });

  test("O1: what cannot be kept is refused with a reason", async () => {
    const { problem, ask } = await fresh();
    const deep = (levels: number): object => (levels === 0 ? {} : { x: deep(levels - 1) });
    const table: [unknown, RegExp][] = [
      [{ text: "x".repeat(65_536) }, /the maximum is 65536/],
      [Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`p${i}`, 1])), /the maximum is 100/],
      [{ ["x".repeat(101)]: 1 }, /1 to 100 characters/],
      [{ "": 1 }, /1 to 100 characters/],
      [deep(20), /nested too deeply/],
      [{ a: "nul\0" }, /must not contain NUL/],
      [{ "nul\0": 1 }, /must not contain NUL/],
      [{ a: ["\ud800"] }, /lone surrogates/],
      [{ a: Number.POSITIVE_INFINITY }, /not a JSON number/],
      [[1], /expected an object/],
      ["x", /expected an object/],
      [null, /expected an object/],
    ];
    for (const [properties, message] of table) {
      const refused = await problem("memory_add_node", { type: "t", properties });
      expect(refused).toMatchObject({ code: "invalid", message: expect.stringMatching(message) });
    }
    const { id } = await ask("memory_add_node", { type: "t", properties: { a: "x".repeat(40_000) } });
    const grown = { id, version: 1, properties: { b: "x".repeat(40_000) } };
    expect(await problem("memory_update_node", grown)).toMatchObject({ code: "invalid" });
    for (const input of [{ depth: 0 }, { depth: 5 }, { depth: 1, max_nodes: 201 }])
      expect(await problem("memory_get_subgraph", { id, ...input })).toMatchObject({ code: "invalid" });
  });

  test("O1: a node's edges go with it, after a preview that says how many", async () => {
    const { ask, problem } = await fresh();
    for (const id of ["a", "b", "c"]) await ask("memory_add_node", { type: "t", id });
    await ask("memory_add_edge", { type: "knows", from: "a", to: "b" });
    await ask("memory_add_edge", { type: "knows", from: "c", to: "a" });
    await ask("memory_add_edge", { type: "knows", from: "a", to: "a" });
    const rest = await ask("memory_add_edge", { type: "knows", from: "b", to: "c" });
    expect(await ask("memory_delete_node", { id: "a" })).toMatchObject({ deleted: false, edges: 3 });
    expect(await ask("memory_get_node", { id: "a" })).toMatchObject({ version: 1 });
    expect(await ask("memory_delete_node", { id: "a", confirm: true })).toMatchObject({ deleted: true, edges: 3 });
    expect(await problem("memory_get_node", { id: "a" })).toMatchObject({ code: "not_found" });
    expect(await problem("memory_delete_node", { id: "a", confirm: true })).toMatchObject({ code: "not_found" });
    const left = await ask("memory_get_neighbors", { id: "b" });
    expect(left.neighbors).toEqual([
      { id: "c", type: "t", title: "c", edge: { ...rest, type: "knows", direction: "out" } },
    ]);
    expect(await ask("memory_search_nodes", { query: "a" })).toEqual({ nodes: [] });
  });

  test("O1: an edge joins two nodes that exist, once for each type", async () => {
    const { ask, problem } = await fresh();
    for (const id of ["a", "b"]) await ask("memory_add_node", { type: "t", id });
    const { id } = await ask("memory_add_edge", { type: "knows", from: "a", to: "b", properties: { since: 2020 } });
    await ask("memory_add_edge", { type: "likes", from: "a", to: "b" });
    await ask("memory_add_edge", { type: "knows", from: "b", to: "a" });
    expect(await problem("memory_add_edge", { type: "knows", from: "a", to: "b" })).toMatchObject({
      code: "conflict",
      details: { id },
    });
    const loose = await problem("memory_add_edge", { type: "knows", from: "a", to: "z" });
    expect(loose).toMatchObject({ code: "not_found", message: expect.stringContaining("node z does not exist") });
    expect(await ask("memory_delete_edge", { id })).toEqual({ id });
    expect(await problem("memory_delete_edge", { id })).toMatchObject({ code: "not_found" });
  });

  test("O1: while a node is deleted, no edge to it is left behind or fails in a way nobody expects", async () => {
    const { ask, app } = await fresh();
    await ask("memory_add_node", { type: "t", id: "hub" });
    const ids = Array.from({ length: 10 }, (_, i) => `n${i}`);
    for (const id of ids) await ask("memory_add_node", { type: "t", id });
    const link = (id: string) =>
      operations.memory_add_edge.perform(app, { type: "to", from: id, to: "hub" }, agent("planner"));
    const drop = () => operations.memory_delete_node.perform(app, { id: "hub", confirm: true }, agent("planner"));
    const results = await Promise.all([...ids.slice(0, 5).map(link), drop(), ...ids.slice(5).map(link)]);
    for (const result of results) if (!result.ok) expect(result.problem.code).toBe("not_found");
    expect(await app.db.read.selectFrom("edges").selectAll().execute()).toEqual([]);
  });

  test("O1: properties are asked for by value, as a table", async () => {
    const { ask } = await fresh();
    const nodes = {
      a: { status: "open", size: 1, tags: ["x", "y"], flag: true },
      b: { status: "done", size: 10, tags: [1, true, "1"], flag: false },
      c: { size: "10", status: "Öpen ☂", nested: { status: "open" } },
      d: { size: 1.5, flag: 1, tags: "x, y" },
      e: {},
    };
    for (const [id, properties] of Object.entries(nodes)) await ask("memory_add_node", { type: "t", id, properties });
    await ask("memory_add_node", { type: "other", id: "f", properties: { status: "open" } });
    const table: [object | object[], string][] = [
      [[], "abcde"],
      [{ property: "status", op: "eq", value: "open" }, "a"],
      [{ property: "status", op: "eq", value: "Öpen ☂" }, "c"],
      [{ property: "status", op: "ne", value: "open" }, "bcde"],
      [{ property: "status", op: "in", value: ["open", "done"] }, "ab"],
      [{ property: "status", op: "in", value: [] }, ""],
      [{ property: "status", op: "contains", value: "pe" }, "ac"],
      [{ property: "status", op: "contains", value: "%" }, ""],
      [{ property: "status", op: "exists" }, "abc"],
      [{ property: "status", op: "exists", value: false }, "de"],
      [{ property: "status", op: "gt", value: "e" }, "ac"],
      [{ property: "size", op: "eq", value: 10 }, "b"],
      [{ property: "size", op: "eq", value: "10" }, "c"],
      [{ property: "size", op: "gt", value: 1 }, "bd"],
      [{ property: "size", op: "lt", value: 10 }, "ad"],
      [{ property: "size", op: "lt", value: "2" }, "c"],
      [{ property: "flag", op: "eq", value: true }, "a"],
      [{ property: "flag", op: "eq", value: 1 }, "d"],
      [{ property: "flag", op: "ne", value: false }, "acde"],
      [{ property: "tags", op: "contains", value: "x" }, "ad"],
      [{ property: "tags", op: "contains", value: 1 }, "b"],
      [{ property: "tags", op: "contains", value: "1" }, "b"],
      [{ property: "tags", op: "contains", value: true }, "b"],
      [{ property: "tags", op: "eq", value: "x" }, ""],
      [{ property: "nested", op: "eq", value: "open" }, ""],
      [{ property: "nested.status", op: "exists" }, ""],
      [{ property: "status", op: "eq", value: "' OR 1=1 --" }, ""],
      [
        [
          { property: "size", op: "gt", value: 0 },
          { property: "tags", op: "contains", value: "x" },
        ],
        "ad",
      ],
    ];
    for (const [where, ids] of table) {
      const found = await ask("memory_query_nodes", { type: "t", where: [where].flat() });
      expect([
        where,
        found.nodes
          .map((node) => node.id)
          .sort()
          .join(""),
      ]).toEqual([where, ids]);
    }
  });

  test("O1: a condition that makes no sense is refused with its place", async () => {
    const { problem } = await fresh();
    const table: object[] = [
      { property: "a", op: "eq" },
      { property: "a", op: "eq", value: [1] },
      { property: "a", op: "in", value: 1 },
      { property: "a", op: "gt", value: true },
      { property: "a", op: "exists", value: "yes" },
      { property: "a", op: "like", value: "x" },
      { property: "", op: "exists" },
      { property: "a", op: "eq", value: null },
      { property: "a", op: "eq", value: "\0" },
      { property: "a\0", op: "exists" },
      { property: "a", op: "contains", value: "\ud800" },
      { property: "a", op: "in", value: ["\0"] },
    ];
    for (const condition of table) {
      const refused = await problem("memory_query_nodes", { where: [condition] });
      expect([condition, refused]).toMatchObject([
        condition,
        { code: "invalid", message: expect.stringMatching(/where\.0/) },
      ]);
    }
  });

  test("O1: hostile names of properties are names like any other", async () => {
    const { ask, app } = await fresh();
    const properties = JSON.parse(`{${hostileNames.map((name, i) => `${JSON.stringify(name)}:"v${i}"`).join(",")}}`);
    const { id } = await ask("memory_add_node", { type: "t", properties });
    await ask("memory_add_node", { type: "t", properties: { other: 1 } });
    for (const [i, name] of hostileNames.entries()) {
      const one = await ask("memory_get_node", { id, fields: [name] });
      expect(Object.entries(one.properties ?? {})).toEqual([[name, `v${i}`]]);
      for (const condition of [
        { op: "eq", value: `v${i}` },
        { op: "exists" },
        { op: "contains", value: `v${i}` },
        { op: "in", value: [`v${i}`] },
        { op: "gt", value: "u" },
      ]) {
        const { nodes } = await ask("memory_query_nodes", { where: [{ property: name, ...condition }] });
        expect([name, condition, nodes.map((node) => node.id)]).toEqual([name, condition, [id]]);
      }
    }
    const gone = JSON.parse('{"__proto__": null, "constructor": null}');
    await ask("memory_update_node", { id, version: 1, properties: gone });
    const { names } = await ask("memory_get_node", { id });
    expect(names).toEqual(hostileNames.slice(2));
    expect(({} as Record<string, unknown>).v0).toBeUndefined();
    expect(await app.db.read.selectFrom("nodes").select("id").execute()).toHaveLength(2);
  });

  test("O1: any text is kept and found by equality, whatever it is made of", async () => {
    const { ask } = await fresh();
    const text = fc.string({ unit: "binary", minLength: 1, maxLength: 20 }).filter((t) => !t.includes("\0"));
    await fc.assert(
      fc.asyncProperty(text, text, async (name, value) => {
        const { id } = await ask("memory_add_node", { type: "t", properties: Object.fromEntries([[name, value]]) });
        const { nodes } = await ask("memory_query_nodes", {
          where: [{ property: name, op: "eq", value }],
          fields: ["*"],
        });
        const found = nodes.find((node) => node.id === id);
        expect(Object.entries(found?.properties ?? {})).toEqual([[name, value]]);
      }),
      { numRuns: 60 },
    );
  });

  test("O1: long lists come in pages that miss nothing and repeat nothing", async () => {
    const { ask } = await fresh();
    await ask("memory_add_node", { type: "hub", id: "hub" });
    for (let i = 0; i < 60; i++) {
      await ask("memory_add_node", { type: "t", id: `n${i}`, properties: { title: `Number ${i} ${"é".repeat(70)}` } });
      await ask(
        "memory_add_edge",
        i % 2 ? { type: "in", from: `n${i}`, to: "hub" } : { type: "out", from: "hub", to: `n${i}` },
      );
    }
    const pages = async (name: "memory_query_nodes" | "memory_get_neighbors", input: object) => {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await ask(name, { ...input, ...(cursor ? { cursor } : {}) });
        expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThanOrEqual(6000);
        found.push(...("nodes" in page ? page.nodes : page.neighbors).map((node) => node.id));
        cursor = page.cursor;
      } while (cursor);
      return found;
    };
    const expected = Array.from({ length: 60 }, (_, i) => `n${i}`);
    for (const limit of [7, 100]) {
      expect(await pages("memory_query_nodes", { type: "t", limit })).toEqual([...expected].reverse());
      expect(await pages("memory_get_neighbors", { id: "hub", limit })).toEqual(expected);
    }
    const odd = expected.filter((_, i) => i % 2 === 1);
    expect(await pages("memory_get_neighbors", { id: "hub", direction: "in", limit: 10 })).toEqual(odd);
    expect(await pages("memory_get_neighbors", { id: "hub", edge_type: "in" })).toEqual(odd);
  });

  test("O1: an answer of more than 2,000 tokens is a bug, whatever is in the graph", async () => {
    const { ask, problem, app } = await fresh();
    const long = (i: number) => `${String(i).padStart(3, "0")}${"x".repeat(197)}`;
    const type = "y".repeat(60);
    const heavy = {
      title: "ü☂\u0001".repeat(2000),
      ...Object.fromEntries(Array.from({ length: 99 }, (_, i) => [`${i}${"ü".repeat(98)}`, "☂".repeat(50)])),
    };
    const nodes = Array.from({ length: 60 }, (_, i) => ({ kind: "node", id: long(i), type, properties: heavy }));
    const edges = Array.from({ length: 59 }, (_, i) => [
      { kind: "edge", id: `a${i}`, type, from: long(i), to: long(i + 1), properties: {} },
      { kind: "edge", id: `b${i}`, type, from: long(0), to: long(i + 1), properties: {} },
    ])
      .flat()
      .filter((edge) => edge.id !== "b0");
    const lines = [...nodes, ...edges].map((record) => JSON.stringify(record)).join("\n");
    unwrap(await operations.import_graph.perform(app, { lines }, person()));
    const calls: [OperationName, object][] = [
      ["memory_get_node", { id: long(0) }],
      ["memory_get_node", { id: long(0), fields: ["*"] }],
      ["memory_get_node", { id: long(0), fields: ["title"], offset: 4000 }],
      ["memory_query_nodes", { limit: 100 }],
      ["memory_query_nodes", { limit: 100, fields: ["*"] }],
      ["memory_query_nodes", { limit: 100, fields: ["title"] }],
      ["memory_search_nodes", { query: "ü", limit: 50 }],
      ["memory_search_nodes", { query: long(0), limit: 50 }],
      ["memory_get_neighbors", { id: long(0), limit: 100 }],
      ["memory_get_subgraph", { id: long(0), depth: 4, max_nodes: 200 }],
      ["memory_find_path", { from: long(0), to: long(59) }],
      ["memory_delete_node", { id: long(0) }],
    ];
    for (const [name, input] of calls) {
      const text = JSON.stringify(await ask(name, input));
      expect([name, Buffer.byteLength(text) <= 6000]).toEqual([name, true]);
      if (/query|neighbors|subgraph/.test(name)) expect(text).toMatch(/"nodes":\[\{|"neighbors":\[\{/);
    }
    const stale = await problem("memory_update_node", { id: long(0), version: 9, properties: {} });
    expect(Buffer.byteLength(JSON.stringify(stale))).toBeLessThanOrEqual(6000);
    expect(await ask("memory_get_subgraph", { id: long(0), depth: 1 })).toMatchObject({ truncated: true });
  });

  test("O1: a long property is read to its end, part by part", async () => {
    const { ask, problem } = await fresh();
    const text = "☂ 𝒻 words\n".repeat(1500);
    const list = Array.from({ length: 3000 }, (_, i) => i);
    const { id } = await ask("memory_add_node", { type: "t", properties: { text, list } });
    for (const [name, whole] of [
      ["text", text],
      ["list", JSON.stringify(list)],
    ] as const) {
      let read = "";
      for (let next: number | undefined = 0; next !== undefined; ) {
        const part: z.infer<typeof operations.memory_get_node.output> = await ask("memory_get_node", {
          id,
          fields: [name],
          offset: next,
        });
        read += part.properties?.[name];
        next = part.cut?.[0]?.next;
      }
      expect(read).toBe(whole);
    }
    expect(await problem("memory_get_node", { id, fields: ["*", "text"], offset: 5 })).toMatchObject({
      code: "invalid",
    });
  });

  test("O1: a subgraph ends at its depth, its types and its number of nodes", async () => {
    const { ask, problem } = await fresh();
    for (const id of ["a", "b", "c", "d", "e"]) await ask("memory_add_node", { type: "t", id });
    const edge = (from: string, type: string, to: string) => ask("memory_add_edge", { from, type, to });
    await edge("a", "next", "b");
    await edge("c", "next", "b");
    await edge("c", "next", "d");
    await edge("a", "far", "e");
    const around = async (input: object) => {
      const { nodes, edges, truncated } = await ask("memory_get_subgraph", { id: "a", ...input });
      return [nodes.map((n) => n.id).join(""), edges.map((e) => `${e.from}${e.to}`).join(" "), truncated ?? false];
    };
    expect(await around({ depth: 1 })).toEqual(["abe", "ab ae", false]);
    expect(await around({ depth: 2 })).toEqual(["abec", "ab cb ae", false]);
    expect(await around({ depth: 4 })).toEqual(["abecd", "ab cb cd ae", false]);
    expect(await around({ depth: 4, edge_types: ["next"] })).toEqual(["abcd", "ab cb cd", false]);
    expect(await around({ depth: 4, max_nodes: 2 })).toEqual(["ab", "ab", true]);
    expect(await problem("memory_get_subgraph", { id: "zz", depth: 1 })).toMatchObject({ code: "not_found" });
  });

  test("O1: the way between two nodes is the shortest, in either direction of edges", async () => {
    const { ask, problem } = await fresh();
    for (const id of ["a", "b", "c", "d", "e", "alone"]) await ask("memory_add_node", { type: "t", id });
    const edge = (from: string, to: string) => ask("memory_add_edge", { from, type: "r", to });
    await edge("a", "b");
    await edge("b", "c");
    await edge("c", "d");
    await edge("d", "e");
    await edge("e", "b");
    const way = await ask("memory_find_path", { from: "a", to: "e" });
    expect(way).toMatchObject({ found: true });
    expect(way.nodes.map((node) => node.id)).toEqual(["a", "b", "e"]);
    expect(way.edges).toEqual([
      { from: "a", type: "r", to: "b" },
      { from: "e", type: "r", to: "b" },
    ]);
    expect(await ask("memory_find_path", { from: "a", to: "a" })).toMatchObject({ found: true, edges: [] });
    expect(await ask("memory_find_path", { from: "a", to: "alone" })).toEqual({ found: false, nodes: [], edges: [] });
    expect(await ask("memory_find_path", { from: "a", to: "d", max_depth: 2 })).toMatchObject({ found: false });
    expect(await problem("memory_find_path", { from: "a", to: "none" })).toMatchObject({ code: "not_found" });
  });

  test("O1: subgraphs and ways are those of a plain breadth-first search", async () => {
    const { app, ask } = await fresh();
    const count = 8;
    const pair = fc.tuple(fc.nat(count - 1), fc.nat(count - 1));
    const graphs = fc.uniqueArray(pair, { maxLength: 14, selector: String });
    let round = 0;
    await fc.assert(
      fc.asyncProperty(graphs, fc.integer({ min: 1, max: 4 }), async (pairs, depth) => {
        const id = (n: number, here = round) => `g${here}.${n}`;
        round++;
        const here = round;
        const lines = [
          ...Array.from({ length: count }, (_, n) => ({ kind: "node", id: id(n, here), type: "t", properties: {} })),
          ...pairs.map(([a, b], i) => ({
            kind: "edge",
            id: `e${here}.${i}`,
            type: "r",
            from: id(a, here),
            to: id(b, here),
            properties: {},
          })),
        ];
        const text = lines.map((line) => JSON.stringify(line)).join("\n");
        unwrap(await operations.import_graph.perform(app, { lines: text }, person()));
        const distance = distances(pairs, 0);
        const near = [...distance].filter(([, steps]) => steps <= depth).map(([n]) => id(n, here));
        const found = await ask("memory_get_subgraph", { id: id(0, here), depth });
        expect(found.nodes.map((node) => node.id).sort()).toEqual([...near].sort());
        expect((await nodesAround(app.db, id(0, here), { depth, maxNodes: 200 })).ids.sort()).toEqual([...near].sort());
        const between = pairs.filter(([a, b]) => near.includes(id(a, here)) && near.includes(id(b, here)));
        expect(found.edges.map((e) => `${e.from} ${e.to}`).sort()).toEqual(
          between.map(([a, b]) => `${id(a, here)} ${id(b, here)}`).sort(),
        );
        const way = await ask("memory_find_path", { from: id(0, here), to: id(count - 1, here), max_depth: 10 });
        expect(way.found ? way.edges.length : undefined).toBe(distance.get(count - 1));
      }),
      { numRuns: 40 },
    );
  });

  test("O1: search finds words in titles and texts, at once, and takes any string", async () => {
    const { ask } = await fresh();
    await ask("memory_add_node", {
      type: "decision",
      id: "adr:7",
      properties: { title: "Retry policy", body: "Wait twice as long." },
    });
    const { id } = await ask("memory_add_node", {
      type: "note",
      properties: { list: [{ text: "the lease expires" }], retry: 3 },
    });
    const search = async (input: object) => (await ask("memory_search_nodes", input)).nodes.map((node) => node.id);
    expect(await search({ query: "retries" })).toEqual(["adr:7"]);
    expect(await search({ query: "how long do we wait" })).toEqual(["adr:7"]);
    expect(await search({ query: "expir" })).toEqual([id]);
    expect(await search({ query: "adr" })).toEqual(["adr:7"]);
    expect(await search({ query: "lease retry", type: "note" })).toEqual([id]);
    const [hit] = (await ask("memory_search_nodes", { query: "leases" })).nodes;
    expect(hit).toMatchObject({ id, type: "note", title: id, snippet: expect.stringContaining("«lease»") });
    await ask("memory_update_node", { id, version: 1, properties: { list: "gone" } });
    expect(await search({ query: "lease" })).toEqual([]);
    for (const query of [
      '"',
      "AND OR NOT",
      "a* (b",
      "x'; DROP TABLE nodes;--",
      "{}:^~",
      "NEAR(a b)",
      "𝒻",
      "' OR 1=1",
      "\0",
      "\\",
    ])
      expect(Array.isArray(await search({ query }))).toBe(true);
  });

  test("O1: a word said thousands of times does not stop the search", async () => {
    const { ask } = await fresh();
    await ask("memory_add_node", { type: "t", id: "echo", properties: { text: "echo ".repeat(12_000) } });
    const { nodes } = await ask("memory_search_nodes", { query: "echo" });
    expect(nodes[0]?.snippet).toContain("«echo»");
  });

  test("O1: what is exported comes back the same, in one piece or not at all", async () => {
    const { app, ask } = await fresh();
    const strange = JSON.parse('{"__proto__":{"a":[1,null,true]},"text":"ünï ☂\\n\\u0085\\"","n":1e21}');
    await ask("memory_add_node", { type: "t", id: "a", properties: strange });
    await ask("memory_add_node", { type: "t", id: "b" });
    await ask("memory_update_node", { id: "b", version: 1, properties: { name: "B" } });
    await ask("memory_add_edge", { type: "r", from: "a", to: "b", properties: { since: 1 } });
    await ask("memory_add_edge", { type: "r", from: "b", to: "b" });
    const lines = await exported(app);
    expect(lines).toHaveLength(4);

    const other = (await newWorkspace({ engine })).app;
    const bring = (text: string) => operations.import_graph.perform(other, { lines: text }, person());
    expect(unwrap(await bring(lines.join("\n")))).toEqual({ nodes: 2, edges: 2 });
    expect(await exported(other)).toEqual(lines);
    expect((await asking(other).ask("memory_search_nodes", { query: "ünï" })).nodes).toHaveLength(1);

    const node = (id: string) => JSON.stringify({ kind: "node", id, type: "t", properties: {} });
    const edge = (to: string) =>
      JSON.stringify({ kind: "edge", id: `e-${to}`, type: "r", from: "new", to, properties: {} });
    const bad: [string, RegExp][] = [
      [`${node("new")}\n${node("a")}`, /node a already exists; nothing was imported/],
      [`${node("new")}\n${node("new")}`, /node new already exists/],
      [`${node("new")}\n${edge("none")}`, /needs node none/],
      [`${node("new")}\n${edge("a")}\n${edge("a")}`, /edge e-a/],
      [`${node("new")}\n{`, /line 2/],
      [`${node("new")}\n{"kind":"thing"}`, /line 2: kind/],
      [`${node("new")}\n{"kind":"node","id":"x y","type":"t","properties":{}}`, /line 2: id/],
    ];
    for (const [text, message] of bad) {
      expect(await bring(text)).toMatchObject({ ok: false, problem: { message: expect.stringMatching(message) } });
    }
    expect(await exported(other)).toEqual(lines);
    expect(await operations.import_graph.perform(other, { lines: "" }, agent("planner"))).toMatchObject({
      problem: { code: "denied" },
    });
  });

  test("O1: every change is an event of its own, in order, with who made it", async () => {
    const { app, ask, problem } = await fresh();
    await ask("memory_add_node", { type: "t", id: "a", properties: { x: 1 } });
    await ask("memory_add_node", { type: "t", id: "b" });
    await ask("memory_update_node", { id: "a", version: 1, properties: { x: null } });
    await problem("memory_update_node", { id: "a", version: 1, properties: {} });
    const { id } = await ask("memory_add_edge", { type: "r", from: "a", to: "b" });
    await problem("memory_add_edge", { type: "r", from: "a", to: "b" });
    await ask("memory_delete_edge", { id });
    await ask("memory_add_edge", { type: "r", from: "b", to: "a" });
    await ask("memory_delete_node", { id: "a" });
    await ask("memory_delete_node", { id: "a", confirm: true });
    // PostgreSQL shows an event once no older transaction runs, and other tests run some.
    const events = await vi.waitFor(async () => {
      const all = await allEvents(app);
      const ours = all.filter((event) => /^(node|edge)-/.test(event.kind));
      expect(ours).toHaveLength(7);
      return ours;
    });
    expect(events.every((event) => event.actor === "engineer")).toBe(true);
    expect(events.map(({ kind, subject, data }) => ({ kind, subject, data }))).toMatchObject([
      { kind: "node-added", subject: "node:a", data: { type: "t", version: 1, properties: { x: 1 } } },
      { kind: "node-added", subject: "node:b" },
      { kind: "node-updated", subject: "node:a", data: { version: 2, changes: { x: null } } },
      { kind: "edge-added", subject: `edge:${id}`, data: { type: "r", from: "a", to: "b" } },
      { kind: "edge-deleted", subject: `edge:${id}`, data: { type: "r", from: "a", to: "b" } },
      { kind: "edge-added" },
      { kind: "node-deleted", subject: "node:a", data: { edges: 1 } },
    ]);
  });

  test("O1: readers read and do not write", async () => {
    const { app } = await newWorkspace({ engine });
    const reader = asking(app, person("reader"));
    expect(await reader.ask("memory_query_nodes", { type: "service" })).toEqual({ nodes: [] });
    for (const name of ["add_node", "update_node", "delete_node", "add_edge", "delete_edge"] as const)
      expect(await reader.problem(`memory_${name}`, {})).toMatchObject({ code: "denied" });
  });
});

test("O1: an agent uses the graph by MCP, and hostile names survive the way", async () => {
  const { root } = await newWorkspace();
  const { call } = await overStdio(root, "planner");
  const properties = JSON.parse('{"name":"Ada","__proto__":"mine"}');
  const added = await call("memory_add_node", { type: "person", properties });
  expect(added).toMatchObject({ version: 1 });
  const read = await call("memory_get_node", { id: added.id, fields: ["*"] });
  expect(JSON.stringify(read.properties)).toBe(JSON.stringify(properties));
  expect(await call("memory_search_nodes", { query: "ada" })).toMatchObject({ nodes: [{ title: "Ada" }] });
  expect(await call("memory_update_node", { id: added.id, version: 7, properties: {} })).toMatchObject({
    status: "conflict",
    latestVersion: 1,
  });
});

test("O1: people search, query, walk, export and import from the shell", async () => {
  const { root, file } = await newWorkspace();
  const add = (...args: string[]) => scribe(["memory-add-node", "--role", "planner", ...args], { cwd: root });
  await add("--type", "service", "--id", "billing", "--properties", '{"title":"Billing","tier":1}');
  await add("--type", "service", "--id", "ledger", "--properties", '{"title":"Ledger \\u001b[31m","tier":2}');
  expect(await add("--type", "t", "--properties", "{")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/JSON/),
  });
  const edge = ["memory-add-edge", "--role", "planner", "--type", "depends_on", "--from", "billing", "--to", "ledger"];
  expect(await scribe(edge, { cwd: root })).toMatchObject({ code: 0 });
  const where = ["--where", '{"property":"tier","op":"gt","value":1}', '{"property":"tier","op":"lt","value":9}'];
  const asked = await scribe(["memory-query-nodes", "--role", "planner", ...where], { cwd: root });
  expect(asked.json()).toMatchObject({ nodes: [{ id: "ledger" }] });

  const graph = (...args: string[]) => scriptorium(["graph", ...args], { cwd: root });
  expect((await graph("search", "billing")).stdout).toContain("billing");
  expect((await graph("query", "--where", "tier>1", "title~Ledger", "tier", "--json")).json()).toMatchObject({
    nodes: [{ id: "ledger" }],
  });
  expect((await graph("query", "--where", "title=Billing", "tier!=2", "--fields", "tier")).stdout).toContain(
    '{"tier":1}',
  );
  expect((await graph("subgraph", "billing")).stdout).toContain("billing ─depends_on→ ledger");
  expect((await graph("path", "ledger", "billing")).stdout).toContain("billing ─depends_on→ ledger");

  const texts: Record<string, string> = {};
  for (const format of formats) texts[format] = (await graph("export", "--format", format)).stdout;
  for (const text of Object.values(texts)) expect(text).not.toContain("\u001b");
  expect(texts.dot).toContain('"billing" -> "ledger" [label="depends_on"];');
  expect(texts.mermaid).toContain('n1 -->|"depends_on"| n2');
  expect(texts.cypher).toContain("CREATE (:`service` {`title`: 'Billing', `tier`: 1, `id`: 'billing'});");
  expect((await graph("export", "--json")).json()).toHaveLength(3);

  const other = await newWorkspace();
  writeFileSync(file("graph.jsonl"), texts.jsonl ?? "");
  const done = await scriptorium(["graph", "import", file("graph.jsonl")], { cwd: other.root });
  expect(done).toMatchObject({ code: 0, stdout: "imported 2 nodes and 1 edge\n" });
  expect((await scriptorium(["graph", "export"], { cwd: other.root })).stdout).toBe(texts.jsonl);
  const again = await scriptorium(["graph", "import", "-"], { cwd: other.root, input: texts.jsonl ?? "" });
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("nothing was imported") });
});

async function exported(app: App): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of exportLines(app.db, "jsonl")) lines.push(line);
  return lines;
}

/** How far every node that can be reached is, over edges in either direction. */
function distances(pairs: [number, number][], start: number): Map<number, number> {
  const found = new Map([[start, 0]]);
  for (const [node, steps] of found) {
    for (const [a, b] of pairs) {
      for (const [near, far] of [
        [a, b],
        [b, a],
      ] as const)
        if (near === node && !found.has(far)) found.set(far, steps + 1);
    }
  }
  return found;
}
