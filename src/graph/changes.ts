import type { App } from "../app.ts";
import { ok, type Result, refuse } from "../result.ts";
import type { Query } from "../store/database.ts";
import { appendEvent, appendEvents } from "../store/events.ts";
import {
  countEdges,
  findEdge,
  findNode,
  holdNodes,
  insertEdges,
  insertNodes,
  lookAgain,
  type NewEdge,
  type NewNode,
  removeEdge,
  removeNode,
  saveNode,
} from "../store/graph.ts";
import { choose } from "./budget.ts";
import { type Edge, merge, type Node, nodeFrom, type Properties, textOf, titleOf, troubleWith } from "./node.ts";

/** So many changes at once that the engine should notice. */
const many = 1000;

/** Every change to the graph, each with its event in one transaction. */
export function graphChanges({ db, now, newId }: Pick<App, "db" | "now" | "newId">, actor: string) {
  const stamp = () => now().toISOString();
  return {
    async addNode(wanted: { id?: string | undefined; type: string; properties: Properties }) {
      const at = stamp();
      const node: Node = {
        id: wanted.id ?? newId("n"),
        type: wanted.type,
        properties: merge({}, wanted.properties),
        version: 1,
        createdAt: at,
        updatedAt: at,
        createdBy: actor,
      };
      return db.write(async (tx) => {
        if ((await insertNodes(tx, [nodeRow(node)])).length === 0) return taken(tx, node.id);
        await appendEvent(tx, nodeAdded(node, actor, at));
        return ok(node);
      });
    },

    async updateNode(
      id: string,
      version: number,
      changes: Properties,
    ): Promise<Result<{ id: string; version: number }>> {
      const at = stamp();
      return db.write(async (tx) => {
        const row = await findNode(tx, id);
        if (!row) return noNode(id);
        if (row.version !== version) return stale(nodeFrom(row), version);
        const node = { id, properties: merge(nodeFrom(row).properties, changes) };
        const trouble = troubleWith(node.properties);
        if (trouble) return refuse("invalid", `properties: ${trouble}`);
        const changed = { ...searchable(node), properties: JSON.stringify(node.properties), updated_at: at };
        if (!(await saveNode(tx, id, version, changed))) {
          const latest = await findNode(tx, id);
          return latest ? stale(nodeFrom(latest), version) : noNode(id);
        }
        const data = { version: version + 1, changes };
        await appendEvent(tx, { at, actor, kind: "node-updated", subject: `node:${id}`, data });
        return ok({ id, version: version + 1 });
      });
    },

    async deleteNode(id: string): Promise<Result<{ edges: number }>> {
      const at = stamp();
      return db.write(async (tx) => {
        const edges = await countEdges(tx, id);
        if (!(await removeNode(tx, id))) return noNode(id);
        await appendEvent(tx, { at, actor, kind: "node-deleted", subject: `node:${id}`, data: { edges } });
        return ok({ edges });
      });
    },

    async addEdge(wanted: Pick<Edge, "type" | "from" | "to" | "properties">): Promise<Result<{ id: string }>> {
      const at = stamp();
      const properties = merge({}, wanted.properties);
      const edge: Edge = { ...wanted, properties, id: newId("e"), createdAt: at, createdBy: actor };
      return db.write(async (tx) => {
        const ends = await holdNodes(tx, db.engine, [edge.from, edge.to]);
        const missing = [edge.from, edge.to].find((id) => !ends.has(id));
        if (missing !== undefined) return noNode(missing);
        if ((await insertEdges(tx, [edgeRow(edge)])).length === 0) {
          const there = await findEdge(tx, edgeRow(edge));
          const message = `there is an edge ${edge.type} from ${edge.from} to ${edge.to} already`;
          return refuse("conflict", message, there ? { id: there.id } : undefined);
        }
        await appendEvent(tx, edgeAdded(edge, actor, at));
        return ok({ id: edge.id });
      });
    },

    async deleteEdge(id: string): Promise<Result<{ id: string }>> {
      const at = stamp();
      return db.write(async (tx) => {
        const gone = await removeEdge(tx, id);
        if (!gone) return refuse("not_found", `no edge ${id}; memory_get_neighbors shows the ids of edges`);
        const data = { type: gone.type, from: gone.from_id, to: gone.to_id };
        await appendEvent(tx, { at, actor, kind: "edge-deleted", subject: `edge:${id}`, data });
        return ok({ id });
      });
    },

    /** All of it or nothing. */
    async addAll(nodes: Node[], edges: Edge[]): Promise<Result<{ nodes: number; edges: number }>> {
      const at = stamp();
      try {
        await db.write(async (tx) => {
          const addedNodes = new Set(await insertNodes(tx, nodes.map(nodeRow)));
          const taken = nodes.find((node) => !addedNodes.delete(node.id));
          if (taken) throw new Unfit(`there is a node ${taken.id} already`);
          const ends = await holdNodes(tx, db.engine, [...new Set(edges.flatMap(({ from, to }) => [from, to]))]);
          const loose = edges.find(({ from, to }) => !ends.has(from) || !ends.has(to));
          if (loose) {
            const missing = ends.has(loose.from) ? loose.to : loose.from;
            throw new Unfit(`edge ${loose.id} needs the node ${missing}, which does not exist`);
          }
          const addedEdges = new Set(await insertEdges(tx, edges.map(edgeRow)));
          const double = edges.find((edge) => !addedEdges.delete(edge.id));
          if (double) throw new Unfit(`there is an edge ${double.id}, or one of its type between its ends, already`);
          const events = [
            ...nodes.map((node) => nodeAdded(node, actor, at)),
            ...edges.map((edge) => edgeAdded(edge, actor, at)),
          ];
          for (let from = 0; from < events.length; from += 500)
            await appendEvents(tx, db.engine, events.slice(from, from + 500));
          if (events.length >= many) await lookAgain(tx, db.engine);
        });
      } catch (error) {
        if (error instanceof Unfit) return refuse("conflict", `${error.message}; nothing was imported`);
        throw error;
      }
      return ok({ nodes: nodes.length, edges: edges.length });
    },
  };
}

