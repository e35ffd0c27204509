import * as z from "zod";
import { everyone, operation } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { noSuch } from "../store/no-such.ts";
import { edgesBetween, linksAfter, placeOf } from "../store/queries/edges.ts";
import { findNode, nodeLines } from "../store/queries/nodes.ts";
import type { WikiApp } from "../wiki/wiki-app.ts";
import { fitting, weightOf } from "./budget.ts";
import { anyNodeId, typeName } from "./node.ts";
import { cursor, cursorAt, edgeTypes, id, line, placeAt, room, step, truncated } from "./shapes.ts";
import { pageOf } from "./subgraph.ts";
import { nodesAround, shortestPath } from "./walk.ts";

export const getNeighbors = operation({
  name: "memory_get_neighbors",
  summary: "List the nodes that one node is connected to, with the edges between.",
  guidance:
    "One step from a node, with the ids of the edges; for several steps use memory_get_subgraph. Oldest edge first. Pass `cursor` for the next page.",
  effect: "reads",
  reads: ["node", "entry", "source", "task", "run", "topic", "page"],
  callers: everyone,
  group: "graph",
  http: { method: "get", path: "/graph/nodes/{id}/neighbors" },
  input: z.object({
    id,
    edge_type: typeName.optional().describe("Follow only edges of this type"),
    direction: z
      .enum(["out", "in", "both"])
      .default("both")
      .describe("out: edges that start at the node; in: edges that end there"),
    limit: z.int().min(1).max(100).default(20).describe("Maximum number of neighbours"),
    cursor,
  }),
  output: z.object({
    neighbors: z.array(
      line.extend({ edge: z.object({ id: z.string(), type: z.string(), direction: z.enum(["out", "in"]) }) }),
    ),
    cursor: z.string().optional(),
  }),
  async run(app: WikiApp, { id: given, edge_type, direction, limit, cursor }) {
    await app.links.catchUp();
    const node = await findNode(app.db.read, app.db.engine, given);
    if (!node) return noSuch(app.db.read, "node", given);
    const { id } = node;
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
  summary: "List the nodes within a few edges of a node, nearest first, and the edges between them.",
  guidance:
    "Use it to see the surroundings of a node at once. Edges are followed in both directions. If `truncated` is true, pass `cursor`, or reduce depth or edge_types.",
  effect: "reads",
  reads: ["node", "entry", "source", "task", "run", "topic", "page"],
  callers: everyone,
  group: "graph",
  http: { method: "get", path: "/graph/nodes/{id}/subgraph" },
  input: z.object({
    id,
    depth: z.int().min(1).max(4).describe("Maximum distance in edges, 1 to 4"),
    max_nodes: z.int().min(1).max(200).default(50).describe("Maximum number of nodes"),
    edge_types: edgeTypes,
    cursor: z
      .string()
      .regex(/^[1-9]\d{0,3}$/, "expected the cursor of an earlier answer")
      .optional()
      .describe("Cursor of the previous answer, for the next page"),
  }),
  output: z.object({ nodes: z.array(line), edges: z.array(step), truncated, cursor: z.string().optional() }),
  async run(app: WikiApp, { id: asked, depth, max_nodes, edge_types, cursor }) {
    await app.links.catchUp();
    const node = await findNode(app.db.read, app.db.engine, asked);
    if (!node) return noSuch(app.db.read, "node", asked);
    const { id } = node;
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

/** The maximum number of edges read for one response, of which a fraction fits. */
const mostEdges = 2000;

export const findPath = operation({
  name: "memory_find_path",
  summary: "Find the shortest path between two nodes.",
  guidance:
    "Use it to learn how two things are connected. Edges are followed in both directions; `found` is false if there is no path within max_depth edges.",
  effect: "reads",
  reads: ["node", "entry", "source", "task", "run", "topic", "page"],
  callers: everyone,
  group: "graph",
  http: { method: "get", path: "/graph/path" },
  input: z.object({
    from: anyNodeId.describe("Id of the first node"),
    to: anyNodeId.describe("Id of the last node"),
    max_depth: z.int().min(1).max(10).default(6).describe("Maximum number of edges"),
  }),
  output: z.object({ found: z.boolean(), nodes: z.array(line), edges: z.array(step), truncated }),
  async run(app: WikiApp, { max_depth, ...ends }) {
    await app.links.catchUp();
    const first = await findNode(app.db.read, app.db.engine, ends.from);
    if (!first) return noSuch(app.db.read, "node", ends.from);
    const last = await findNode(app.db.read, app.db.engine, ends.to);
    if (!last) return noSuch(app.db.read, "node", ends.to);
    const [from, to] = [first.id, last.id];
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
