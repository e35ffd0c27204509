import * as z from "zod";
import { collaborators, everyone, operation, writers } from "../operation.ts";
import { nameOf } from "../people/caller.ts";
import { ok, type Result, refuse } from "../result.ts";
import { readable } from "../search/hit.ts";
import { searchNodes } from "../search/nodes.ts";
import {
  countEdges,
  edgesBetween,
  entriesThatLink,
  linksAfter,
  linksToNowhere,
  placeOf,
  readEdge,
} from "../store/edges.ts";
import { nounOf } from "../store/graph/nouns.ts";
import { findNode, type NodeLine, nodeLines, nodesWhere, type Place, type StoredNode } from "../store/graph.ts";
import { answerBytes, type Chosen, choose, fitting, weightOf } from "./budget.ts";
import { graphChanges, noEdge, noNode } from "./changes.ts";
import { parseLines } from "./exchange.ts";
import { condition, indexedValue, mustHave, predicate } from "./filter.ts";
import { anyNodeId, edgeFrom, nodeFrom, nodeId, properties, propertyName, typeName } from "./node.ts";
import { pageOf } from "./subgraph.ts";
import { nodesAround, shortestPath } from "./walk.ts";

const id = anyNodeId.describe("The node's id");
const edgeId = z
  .string()
  .regex(/^[^\p{Cc}\p{Surrogate}]{1,600}$/u, "expected the id of an edge, on one line")
  .describe("The edge's id, as memory_get_neighbors shows it");
const fields = z
  .array(propertyName)
  .max(100)
  .optional()
  .describe('Names of the properties to give; ["*"] for all. None if left out');
const cursor = z
  .string()
  .regex(/^\d{1,2}:[^\p{Cc}\p{Surrogate}]{1,260}$/u, "expected the cursor of an earlier answer")
  .optional()
  .describe("The cursor of the answer before, to go on from there");
const placeAt = (cursor: string | undefined): Place | undefined => {
  const [, stream, key] = /^(\d+):(.+)$/.exec(cursor ?? "") ?? [];
  return stream === undefined || key === undefined ? undefined : { stream: Number(stream), key };
};
const cursorAt = ({ stream, key }: Place) => `${stream}:${key}`;
const edgeTypes = z.array(typeName).min(1).max(20).optional().describe("Follow only edges of these types");

const line = z.object({ id: z.string(), type: z.string(), title: z.string() });
const step = z.object({ from: z.string(), type: z.string(), to: z.string() });
const chosen = z.object({
  properties,
  cut: z
    .array(z.object({ property: z.string(), characters: z.int(), next: z.int() }))
    .optional()
    .describe("Properties of which only the beginning is here; read on with fields: [property] and offset: next"),
  omitted: z.int().optional().describe("How many properties found no place at all; name them in fields"),
});
const written = z
  .object({
    role: z.string().nullable(),
    run: z.string().nullable(),
    task: z.string().nullable(),
    epoch: z.int().nullable(),
    attempt: z.int().nullable(),
  })
  .optional()
  .describe("Under what an agent last wrote it");
const truncated = z.boolean().optional().describe("True when there is more than this answer holds");

/** Room for what stands around the items of an answer. */
const room = answerBytes - 200;

export const addNode = operation({
  name: "memory_add_node",
  summary: "Add a node to the knowledge graph.",
  guidance:
    "Search first: a thing that is there already is updated, not added again. Give it a `title` or `name` property, " +
    "since lists show only that; an `id` of your own (such as service:billing) makes it easy to link to and can be taken only once.",
  effect: "writes",
  callers: writers,
  http: { method: "post", path: "/graph/nodes" },
  input: z.object({
    type: typeName.describe("What kind of thing it is, such as service, decision or person"),
    properties: properties.optional().describe("Any JSON object, up to 64 KiB"),
    id: nodeId.optional().describe("An id of your own; one is made if left out"),
  }),
  output: z.object({ id: z.string(), version: z.int() }),
  async run(app, { type, properties = {}, id }, caller) {
    const added = await graphChanges(app, caller).addNode({ id, type, properties });
    return added.ok ? ok({ id: added.value.id, version: added.value.version }) : added;
  },
});

