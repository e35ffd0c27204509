import { type Caller, nameOf } from "../kernel/caller.ts";
import type { NextOperation } from "../kernel/next-step.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Query } from "../store/database.ts";
import { appendEvent, appendEvents, type NewEvent } from "../store/events.ts";
import { type Claimant, holdClaim, recordingRefused } from "../store/fence.ts";
import { noSuch } from "../store/no-such.ts";
import {
  countEdges,
  findEdge,
  insertEdges,
  insteadOfEdge,
  type NewEdge,
  readEdge,
  removeEdge,
} from "../store/queries/edges.ts";
import { nounOf } from "../store/queries/graph/nouns.ts";
import {
  findNode,
  holdNodes,
  insertNodes,
  type NewNode,
  removeNode,
  saveNode,
  type WriteContext,
} from "../store/queries/nodes.ts";
import { analyze } from "../store/statistics.ts";
import type { WikiApp } from "../wiki/wiki-app.ts";
import { choose } from "./budget.ts";
import { type Edge, merge, type Node, nodeFrom, type Properties, titleOf, troubleWith } from "./node.ts";

/** Bulk changes of at least this size are followed by ANALYZE. */
const bulk = 1000;

/**
 * Every change to the graph, with its event in one transaction; refused under an expired claim. Nodes and edges
 * derived from other tables are refused here, with the operation to use instead.
 */