/** Thrown to take back all that the transaction has done so far. */
class Unfit extends Error {}

const searchable = (node: Pick<Node, "id" | "properties">) => ({ title: titleOf(node), body: textOf(node) });

const nodeRow = (node: Node): NewNode => ({
  id: node.id,
  type: node.type,
  properties: JSON.stringify(node.properties),
  version: node.version,
  created_at: node.createdAt,
  updated_at: node.updatedAt,
  created_by: node.createdBy,
  ...searchable(node),
});

const edgeRow = (edge: Edge): NewEdge => ({
  id: edge.id,
  type: edge.type,
  from_id: edge.from,
  to_id: edge.to,
  properties: JSON.stringify(edge.properties),
  created_at: edge.createdAt,
  created_by: edge.createdBy,
});

const nodeAdded = ({ id, type, version, properties }: Node, actor: string, at: string) => ({
  at,
  actor,
  kind: "node-added",
  subject: `node:${id}`,
  data: { type, version, properties },
});

const edgeAdded = ({ id, type, from, to, properties }: Edge, actor: string, at: string) => ({
  at,
  actor,
  kind: "edge-added",
  subject: `edge:${id}`,
  data: { type, from, to, properties },
});

export const noNode = (id: string) => refuse("not_found", `no node ${id}; memory_search_nodes finds nodes by words`);

function stale(latest: Node, version: number) {
  const { properties: latestProperties, ...rest } = choose(latest.properties, { fields: ["*"] });
  return refuse("conflict", `${latest.id} is at version ${latest.version}, not ${version}: change that one`, {
    latestVersion: latest.version,
    latestProperties,
    ...rest,
  });
}

async function taken(tx: Query, id: string) {
  const there = await findNode(tx, id);
  return refuse("conflict", `there is a node ${id} already; update it with its version`, {
    latestVersion: there?.version,
  });
}