export const getNode = operation({
  name: "memory_get_node",
  summary: "Read one node of the knowledge graph.",
  guidance:
    "Without `fields` it tells the names of the node's properties; ask for those you need. Remember the `version`: memory_update_node needs it.",
  effect: "reads",
  callers: everyone,
  http: { method: "get", path: "/graph/nodes/{id}" },
  input: z.object({
    id,
    fields,
    offset: z.int().min(0).max(1_000_000).default(0).describe("Where to read on in the one property of `fields`"),
  }),
  output: line.extend({
    version: z.int(),
    createdAt: z.string(),
    updatedAt: z.string(),
    createdBy: z.string(),
    written,
    names: z.array(z.string()).optional().describe("The properties it has"),
    ...chosen.partial().shape,
  }),
  async run(app, { id, fields, offset }) {
    if (offset > 0 && fields?.length !== 1)
      return refuse("invalid", "offset: name the one property to read on in fields");
    if (nounOf(id)) await app.links.catchUp();
    const row = await findNode(app.db.read, app.db.engine, id);
    if (!row) return noNode(id);
    const { properties, ...about } = nodeFrom(row);
    const shown = fields
      ? choose(properties, { fields, offset })
      : { names: fitting(Object.keys(properties), answerBytes - 1000) };
    return ok({ ...about, title: row.title, ...shown });
  },
});

export const updateNode = operation({
  name: "memory_update_node",
  summary: "Change properties of a node.",
  guidance:
    "Only the properties you send change; null takes one away. Send the version you read: if someone changed the node in between " +
    "nothing is overwritten and you get status `conflict` with latestVersion and latestProperties.",
  effect: "writes",
  callers: writers,
  http: { method: "post", path: "/graph/nodes/{id}" },
  input: z.object({
    id,
    version: z.int().min(1).describe("The version you read"),
    properties: properties.describe("The properties to set; null takes one away"),
  }),
  output: z.object({ id: z.string(), version: z.int() }),
  run: (app, { id, version, properties }, caller) => graphChanges(app, caller).updateNode(id, version, properties),
});

export const deleteNode = operation({
  name: "memory_delete_node",
  summary: "Delete a node and every edge that touches it.",
  guidance: "Without `confirm` nothing is deleted: you see what would go. Call again with confirm: true to delete it.",
  effect: "destroys",
  callers: writers,
  http: { method: "delete", path: "/graph/nodes/{id}" },
  input: z.object({ id, confirm: z.boolean().default(false).describe("True to delete; otherwise a preview") }),
  output: z.object({ deleted: z.boolean(), id: z.string(), edges: z.int(), message: z.string() }),
  async run(
    app,
    { id, confirm },
    caller,
  ): Promise<Result<{ deleted: boolean; id: string; edges: number; message: string }>> {
    if (confirm || nounOf(id)) {
      const gone = await graphChanges(app, caller).deleteNode(id);
      if (!gone.ok) return gone;
      const { edges } = gone.value;
      return ok({ deleted: true, id, edges, message: `deleted ${id} and its edges: ${edges}` });
    }
    const row = await findNode(app.db.read, app.db.engine, id);
    if (!row) return noNode(id);
    const edges = await countEdges(app.db.read, id);
    const message = `nothing is deleted yet; with confirm: true the ${row.type} "${row.title}" goes, and its edges: ${edges}`;
    return ok({ deleted: false, id, edges, message });
  },
});

export const addEdge = operation({
  name: "memory_add_edge",
  summary: "Connect two nodes of the knowledge graph.",
  guidance:
    "Read it as a sentence: from, type, to (service:billing depends_on service:ledger). One edge of a type between two nodes. " +
    "Ends may also be what the workspace keeps: entry:vision, source:logs/a.txt, task:task-01.",
  effect: "writes",
  callers: writers,
  http: { method: "post", path: "/graph/edges" },
  input: z.object({
    type: typeName.describe("What the one is to the other, such as depends_on"),
    from: anyNodeId.describe("The id of the node it starts from"),
    to: anyNodeId.describe("The id of the node it leads to"),
    properties: properties.optional().describe("Any JSON object, up to 64 KiB"),
  }),
  output: z.object({ id: z.string() }),
  run: (app, { type, from, to, properties = {} }, caller) =>
    graphChanges(app, caller).addEdge({ type, from, to, properties }),
});

export const deleteEdge = operation({
  name: "memory_delete_edge",
  summary: "Delete one edge of the knowledge graph.",
  guidance: "The nodes at its ends stay. memory_get_neighbors shows the ids of a node's edges.",
  effect: "destroys",
  callers: writers,
  http: { method: "delete", path: "/graph/edges/{id}" },
  input: z.object({ id: edgeId }),
  output: z.object({ id: z.string() }),
  run: (app, { id }, caller) => graphChanges(app, caller).deleteEdge(id),
});

