import { type RawBuilder, type Selectable, sql } from "kysely";
import { batches } from "../batches.ts";
import type { Database, Query } from "../database.ts";
import { among, listOf } from "../lists.ts";
import { prepared } from "../prepared.ts";
import type { NodeRow } from "../tables.ts";
import { type Condition, indexedValue, mustHave, predicate } from "./graph/conditions.ts";
import { asNodes, keysAt } from "./graph/derived.ts";
import { type Noun, nounOf, nouns } from "./graph/nouns.ts";

type Engine = Database["engine"];
export type StoredNode = Selectable<NodeRow>;

export type NewNode = Omit<StoredNode, "num">;

/** A node in a list, without its properties. */
export type NodeLine = { id: string; type: string; title: string };

const nodeColumns = [
  "num",
  "id",
  "type",
  "title",
  "properties",
  "version",
  "created_at",
  "updated_at",
  "created_by",
  "role",
  "run",
  "task",
  "epoch",
  "attempt",
] as const;

const columns = sql.raw(nodeColumns.map((name) => `nodes.${name}`).join(", "));

/**
 * A node of the graph's own table, or one derived from another table. The bare id of a task, an entry and the like
 * finds its node too, whose id is then another: `task-1` finds `task:task-1`.
 */
export async function findNode(query: Query, engine: Engine, id: string): Promise<StoredNode | undefined> {
  const other = nounOf(id);
  if (!other) {
    const own = await findOwnNode(query, id);
    if (own) return own;
    for (const { type } of nouns.filter(({ isBare }) => isBare?.test(id))) {
      const found = await findNode(query, engine, `${type}:${id}`);
      if (found) return found;
    }
    return undefined;
  }
  const from = asNodes(engine, other.noun, sql`${sql.raw(other.noun.key)} = ${other.key}`);
  return (await sql<StoredNode>`SELECT ${columns} FROM ${from}`.execute(query)).rows[0];
}

/** A node of the graph's own table. */
export const findOwnNode = async (query: Query, id: string): Promise<StoredNode | undefined> =>
  (await selectNode(query, { id }))[0];

export async function ownNodeIds(query: Query): Promise<string[]> {
  const rows = await query.selectFrom("nodes").select("id").execute();
  return rows.map(({ id }) => id);
}

const selectNode = prepared<{ id: string }, StoredNode>((query, slot) =>
  query.selectFrom("nodes").select(nodeColumns).where("id", "=", slot("id")),
);

/** Those of `ids` that exist, locked against deletion until the transaction ends. SQLite has a single writer. */
export async function holdNodes(tx: Query, engine: Engine, ids: string[]): Promise<Set<string>> {
  const lock = engine === "postgres" ? sql`FOR KEY SHARE` : sql``;
  const own = ids.filter((id) => !nounOf(id));
  const text = sql<{
    id: string;
  }>`SELECT id FROM nodes WHERE id ${among[engine](listOf[engine](own))} ORDER BY id ${lock}`;
  const found = own.length === 0 ? [] : (await text.execute(tx)).rows;
  const others = await linesOf(
    tx,
    engine,
    ids.filter((id) => nounOf(id)),
  );
  return new Set([...found, ...others].map((node) => node.id));
}

/** Adds the nodes whose ids are free and returns their ids. */
export async function insertNodes(tx: Query, nodes: NewNode[]): Promise<string[]> {
  const added: string[] = [];
  for (const some of batches(nodes)) {
    const rows = await tx
      .insertInto("nodes")
      .values(some)
      .onConflict((conflict) => conflict.column("id").doNothing())
      .returning("id")
      .execute();
    added.push(...rows.map(({ id }) => id));
  }
  return added;
}

type Changed = Pick<NewNode, "title" | "properties" | "updated_at" | keyof WriteContext>;

/** The context of a write: the agent's role, and its run and claim if any. All null for a person. */
export type WriteContext = {
  role: string | null;
  run: string | null;
  task: string | null;
  epoch: number | null;
  attempt: number | null;
};

/** Saves over the version that the caller read; false when there is a newer one. */
export async function saveNode(tx: Query, id: string, version: number, changed: Changed): Promise<boolean> {
  const row = await tx
    .updateTable("nodes")
    .set({ ...changed, version: version + 1 })
    .where("id", "=", id)
    .where("version", "=", version)
    .returning("num")
    .executeTakeFirst();
  return row !== undefined;
}

/** Removes a node and its edges. */
export async function removeNode(tx: Query, id: string): Promise<boolean> {
  const row = await tx.deleteFrom("nodes").where("id", "=", id).returning("num").executeTakeFirst();
  if (!row) return false;
  // Adding an edge locks both nodes (`holdNodes`): no edge can appear after this statement.
  await tx
    .deleteFrom("edges")
    .where((where) => where.or([where("from_id", "=", id), where("to_id", "=", id)]))
    .execute();
  return true;
}

type NodeFilter = {
  type: string | undefined;
  /** All must hold. */
  where: Condition[];
  after: ListCursor | undefined;
  limit: number;
};

/** A cursor: the stream, and the key in it after which to continue. */
export type ListCursor = { stream: number; key: string };

