import * as z from "zod";
import { issueText } from "../kernel/issue-text.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { snakeKeys } from "../kernel/wire.ts";
import type { Database } from "../store/database.ts";
import { edgesFrom, otherEdges, type StoredEdge } from "../store/queries/edges.ts";
import { nodesFrom, otherNodes, type StoredNode } from "../store/queries/nodes.ts";
import {
  anyNodeId,
  type Edge,
  edgeFrom,
  type Json,
  type Node,
  nodeFrom,
  nodeId,
  properties,
  titleOf,
  typeName,
} from "./node.ts";

export const formats = ["jsonl", "dot", "mermaid", "cypher"] as const;
export type Format = (typeof formats)[number];

const rowsAtOnce = 500;

/**
 * Exports the graph line by line, nodes before edges. Pictures show all of it. JSON Lines, for import elsewhere,
 * have only the graph's own nodes and edges unless `whole` includes those derived from other tables.
 */
export async function* exportLines(db: Database, format: Format, whole = format !== "jsonl"): AsyncGenerator<string> {
  const form = forms[format];
  const numbers = new Map<string, number>();
  yield* form.head;
  for await (const row of ownNodes(db)) {
    numbers.set(row.id, numbers.size + 1);
    yield form.node(nodeFrom(row), numbers.size);
  }
  for await (const row of otherNodes(db)) {
    numbers.set(row.id, numbers.size + 1);
    if (whole) yield form.node({ ...nodeFrom(row), kept: "elsewhere" }, numbers.size);
  }
  // An edge may have been added, or a node removed, since the nodes were read.
  const ends = ({ from_id, to_id }: StoredEdge) => [numbers.get(from_id), numbers.get(to_id)] as const;
  for await (const row of ownEdges(db)) {
    const [from, to] = ends(row);
    if (from && to) yield form.edge(edgeFrom(row), from, to);
  }
  for await (const row of whole ? otherEdges(db) : []) {
    const [from, to] = ends(row);
    if (from && to) yield form.edge({ ...edgeFrom(row), kept: "elsewhere" }, from, to);
  }
  yield* form.foot;
}

async function* ownNodes(db: Database): AsyncGenerator<StoredNode> {
  for (let last = 0; ; ) {
    const rows = await nodesFrom(db.read, last, rowsAtOnce);
    if (rows.length === 0) return;
    yield* rows;
    last = rows.at(-1)?.num ?? last;
  }
}

async function* ownEdges(db: Database): AsyncGenerator<StoredEdge> {
  for (let last = 0; ; ) {
    const rows = await edgesFrom(db.read, last, rowsAtOnce);
    if (rows.length === 0) return;
    yield* rows;
    last = rows.at(-1)?.num ?? last;
  }
}

/** Marks derived nodes and edges in an export; an import skips them. */
type Marked<T> = T & { kept?: "elsewhere" };

type Form = {
  head: string[];
  node(node: Marked<Node>, num: number): string;
  edge(edge: Marked<Edge>, from: number, to: number): string;
  foot: string[];
};

const forms: Record<Format, Form> = {
  jsonl: {
    head: [],
    node: (node) => JSON.stringify({ kind: "node", ...snakeKeys(node) }),
    edge: (edge) => JSON.stringify({ kind: "edge", ...snakeKeys(edge) }),
    foot: [],
  },
  dot: {
    head: ["digraph scriptorium {"],
    node: (node) => `  ${quoted(node.id)} [label=${quoted(titleOf(node))}, class=${quoted(node.type)}];`,
    edge: (edge) => `  ${quoted(edge.from)} -> ${quoted(edge.to)} [label=${quoted(edge.type)}];`,
    foot: ["}"],
  },
  mermaid: {
    head: ["graph LR"],
    node: (node, num) => `  n${num}["${entities(titleOf(node))}"]`,
    edge: (edge, from, to) => `  n${from} -->|"${entities(edge.type)}"| n${to}`,
    foot: [],
  },
  cypher: {
    head: [],
    node: ({ id, type, properties }) => `CREATE (:${named(type)} ${cypherMap({ ...properties, id })});`,
    edge: ({ from, to, type, properties }) =>
      `MATCH (a {id: ${cypher(from)}}), (b {id: ${cypher(to)}}) CREATE (a)-[:${named(type)} ${cypherMap(properties)}]->(b);`,
    foot: [],
  },
};

const quoted = (text: string) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

/** Escapes every character that could end a label or start a tag. */
const entities = (text: string) => text.replaceAll(/[^\p{L}\p{N} .,:/_-]/gu, (c) => `#${c.codePointAt(0)};`);

const named = (name: string) => `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "``")}\``;

const cypherMap = (properties: Record<string, Json>) =>
  `{${Object.entries(properties)
    .map(([name, value]) => `${named(name)}: ${cypher(value)}`)
    .join(", ")}}`;

/** Cypher has strings, numbers, booleans and lists of them; anything else becomes JSON text. */
function cypher(value: Json): string {
  if (typeof value === "string") return `'${JSON.stringify(value).slice(1, -1).replaceAll("'", "\\'")}'`;
  if (Array.isArray(value) && value.every((part) => typeof part === typeof value[0] && typeof part !== "object"))
    return `[${value.map(cypher).join(", ")}]`;
  return value !== null && typeof value === "object" ? cypher(JSON.stringify(value)) : String(value);
}

const time = z.iso.datetime();
const name = z.string().min(1).max(200);

const written = z.object({
  role: name.nullable(),
  run: name.nullable(),
  task: name.nullable(),
  epoch: z.int().nullable(),
  attempt: z.int().nullable(),
});

const record = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("node"),
    id: nodeId,
    type: typeName,
    properties,
    version: z.int().min(1).default(1),
    created_at: time.optional(),
    updated_at: time.optional(),
    created_by: name.optional(),
    written: written.optional(),
  }),
  z.object({
    kind: z.literal("edge"),
    id: nodeId,
    type: typeName,
    from: anyNodeId,
    to: anyNodeId,
    properties,
    created_at: time.optional(),
    created_by: name.optional(),
    written: written.optional(),
  }),
]);

const keptElsewhere = z.object({ kept: z.literal("elsewhere") });

/** Parses JSON Lines of an export; `made` fills in missing times and authors. */
export function parseLines(text: string, made: { at: string; by: string }): Result<{ nodes: Node[]; edges: Edge[] }> {
  const nodes: Node[] = [];
  const edges: Edge[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const value = jsonIn(line);
    if (keptElsewhere.safeParse(value).success) continue;
    const parsed = record.safeParse(value, { reportInput: true });
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const message = issue ? issueText(issue) : "not valid";
      return refuse("invalid", `line ${index + 1}: ${[...(issue?.path ?? []), message].join(": ")}`);
    }
    const { created_at: createdAt = made.at, created_by: createdBy = made.by } = parsed.data;
    if (parsed.data.kind === "edge") {
      const { kind: _, created_at: _at, created_by: _by, ...given } = parsed.data;
      edges.push({ ...given, createdAt, createdBy });
    } else {
      const { kind: _, created_at: _at, created_by: _by, updated_at: updatedAt = createdAt, ...given } = parsed.data;
      nodes.push({ ...given, createdAt, createdBy, updatedAt });
    }
  }
  return ok({ nodes, edges });
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