export const getEdge = operation({
  name: "memory_get_edge",
  summary: "Read one edge of the knowledge graph with its properties.",
  guidance:
    "Says what it connects, since when, who made it and for which task. All properties unless `fields` names some; long ones come in parts.",
  effect: "reads",
  callers: everyone,
  http: { method: "get", path: "/graph/edges/{id}" },
  input: z.object({
    id: edgeId,
    fields: fields.default(["*"]).describe("Names of the properties to give; all if left out"),
    offset: z.int().min(0).max(1_000_000).default(0).describe("Where to read on in the one property of `fields`"),
  }),
  output: step.extend({
    id: z.string(),
    createdAt: z.string(),
    createdBy: z.string(),
    written,
    ...chosen.shape,
  }),
  async run(app, { id, fields = ["*"], offset }) {
    if (offset > 0 && (fields.length !== 1 || fields[0] === "*"))
      return refuse("invalid", "offset: name the one property to read on in fields");
    await app.links.catchUp();
    const row = await readEdge(app.db, id);
    if (!row) return noEdge(id);
    const { properties, ...about } = edgeFrom(row);
    return ok({ ...about, ...choose(properties, { fields, offset }) });
  },
});

export const queryNodes = operation({
  name: "memory_query_nodes",
  summary: "List nodes by type and properties, newest first.",
  guidance:
    "All conditions must hold. Types entry, source, task, run and page are what the workspace keeps itself. Answers are short: go on with `cursor`, and name in `fields` the properties you need.",
  effect: "reads",
  callers: everyone,
  http: { method: "post", path: "/graph/query" },
  input: z.object({
    type: typeName.optional().describe("Only nodes of this type"),
    where: z.array(condition).max(20).default([]).describe("Conditions on properties; all must hold"),
    limit: z.int().min(1).max(100).default(20).describe("How many nodes at the most"),
    cursor,
    fields,
  }),
  output: z.object({
    nodes: z.array(line.extend({ version: z.int(), ...chosen.partial().shape })),
    cursor: z.string().optional(),
  }),
  async run(app, { type, where, limit, cursor, fields }) {
    await app.links.catchUp();
    const rows = await nodesWhere(app.db, {
      type,
      where: where.map((one) => predicate(app.db.engine, one)),
      names: mustHave(where),
      value: indexedValue(where),
      after: placeAt(cursor),
      limit: limit + 1,
    });
    const nodes = fitting(
      rows.slice(0, limit).map((row) => nodeItem(row, fields)),
      room,
    );
    const last = rows[nodes.length - 1];
    return ok({ nodes, ...(rows.length > nodes.length && last ? { cursor: cursorAt(last.place) } : {}) });
  },
});

const nodeItem = (row: StoredNode, fields: string[] | undefined): NodeLine & { version: number } & Partial<Chosen> => {
  const { id, type, title, version } = row;
  return { id, type, title, version, ...(fields ? choose(nodeFrom(row).properties, { fields }) : {}) };
};

export const search = operation({
  name: "memory_search_nodes",
  summary: "Search titles and texts of the knowledge graph: nodes, entries and tasks.",
  guidance:
    "Best first, with « » around what matched. Any words work; there are no operators. Start here, then read neighbours or a subgraph.",
  effect: "reads",
  callers: everyone,
  http: { method: "get", path: "/graph/search" },
  input: z.object({
    query: z.string().trim().min(1, "say what to look for").max(2000).describe("Words to look for"),
    type: typeName.optional().describe("Only nodes of this type"),
    limit: z.int().min(1).max(50).default(8).describe("How many nodes at the most"),
  }),
  output: z.object({ nodes: z.array(line.extend({ score: z.number(), snippet: z.string() })), truncated }),
  async run(app, { query, type, limit }, caller) {
    await app.links.catchUp();
    const hits = await searchNodes(app, caller, query, type === undefined ? { limit } : { limit, type });
    const lines = new Map(
      (
        await nodeLines(
          app.db,
          hits.map((hit) => hit.id),
        )
      ).map((node) => [node.id, node]),
    );
    const found = hits.flatMap((hit) => {
      const node = lines.get(hit.id);
      const { score, snippet } = readable(hit);
      return node ? [{ ...node, score, snippet: snippet.slice(0, 300) }] : [];
    });
    const nodes = fitting(found, room);
    return ok({ nodes, ...(nodes.length < found.length ? { truncated: true } : {}) });
  },
});