export type ListedNode = StoredNode & { place: ListCursor };

/** The graph's own nodes, newest first, then those of each noun. */
export async function nodesWhere(db: Database, { type, where, after, limit }: NodeFilter): Promise<ListedNode[]> {
  const { engine } = db;
  const start = after?.stream ?? 0;
  const names = mustHave(where);
  const conditions = where.map((one) => predicate(engine, one));
  const parts = nouns.flatMap((noun, at) => {
    const stream = at + 1;
    if (stream < start || (type !== undefined && type !== noun.type)) return [];
    if (names.some((name) => !Object.hasOwn(noun.properties, name))) return [];
    return nounPart(engine, noun, { stream, after: stream === start ? after?.key : undefined, conditions, limit });
  });
  if (start === 0) parts.unshift(ownPart(engine, { type, where, conditions, before: after?.key, limit }));
  if (parts.length === 0) return [];
  const text = sql<StoredNode & { stream: number; key: string }>`${sql.join(parts, sql` UNION ALL `)}`;
  const rows = (await text.execute(db.read)).rows.sort((a, b) => a.stream - b.stream);
  return rows.slice(0, limit).map(({ stream, key, ...row }) => ({ ...row, place: { stream, key } }));
}

type OwnPart = Omit<NodeFilter, "after"> & { conditions: RawBuilder<boolean>[]; before: string | undefined };

function ownPart(engine: Engine, { type, where, conditions, before, limit }: OwnPart) {
  const byValue = engine === "sqlite" ? indexedValue(where) : undefined;
  const from = byValue ? sql`node_props p CROSS JOIN nodes ON nodes.num = p.node` : sql`nodes`;
  const num = byValue ? sql`p.node` : sql`nodes.num`;
  const all = [
    ...(byValue ? [sql`p.name = ${byValue.name}`, sql`p.value = ${byValue.value}`] : []),
    ...(type === undefined ? [] : [byValue ? sql`p.type = ${type}` : sql`nodes.type = ${type}`]),
    ...(before === undefined ? [] : [sql`${num} < ${Number(before)}`]),
    ...conditions,
  ];
  return sql`SELECT * FROM (SELECT ${columns}, 0 AS stream, CAST(nodes.num AS TEXT) AS key FROM ${from}
    WHERE ${and(all)} ORDER BY ${num} DESC LIMIT ${limit}) AS own`;
}

type NounPart = { stream: number; after: string | undefined; conditions: RawBuilder<boolean>[]; limit: number };

function nounPart(engine: Engine, noun: Noun, { stream, after, conditions, limit }: NounPart) {
  const [beyond, order] = noun.order === "asc" ? [sql`>`, sql`ASC`] : [sql`<`, sql`DESC`];
  const from = asNodes(engine, noun, after === undefined ? sql`TRUE` : sql`${sql.raw(noun.key)} ${beyond} ${after}`);
  return sql`SELECT * FROM (SELECT ${columns}, ${sql.lit(stream)} AS stream, nodes.key FROM ${from}
    WHERE ${and(conditions)} ORDER BY nodes.key ${order} LIMIT ${limit}) AS part${sql.raw(String(stream))}`;
}

const and = (conditions: RawBuilder<unknown>[]) =>
  conditions.length === 0 ? sql`TRUE` : sql.join(conditions, sql` AND `);

/** In the order of `ids`; missing ones are left out. */
export async function nodeLines(db: Database, ids: string[]): Promise<NodeLine[]> {
  const found = new Map((await linesOf(db.read, db.engine, ids)).map((row) => [row.id, row]));
  return ids.flatMap((id) => found.get(id) ?? []);
}

async function linesOf(query: Query, engine: Engine, ids: string[]): Promise<NodeLine[]> {
  const own = ids.filter((id) => !nounOf(id));
  const parts = nouns.flatMap((noun) => {
    const keys = keysAt({ noun: noun.type }, ids);
    if (keys.length === 0) return [];
    const head = `SELECT '${noun.type}:' || ${noun.key} AS id, '${noun.type}' AS type, ${noun.title} AS title
      FROM ${noun.from} WHERE ${noun.key}`;
    return sql`${sql.raw(head)} ${among[engine](listOf[engine](keys))}`;
  });
  if (own.length > 0)
    parts.unshift(sql`SELECT id, type, title FROM nodes WHERE id ${among[engine](listOf[engine](own))}`);
  if (parts.length === 0) return [];
  return (await sql<NodeLine>`${sql.join(parts, sql` UNION ALL `)}`.execute(query)).rows;
}

export const nodesFrom = (query: Query, after: number, limit: number): Promise<StoredNode[]> =>
  query.selectFrom("nodes").select(nodeColumns).where("num", ">", after).orderBy("num").limit(limit).execute();

/** Every node derived from other tables. */
export async function* otherNodes(db: Database): AsyncGenerator<StoredNode> {
  for (const noun of nouns) {
    const text = sql<StoredNode>`SELECT ${columns} FROM ${asNodes(db.engine, noun, sql`TRUE`)} ORDER BY nodes.id`;
    yield* (await text.execute(db.read)).rows;
  }
}
