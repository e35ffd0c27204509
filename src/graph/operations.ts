import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, everyone, operation, writers } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { snakeKeys } from "../kernel/wire.ts";
import { noSuch } from "../store/no-such.ts";
import { countEdges, readEdge } from "../store/queries/edges.ts";
import { nounOf } from "../store/queries/graph/nouns.ts";
import { findNode } from "../store/queries/nodes.ts";
import type { WikiApp } from "../wiki/wiki-app.ts";
import { answerBytes, choose, fitting } from "./budget.ts";
import { graphChanges, noEdge } from "./changes.ts";
import { parseLines } from "./exchange.ts";
import { anyNodeId, edgeFrom, nodeFrom, nodeId, type Properties, properties, typeName } from "./node.ts";
import { chosen, edgeId, fields, id, line, step, written } from "./shapes.ts";

export const addNode = operation({
  name: "memory_add_node",
  summary: "Add a node to the knowledge graph.",
  guidance:
    "Use the graph for things with relations (services, people, decisions); use entries for text. Search first and update an existing node instead of adding a second one. " +
    'Set a `title` or `name` property: lists show only that. Example: {"type": "service", "id": "service:billing", "properties": {"title": "Billing"}}',
  effect: "writes",
  touches: ["node"],
  callers: writers,
  group: "graph",
  http: { method: "post", path: "/graph/nodes" },
  input: z.object({
    type: typeName.describe("Such as service, decision or person"),
    properties: properties.optional().describe("Any JSON object, up to 64 KiB"),
    id: nodeId.optional().describe("Your own unique id, such as service:billing; generated if left out"),
  }),
  output: z.object({ id: z.string(), version: z.int() }),
  async run(app: WikiApp, { type, properties = {}, id }, caller) {
    const added = await graphChanges(app, caller).addNode({ id, type, properties });
    return added.ok ? ok({ id: added.value.id, version: added.value.version }) : added;
  },
});

export const getNode = operation({
  name: "memory_get_node",
  summary: "Read one node of the knowledge graph.",
  guidance:
    "Without `fields` it returns the names of the properties; name the ones you need. The node of a run's task has its verdict, attempts and output. Keep the `version`: memory_update_node needs it.",
  effect: "reads",
  reads: ["node", "entry", "source", "task", "run", "topic", "page"],
  callers: everyone,
  group: "graph",
  http: { method: "get", path: "/graph/nodes/{id}" },
  input: z.object({
    id,
    fields,
    offset: z.int().min(0).max(1_000_000).default(0).describe("Continue a truncated property at this character"),
  }),
  output: line.extend({
    version: z.int(),
    created_at: z.string(),
    updated_at: z.string(),
    created_by: z.string(),
    written,
    names: z.array(z.string()).optional().describe("Names of its properties"),
    ...chosen.partial().shape,
  }),
  async run(app: WikiApp, { id, fields, offset }) {
    if (offset > 0 && fields?.length !== 1) return refuse("invalid", "offset: needs exactly one property in fields");
    if (nounOf(id)) await app.links.catchUp();
    const row = await findNode(app.db.read, app.db.engine, id);
    if (!row) return noSuch(app.db.read, "node", id);
    const { properties: own, ...about } = nodeFrom(row);
    const derived = nounOf(row.id);
    const more = (await derived?.noun.details?.(app.db.read, derived.key)) as Properties | undefined;
    const properties = { ...own, ...more };
    const shown = fields
      ? choose(properties, { fields, offset })
      : { names: fitting(Object.keys(properties), answerBytes - 1000) };
    return ok({ ...snakeKeys(about), title: row.title, ...shown });
  },
});

export const updateNode = operation({
  name: "memory_update_node",
  summary: "Change properties of a node.",
  guidance:
    "Only the properties you send change; null removes one. Send the version you read: if the node changed since, nothing is saved " +
    "and the answer is `conflict` with latestVersion and latest_properties.",
  effect: "writes",
  touches: ["node"],
  callers: writers,
  group: "graph",
  http: { method: "post", path: "/graph/nodes/{id}" },
  input: z.object({
    id,
    version: z.int().min(1).describe("The version you read"),
    properties: properties.describe("Properties to set; null removes one"),
  }),
  output: z.object({ id: z.string(), version: z.int() }),
  run: (app: WikiApp, { id, version, properties }, caller) =>
    graphChanges(app, caller).updateNode(id, version, properties),
});