export const getNeighbors = operation({
  name: "memory_get_neighbors",
  summary: "List the nodes that one node is connected to, with the edges between.",
  guidance: "Oldest edge first; direction `out` is from the node you name. Go on with `cursor` when there are many.",
  effect: "reads",
  callers: everyone,
  http: { method: "get", path: "/graph/nodes/{id}/neighbors" },
  input: z.object({
    id,
    edge_type: typeName.optional().describe("Only over edges of this type"),
    direction: z.enum(["out", "in", "both"]).default("both").describe("Edges that leave the node, enter it, or both"),
    limit: z.int().min(1).max(100).default(20).describe("How many neighbours at the most"),
    cursor,
  }),
  output: z.object({
    neighbors: z.array(
      line.extend({ edge: z.object({ id: z.string(), type: z.string(), direction: z.enum(["out", "in"]) }) }),
    ),
    cursor: z.string().optional(),
  }),
  async run(app, { id, edge_type, direction, limit, cursor }) {
    await app.links.catchUp();
    if (!(await findNode(app.db.read, app.db.engine, id))) return noNode(id);
    const types = edge_type === undefined ? undefined : [edge_type];
    const links = await linksAfter(app.db, id, { types, direction, after: placeAt(cursor), limit: limit + 1 });
    const lines = new Map(
      (
        await nodeLines(
          app.db,
          links.map((link) => link.far),
        )
      ).map((node) => [node.id, node]),
    );
    const all = links.slice(0, limit).map(({ far, id, type, direction }) => ({
      ...(lines.get(far) ?? { id: far, type: "", title: far }),
      edge: { id, type, direction },
    }));
    const neighbors = fitting(all, room);
    const last = links[neighbors.length - 1];
    return ok({ neighbors, ...(links.length > neighbors.length && last ? { cursor: cursorAt(placeOf(last)) } : {}) });
  },
});

export const getSubgraph = operation({
  name: "memory_get_subgraph",
  summary: "Show the nodes within a few edges of a node, nearest first, and the edges between them.",
  guidance:
    "Edges are followed in both directions. When `truncated` is true there is more than fits: go on with `cursor`, or ask for less depth or for certain edge_types.",
  effect: "reads",
  callers: everyone,
  http: { method: "get", path: "/graph/nodes/{id}/subgraph" },
  input: z.object({
    id,
    depth: z.int().min(1).max(4).describe("How many edges away at the most, 1 to 4"),
    max_nodes: z.int().min(1).max(200).default(50).describe("How many nodes at the most"),
    edge_types: edgeTypes,
    cursor: z
      .string()
      .regex(/^[1-9]\d{0,3}$/, "expected the cursor of an earlier answer")
      .optional()
      .describe("The cursor of the answer before, to go on from there"),
  }),
  output: z.object({ nodes: z.array(line), edges: z.array(step), truncated, cursor: z.string().optional() }),
  async run(app, { id, depth, max_nodes, edge_types, cursor }) {
    await app.links.catchUp();
    if (!(await findNode(app.db.read, app.db.engine, id))) return noNode(id);
    const given = Number(cursor ?? 0);
    const bounds = { depth, maxNodes: given + max_nodes, ...(edge_types ? { edgeTypes: edge_types } : {}) };
    const around = await nodesAround(app.db, id, bounds);
    const found = await nodeLines(app.db, around.ids);
    const ids = found.map((node) => node.id);
    const between = await edgesBetween(app.db, ids.slice(given), ids, edge_types, mostEdges);
    const page = pageOf(found, between, given, room);
    const isMore = around.more || given + page.nodes.length < found.length;
    const isCut = isMore || around.truncated || page.cut || between.length === mostEdges;
    return ok({
      nodes: page.nodes,
      edges: page.edges,
      ...(isCut ? { truncated: true } : {}),
      ...(isMore ? { cursor: String(given + page.nodes.length) } : {}),
    });
  },
});

/** Looked at for one answer, of which a fraction fits. */
const mostEdges = 2000;