export function graphChanges({ db, now, newId }: Pick<WikiApp, "db" | "now" | "newId">, caller: Caller) {
  const actor = nameOf(caller);
  const by: Claimant =
    caller.kind === "agent"
      ? { name: actor, task: caller.task, epoch: caller.epoch, secret: caller.secret }
      : { name: actor };
  const stamp = () => now().toISOString();

  /** The id of the node that a bare id of a task or an entry means. */
  const fullId = async (id: string) => (nounOf(id) ? id : ((await findNode(db.read, db.engine, id))?.id ?? id));

  /** Runs a change in one transaction under the caller's claim; `written` is the context to save with it. */
  const change = <T>(
    what: string,
    work: (tx: Query, written: WriteContext) => Promise<Result<T>>,
  ): Promise<Result<T>> =>
    recordingRefused({ db, now }, by, what, () =>
      db.write(async (tx) => {
        const held = await holdClaim(tx, db.engine, by);
        return held.ok ? work(tx, { ...provenance(caller), ...held.value }) : held;
      }),
    );

  return {
    async addNode(wanted: { id?: string | undefined; type: string; properties: Properties }) {
      const at = stamp();
      const claimed = wanted.id !== undefined && nounOf(wanted.id);
      if (claimed) return keptElsewhere(wanted.id as string, claimed.noun);
      const node: Node = {
        id: wanted.id ?? newId("n"),
        type: wanted.type,
        properties: merge({}, wanted.properties),
        version: 1,
        createdAt: at,
        updatedAt: at,
        createdBy: actor,
      };
      return change("memory_add_node", async (tx, written): Promise<Result<Node>> => {
        if ((await insertNodes(tx, [nodeRow(node, written)])).length === 0) return taken(tx, db.engine, node.id);
        await appendEvent(tx, nodeAdded(node, written, actor, at));
        return ok(node);
      });
    },

    async updateNode(
      given: string,
      version: number,
      changes: Properties,
    ): Promise<Result<{ id: string; version: number }>> {
      const at = stamp();
      const id = await fullId(given);
      const claimed = nounOf(id);
      if (claimed) return keptElsewhere(id, claimed.noun);
      return change("memory_update_node", async (tx, written) => {
        const row = await findNode(tx, db.engine, id);
        if (!row) return noSuch(tx, "node", id);
        if (row.version !== version) return stale(nodeFrom(row), version);
        const node = { id, properties: merge(nodeFrom(row).properties, changes) };
        const trouble = troubleWith(node.properties);
        if (trouble) return refuse("invalid", `properties: ${trouble}`);
        const changed = {
          title: titleOf(node),
          properties: JSON.stringify(node.properties),
          updated_at: at,
          ...written,
        };
        if (!(await saveNode(tx, id, version, changed))) {
          const latest = await findNode(tx, db.engine, id);
          return latest ? stale(nodeFrom(latest), version) : noSuch(tx, "node", id);
        }
        const data = { version: version + 1, changes, ...said(written) };
        await appendEvent(tx, { at, actor, kind: "node-updated", subject: `node:${id}`, data });
        return ok({ id, version: version + 1 });
      });
    },

    async deleteNode(given: string): Promise<Result<{ edges: number }>> {
      const at = stamp();
      const id = await fullId(given);
      const claimed = nounOf(id);
      if (claimed) return keptElsewhere(id, claimed.noun);
      return change("memory_delete_node", async (tx, written) => {
        const edges = await countEdges(tx, id);
        if (!(await removeNode(tx, id))) return noSuch(tx, "node", id);
        const data = { edges, ...said(written) };
        await appendEvent(tx, { at, actor, kind: "node-deleted", subject: `node:${id}`, data });
        return ok({ edges });
      });
    },

    async addEdge(wanted: Pick<Edge, "type" | "from" | "to" | "properties">): Promise<Result<{ id: string }>> {
      const at = stamp();
      const properties = merge({}, wanted.properties);
      const [from, to] = await Promise.all([fullId(wanted.from), fullId(wanted.to)]);
      const edge: Edge = { ...wanted, from, to, properties, id: newId("e"), createdAt: at, createdBy: actor };
      return change("memory_add_edge", async (tx, written): Promise<Result<{ id: string }>> => {
        const ends = await holdNodes(tx, db.engine, [edge.from, edge.to]);
        const missing = [edge.from, edge.to].find((id) => !ends.has(id));
        if (missing !== undefined) return noSuch(tx, "node", missing);
        if ((await insertEdges(tx, [edgeRow(edge, written)])).length === 0) {
          const there = await findEdge(tx, edgeRow(edge, written));
          const message = `an edge ${edge.type} from ${edge.from} to ${edge.to} already exists`;
          return refuse("conflict", message, there ? { id: there.id } : undefined);
        }
        await appendEvent(tx, edgeAdded(edge, written, actor, at));
        return ok({ id: edge.id });
      });
    },

    async deleteEdge(id: string): Promise<Result<{ id: string }>> {
      const at = stamp();
      const instead = insteadOfEdge(id);
      if (instead && (await readEdge(db, id))) return refuse("refused", `edge ${id} cannot be deleted: ${instead}`);
      return change("memory_delete_edge", async (tx, written) => {
        const gone = await removeEdge(tx, id);
        if (!gone) return noEdge(id);
        const data = { type: gone.type, from: gone.from_id, to: gone.to_id, ...said(written) };
        await appendEvent(tx, { at, actor, kind: "edge-deleted", subject: `edge:${id}`, data });
        return ok({ id });
      });
    },

    /** Adds everything or nothing. */
    async addAll(nodes: Node[], edges: Edge[]): Promise<Result<{ nodes: number; edges: number }>> {
      const at = stamp();
      const written = { ...provenance(caller), attempt: null };
      const elsewhere = nodes.find((node) => nounOf(node.id));
      if (elsewhere)
        return refuse(
          "invalid",
          `node ${elsewhere.id} is derived from the workspace and cannot be imported; remove its line`,
        );
      return db.write(async (tx): Promise<Result<{ nodes: number; edges: number }>> => {
        const unfit = (why: string) => refuse("conflict", `${why}; nothing was imported`);
        const nodeRows = nodes.map((node) => nodeRow(node, node.written ?? written));
        const addedNodes = new Set(await insertNodes(tx, nodeRows));
        const taken = nodes.find((node) => !addedNodes.delete(node.id));
        if (taken) return unfit(`node ${taken.id} already exists`);
        const ends = await holdNodes(tx, db.engine, [...new Set(edges.flatMap(({ from, to }) => [from, to]))]);
        const loose = edges.find(({ from, to }) => !ends.has(from) || !ends.has(to));
        if (loose) {
          const missing = ends.has(loose.from) ? loose.to : loose.from;
          return unfit(`edge ${loose.id} needs node ${missing}, which does not exist`);
        }
        const edgeRows = edges.map((edge) => edgeRow(edge, edge.written ?? written));
        const addedEdges = new Set(await insertEdges(tx, edgeRows));
        const double = edges.find((edge) => !addedEdges.delete(edge.id));
        if (double)
          return unfit(`edge ${double.id}, or an edge of the same type between the same nodes, already exists`);
        const events = [
          ...nodes.map((node) => nodeAdded(node, written, actor, at)),
          ...edges.map((edge) => edgeAdded(edge, written, actor, at)),
        ];
        for (let from = 0; from < events.length; from += 500)
          await appendEvents(tx, db.engine, events.slice(from, from + 500));
        if (events.length >= bulk) await analyze(tx, db.engine, ["nodes", "edges"]);
        return ok({ nodes: nodes.length, edges: edges.length });
      });
    },
  };
}

