import * as z from "zod";
import { everyone, operation } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { anyText } from "../search/any-text.ts";
import { readable } from "../search/hit.ts";
import { searchNodes } from "../search/index/nodes.ts";
import { entriesThatLink, linksToNowhere } from "../store/queries/links.ts";
import { findNode, type NodeLine, nodeLines, nodesWhere, type StoredNode } from "../store/queries/nodes.ts";
import type { WikiApp } from "../wiki/wiki-app.ts";
import { type Chosen, choose, fitting, weightOf } from "./budget.ts";
import { condition } from "./filter.ts";
import { anyNodeId, nodeFrom, typeName } from "./node.ts";
import { chosen, cursor, cursorAt, fields, line, placeAt, room, truncated } from "./shapes.ts";

export const queryNodes = operation({
  name: "memory_query_nodes",
  summary: "List nodes by type and properties, newest first.",
  guidance:
    "Use it when you know the type or a property; to search by words use memory_search_nodes. Pass `cursor` for the next page. The types entry, source, task, run, topic and page exist in every workspace. Tasks of runs have state, attempt, worker_role, qc_role and qc_score.",
  effect: "reads",
  reads: ["node", "entry", "source", "task", "run", "topic", "page"],
  callers: everyone,
  group: "graph",
  http: { method: "post", path: "/graph/query" },
  input: z.object({
    type: typeName.optional().describe("Only nodes of this type"),
    where: z.array(condition).max(20).default([]).describe("Conditions on properties; all must hold"),
    limit: z.int().min(1).max(100).default(20).describe("Maximum number of nodes"),
    cursor,
    fields,
  }),
  output: z.object({
    nodes: z.array(line.extend({ version: z.int(), ...chosen.partial().shape })),
    cursor: z.string().optional(),
  }),
  async run(app: WikiApp, { type, where, limit, cursor, fields }) {
    await app.links.catchUp();
    const rows = await nodesWhere(app.db, {
      type,
      where,
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
    "Use it to find the node to start from, then memory_get_neighbors or memory_get_subgraph. To search text use search. Words only, no operators; « » mark the matches.",
  effect: "reads",
  reads: ["node", "entry", "task"],
  callers: everyone,
  group: "graph",
  http: { method: "get", path: "/graph/search" },
  input: z.object({
    query: anyText.min(1, "the query is empty").max(100_000).describe("Words to search for"),
    type: typeName.optional().describe("Only nodes of this type"),
    limit: z.int().min(1).max(50).default(8).describe("Maximum number of nodes"),
  }),
  output: z.object({ nodes: z.array(line.extend({ score: z.number(), snippet: z.string() })), truncated }),
  async run(app: WikiApp, { query, type, limit }, caller) {
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

const brokenAtOnce = 20;

export const listBacklinks = operation({
  name: "list_backlinks",
  summary: "List the entries that link to an entry, page, source or node, and the broken links of an entry.",
  guidance:
    "Use it before you rename or remove something. Pass `id` (vision, source:logs/a.txt, service:billing) or `path` (docs/deploy.md). The target does not have to exist.",
  effect: "reads",
  reads: ["entry", "page", "source", "node"],
  callers: everyone,
  group: "graph",
  http: { method: "get", path: "/graph/backlinks" },
  input: z.object({
    id: anyNodeId.optional().describe("Id of a node; without a colon, of an entry"),
    path: z.string().min(1).max(400).optional().describe("A file of the workspace, such as docs/deploy.md"),
    limit: z.int().min(1).max(100).default(20).describe("Maximum number of entries"),
    cursor: z.string().min(1).max(260).optional().describe("Cursor of the previous answer, for the next page"),
  }),
  output: z.object({
    id: z.string(),
    exists: z.boolean(),
    backlinks: z.array(line),
    broken: z.array(z.string()).optional().describe("Targets of this entry's links that do not exist"),
    cursor: z.string().optional(),
  }),
  async run(app: WikiApp, { id, path, limit, cursor }) {
    if ((id === undefined) === (path === undefined)) return refuse("invalid", "send either id or path");
    const node = path === undefined ? asNode(id ?? "") : app.links.nodeOf(path);
    if (node === undefined) return refuse("invalid", `path: ${path} is neither a markdown file nor a source`);
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