export const findPath = operation({
  name: "memory_find_path",
  summary: "Find the shortest way between two nodes.",
  guidance:
    "Edges are followed in both directions; `edges` are in the order of the way. Not found means: not within max_depth edges.",
  effect: "reads",
  callers: everyone,
  http: { method: "get", path: "/graph/path" },
  input: z.object({
    from: anyNodeId.describe("The id of the node to start from"),
    to: anyNodeId.describe("The id of the node to reach"),
    max_depth: z.int().min(1).max(10).default(6).describe("How many edges at the most"),
  }),
  output: z.object({ found: z.boolean(), nodes: z.array(line), edges: z.array(step), truncated }),
  async run(app, { from, to, max_depth }) {
    await app.links.catchUp();
    for (const end of [from, to]) if (!(await findNode(app.db.read, app.db.engine, end))) return noNode(end);
    const { links, truncated } = await shortestPath(app.db, from, to, max_depth);
    if (!links) return ok({ found: false, nodes: [], edges: [], ...(truncated ? { truncated } : {}) });
    const way = await nodeLines(app.db, [from, ...links.map((link) => link.far)]);
    const steps = links.map(({ near, far, type, direction }) =>
      direction === "out" ? { from: near, type, to: far } : { from: far, type, to: near },
    );
    const edges = fitting(steps, room * 0.55);
    const nodes = fitting(way, room - edges.reduce((sum, edge) => sum + weightOf(edge), 0));
    const isCut = truncated || nodes.length < way.length || edges.length < steps.length;
    return ok({ found: true, nodes, edges, ...(isCut ? { truncated: true } : {}) });
  },
});

const brokenAtOnce = 20;

export const listBacklinks = operation({
  name: "list_backlinks",
  summary: "List the entries that link to a page, a source or a node, and the links of an entry that lead nowhere.",
  guidance:
    "Give `id` (vision, entry:vision, source:logs/a.txt, service:billing) or the `path` of a file. What nobody has written yet has backlinks too: those are the entries that wait for it.",
  effect: "reads",
  callers: everyone,
  http: { method: "get", path: "/graph/backlinks" },
  input: z.object({
    id: anyNodeId.optional().describe("A node's id; without a colon, an entry's"),
    path: z.string().min(1).max(400).optional().describe("A file of the workspace, such as docs/deploy.md"),
    limit: z.int().min(1).max(100).default(20).describe("How many entries at the most"),
    cursor: z.string().min(1).max(260).optional().describe("The cursor of the answer before, to go on from there"),
  }),
  output: z.object({
    id: z.string(),
    exists: z.boolean(),
    backlinks: z.array(line),
    broken: z.array(z.string()).optional().describe("What this entry links to and nobody has written"),
    cursor: z.string().optional(),
  }),
  async run(app, { id, path, limit, cursor }) {
    if ((id === undefined) === (path === undefined)) return refuse("invalid", "give either an id or a path");
    const node = path === undefined ? asNode(id ?? "") : app.links.nodeOf(path);
    if (node === undefined) return refuse("invalid", `path: ${path} is no markdown file, and none of the sources`);
    await app.links.catchUp();
    const exists = (await findNode(app.db.read, app.db.engine, node)) !== undefined;
    const found = await entriesThatLink(app.db, node, cursor ?? "", limit + 1);
    const lines = found.map(({ id, title }) => ({ id: `entry:${id}`, type: "entry", title: title ?? id }));
    const entry = node.startsWith("entry:") ? node.slice("entry:".length) : undefined;
    const nowhere = entry === undefined ? [] : await linksToNowhere(app.db, entry, brokenAtOnce);
    const broken = fitting(
      nowhere.map(({ to }) => to),
      room / 3,
    );
    const backlinks = fitting(lines.slice(0, limit), room - weightOf(broken));
    const last = found[backlinks.length - 1];
    return ok({
      id: node,
      exists,
      backlinks,
      ...(broken.length > 0 ? { broken } : {}),
      ...(found.length > backlinks.length && last ? { cursor: last.id } : {}),
    });
  },
});

const asNode = (id: string) => (id.includes(":") ? id : `entry:${id}`);

export const importGraph = operation({
  name: "import_graph",
  summary: "Add the nodes and edges of an export, all of them or none.",
  effect: "writes",
  callers: collaborators,
  http: { method: "post", path: "/graph/import" },
  input: z.object({ lines: z.string().describe("JSON Lines, as `scriptorium graph export` writes them") }),
  output: z.object({ nodes: z.int(), edges: z.int() }),
  async run(app, { lines }, caller) {
    const made = { at: app.now().toISOString(), by: nameOf(caller) };
    const read = parseLines(lines, made);
    return read.ok ? graphChanges(app, caller).addAll(read.value.nodes, read.value.edges) : read;
  },
});