export const deleteNode = operation({
  name: "memory_delete_node",
  summary: "Delete a node and its edges.",
  guidance: "Without `confirm` it deletes nothing and returns what would be deleted. Call it again with confirm: true.",
  effect: "destroys",
  touches: ["node"],
  callers: writers,
  group: "graph",
  http: { method: "delete", path: "/graph/nodes/{id}" },
  input: z.object({ id, confirm: z.boolean().default(false).describe("true deletes; otherwise it is a preview") }),
  output: z.object({ deleted: z.boolean(), id: z.string(), edges: z.int(), message: z.string() }),
  async run(
    app: WikiApp,
    { id, confirm },
    caller,
  ): Promise<Result<{ deleted: boolean; id: string; edges: number; message: string }>> {
    if (confirm || nounOf(id)) {
      const gone = await graphChanges(app, caller).deleteNode(id);
      if (!gone.ok) return gone;
      const { edges } = gone.value;
      return ok({ deleted: true, id, edges, message: `deleted ${id} and ${edges} edges` });
    }
    const row = await findNode(app.db.read, app.db.engine, id);
    if (!row) return noSuch(app.db.read, "node", id);
    const edges = await countEdges(app.db.read, id);
    const message = `preview: confirm: true deletes the ${row.type} "${row.title}" and ${edges} edges`;
    return ok({ deleted: false, id, edges, message });
  },
});

export const addEdge = operation({
  name: "memory_add_edge",
  summary: "Connect two nodes of the knowledge graph.",
  guidance:
    "It reads as a sentence: from, type, to. At most one edge of a type between two nodes. " +
    "Ends can also be entry:vision, source:logs/a.txt or task:task-01. " +
    'Example: {"from": "service:billing", "type": "depends_on", "to": "service:ledger"}',
  effect: "writes",
  touches: ["node"],
  callers: writers,
  group: "graph",
  http: { method: "post", path: "/graph/edges" },
  input: z.object({
    type: typeName.describe("The relation, such as depends_on"),
    from: anyNodeId.describe("Id of the node it starts at"),
    to: anyNodeId.describe("Id of the node it ends at"),
    properties: properties.optional().describe("Any JSON object, up to 64 KiB"),
  }),
  output: z.object({ id: z.string() }),
  run: (app: WikiApp, { type, from, to, properties = {} }, caller) =>
    graphChanges(app, caller).addEdge({ type, from, to, properties }),
});

export const deleteEdge = operation({
  name: "memory_delete_edge",
  summary: "Delete one edge of the knowledge graph.",
  guidance: "Its nodes stay. memory_get_neighbors returns the ids of a node's edges.",
  effect: "destroys",
  touches: ["node"],
  callers: writers,
  group: "graph",
  http: { method: "delete", path: "/graph/edges/{id}" },
  input: z.object({ id: edgeId }),
  output: z.object({ id: z.string() }),
  run: (app: WikiApp, { id }, caller) => graphChanges(app, caller).deleteEdge(id),
});

export const getEdge = operation({
  name: "memory_get_edge",
  summary: "Read one edge of the knowledge graph with its properties.",
  guidance:
    "Returns its ends, when and by whom it was created, and all properties unless `fields` names some. Long properties are truncated.",
  effect: "reads",
  reads: ["node", "entry"],
  callers: everyone,
  group: "graph",
  http: { method: "get", path: "/graph/edges/{id}" },
  input: z.object({
    id: edgeId,
    fields: fields.default(["*"]).describe("Names of properties to return; default: all"),
    offset: z.int().min(0).max(1_000_000).default(0).describe("Continue a truncated property at this character"),
  }),
  output: step.extend({
    id: z.string(),
    created_at: z.string(),
    created_by: z.string(),
    written,
    ...chosen.shape,
  }),
  async run(app: WikiApp, { id, fields = ["*"], offset }) {
    if (offset > 0 && (fields.length !== 1 || fields[0] === "*"))
      return refuse("invalid", "offset: needs exactly one property in fields");
    await app.links.catchUp();
    const row = await readEdge(app.db, id);
    if (!row) return noEdge(id);
    const { properties, ...about } = edgeFrom(row);
    return ok({ ...snakeKeys(about), ...choose(properties, { fields, offset }) });
  },
});

export const importGraph = operation({
  name: "import_graph",
  summary: "Import the nodes and edges of an export in one transaction.",
  effect: "writes",
  touches: ["node"],
  callers: collaborators,
  group: "graph",
  http: { method: "post", path: "/graph/import" },
  input: z.object({ lines: z.string().describe("JSON Lines, as `scriptorium graph export` writes them") }),
  output: z.object({ nodes: z.int(), edges: z.int() }),
  async run(app: WikiApp, { lines }, caller) {
    const made = { at: app.now().toISOString(), by: nameOf(caller) };
    const read = parseLines(lines, made);
    return read.ok ? graphChanges(app, caller).addAll(read.value.nodes, read.value.edges) : read;
  },
});