const nodeRow = (node: Node, written: WriteContext): NewNode => ({
  ...written,
  id: node.id,
  type: node.type,
  properties: JSON.stringify(node.properties),
  version: node.version,
  created_at: node.createdAt,
  updated_at: node.updatedAt,
  created_by: node.createdBy,
  title: titleOf(node),
});

const edgeRow = (edge: Edge, written: WriteContext): NewEdge => ({
  ...written,
  id: edge.id,
  type: edge.type,
  from_id: edge.from,
  to_id: edge.to,
  properties: JSON.stringify(edge.properties),
  created_at: edge.createdAt,
  created_by: edge.createdBy,
});

const nodeAdded = (
  { id, type, version, properties }: Node,
  written: WriteContext,
  actor: string,
  at: string,
): NewEvent => ({
  at,
  actor,
  kind: "node-added",
  subject: `node:${id}`,
  data: { type, version, properties, ...said(written) },
});

const edgeAdded = (
  { id, type, from, to, properties }: Edge,
  written: WriteContext,
  actor: string,
  at: string,
): NewEvent => ({
  at,
  actor,
  kind: "edge-added",
  subject: `edge:${id}`,
  data: { type, from, to, properties, ...said(written) },
});

const provenance = (caller: Caller): Omit<WriteContext, "attempt"> =>
  caller.kind === "person"
    ? { role: null, run: null, task: null, epoch: null }
    : {
        role: caller.role,
        run: caller.turn.run ?? null,
        task: caller.task ?? null,
        epoch: caller.epoch ?? null,
      };

/** Leaves out unknown fields. */
const said = (written: WriteContext) =>
  Object.fromEntries(Object.entries(written).filter(([, value]) => value !== null));

const keptElsewhere = (id: string, { type, instead, next }: { type: string; instead: string; next?: NextOperation }) =>
  refuse(
    "refused",
    `${id} is derived from the workspace, like every node with an id that starts with ${type}:, and cannot be changed here; ${instead}. ` +
      "To add information, create another node and an edge to this one",
    next ? { next: [{ operation: next, input: { id: id.slice(type.length + 1) } }] } : undefined,
  );

export const noEdge = (id: string) =>
  refuse("not_found", `edge ${id} does not exist`, {
    next: [{ operation: "memory_get_neighbors", to: "see the edges of a node" }],
  });

function stale(latest: Node, version: number) {
  const { properties: latest_properties, ...rest } = choose(latest.properties, { fields: ["*"] });
  return refuse(
    "conflict",
    `node ${latest.id} is at version ${latest.version}, not ${version}; apply your change to that version`,
    {
      latestVersion: latest.version,
      latest_properties,
      ...rest,
    },
  );
}

async function taken(tx: Query, engine: WikiApp["db"]["engine"], id: string) {
  const there = await findNode(tx, engine, id);
  return refuse("conflict", `node ${id} already exists`, {
    latestVersion: there?.version,
    next: [{ operation: "memory_update_node", input: { id }, to: "change it" }],
  });
}
