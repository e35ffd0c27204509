import { type RawBuilder, type Selectable, sql } from "kysely";
import type { Database, Query } from "./database.ts";
import { prepared } from "./prepared.ts";
import type { EdgeRow, NodeRow } from "./tables.ts";

export type StoredNode = Selectable<NodeRow>;
export type StoredEdge = Selectable<EdgeRow>;

/** A node to be kept, with the text that search will find it by. */
export type NewNode = Omit<StoredNode, "num"> & { body: string };
export type NewEdge = Omit<StoredEdge, "num">;

/** What stands for a node in lists: enough to choose by, and no properties. */
export type NodeLine = { id: string; type: string; title: string };

/** An edge as seen from one of its ends. */
export type Link = { num: number; id: string; type: string; near: string; far: string; direction: "out" | "in" };

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
] as const;

/** As many rows as a statement can take values for on either engine. */
const rowsAtOnce = 200;

export const findNode = async (query: Query, id: string): Promise<StoredNode | undefined> =>
  (await selectNode(query, { id }))[0];

const selectNode = prepared<{ id: string }, StoredNode>((query, slot) =>
  query.selectFrom("nodes").select(nodeColumns).where("id", "=", slot("id")),
);

/** Those of `ids` that exist. Until the transaction ends nobody deletes them; SQLite has one writer at a time anyway. */
export async function holdNodes(tx: Query, engine: Database["engine"], ids: string[]): Promise<Set<string>> {
  const lock = engine === "postgres" ? sql`FOR KEY SHARE` : sql``;
  const text = sql<{ id: string }>`SELECT id FROM nodes WHERE id ${among[engine](ids)} ORDER BY id ${lock}`;
  return new Set((await text.execute(tx)).rows.map((node) => node.id));
}

/** Adds the nodes whose ids are free, and tells which. */
export async function insertNodes(tx: Query, nodes: NewNode[]): Promise<string[]> {
  const added: string[] = [];
  for (const some of portions(nodes)) {
    const rows = await tx
      .insertInto("nodes")
      .values(some.map(({ body: _, ...row }) => row))
      .onConflict((conflict) => conflict.column("id").doNothing())
      .returning(["num", "id"])
      .execute();
    added.push(...rows.map(({ id }) => id));
    const nums = new Map(rows.map(({ id, num }) => [id, num]));
    const texts = some.flatMap(({ id, title, body }) => {
      const rowid = nums.get(id);
      // Of two with one id the first was added.
      nums.delete(id);
      return rowid === undefined ? [] : [{ rowid, title, body }];
    });
    if (texts.length > 0) await tx.insertInto("node_text").values(texts).execute();
  }
  return added;
}

type Changed = Pick<NewNode, "title" | "properties" | "updated_at" | "body">;

/** Saves over the version the caller read; false when someone else saved first. */
export async function saveNode(tx: Query, id: string, version: number, changed: Changed): Promise<boolean> {
  const { body, ...columns } = changed;
  const row = await tx
    .updateTable("nodes")
    .set({ ...columns, version: version + 1 })
    .where("id", "=", id)
    .where("version", "=", version)
    .returning("num")
    .executeTakeFirst();
  if (!row) return false;
  await tx.deleteFrom("node_text").where("rowid", "=", row.num).execute();
  await tx.insertInto("node_text").values({ rowid: row.num, title: columns.title, body }).execute();
  return true;
}

/** Its edges go with it. */
export async function removeNode(tx: Query, id: string): Promise<boolean> {
  const row = await tx.deleteFrom("nodes").where("id", "=", id).returning("num").executeTakeFirst();
  if (row) await tx.deleteFrom("node_text").where("rowid", "=", row.num).execute();
  return row !== undefined;
}

/** Adds the edges that are not there yet, between nodes that exist, and tells which. */
export async function insertEdges(tx: Query, edges: NewEdge[]): Promise<string[]> {
  const added: string[] = [];
  for (const some of portions(edges)) {
    const rows = await tx
      .insertInto("edges")
      .values(some)
      .onConflict((conflict) => conflict.doNothing())
      .returning("id")
      .execute();
    added.push(...rows.map(({ id }) => id));
  }
  return added;
}

export const findEdge = (query: Query, edge: Pick<NewEdge, "type" | "from_id" | "to_id">) =>
  query
    .selectFrom("edges")
    .select(["id"])
    .where("from_id", "=", edge.from_id)
    .where("to_id", "=", edge.to_id)
    .where("type", "=", edge.type)
    .executeTakeFirst();

export const removeEdge = (tx: Query, id: string) =>
  tx.deleteFrom("edges").where("id", "=", id).returning(["type", "from_id", "to_id"]).executeTakeFirst();

export async function countEdges(query: Query, id: string): Promise<number> {
  const { count } = await query
    .selectFrom("edges")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where((where) => where.or([where("from_id", "=", id), where("to_id", "=", id)]))
    .executeTakeFirstOrThrow();
  return Number(count);
}

type Wanted = { type: string | undefined; where: RawBuilder<boolean>[]; before: number | undefined; limit: number };

/** Newest first. */
export function nodesWhere(query: Query, { type, where, before, limit }: Wanted): Promise<StoredNode[]> {
  let select = query.selectFrom("nodes").select(nodeColumns);
  if (type !== undefined) select = select.where("type", "=", type);
  if (before !== undefined) select = select.where("num", "<", before);
  for (const condition of where) select = select.where(condition);
  return select.orderBy("num", "desc").limit(limit).execute();
}

/** In the order of `ids`, without those that do not exist. */
export async function nodeLines(db: Database, ids: string[]): Promise<NodeLine[]> {
  const text = sql<NodeLine>`SELECT id, type, title FROM nodes WHERE id ${among[db.engine](ids)}`;
  const found = new Map((await text.execute(db.read)).rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => found.get(id) ?? []);
}

/** Every edge that touches one of `ids`, out before in, up to `limit`; one between two of them comes twice. */
export async function linksOf(
  db: Database,
  ids: string[],
  types: string[] | undefined,
  limit: number,
): Promise<Link[]> {
  const near = among[db.engine](ids);
  const wanted = types ? sql`AND type ${among[db.engine](types)}` : sql``;
  const text = sql<Link>`
    SELECT num, id, type, from_id AS near, to_id AS far, 'out' AS direction FROM edges WHERE from_id ${near} ${wanted}
    UNION ALL
    SELECT num, id, type, to_id AS near, from_id AS far, 'in' AS direction FROM edges WHERE to_id ${near} ${wanted}
    LIMIT ${limit}`;
  return (await text.execute(db.read)).rows.sort((a, b) => a.num - b.num);
}

type Page = { type: string | undefined; direction: "out" | "in" | "both"; after: number; limit: number };

/** The edges of one node, oldest first. */
export async function linksAfter(db: Database, id: string, { type, direction, after, limit }: Page): Promise<Link[]> {
  const wanted = type === undefined ? sql`` : sql`AND type = ${type}`;
  const out = sql`SELECT * FROM (
    SELECT num, id, type, from_id AS near, to_id AS far, 'out' AS direction FROM edges
    WHERE from_id = ${id} AND num > ${after} ${wanted} ORDER BY num LIMIT ${limit}) AS outgoing`;
  // From both sides an edge from a node to itself is one edge still.
  const once = direction === "both" ? sql`AND from_id <> to_id` : sql``;
  const into = sql`SELECT * FROM (
    SELECT num, id, type, to_id AS near, from_id AS far, 'in' AS direction FROM edges
    WHERE to_id = ${id} AND num > ${after} ${wanted} ${once} ORDER BY num LIMIT ${limit}) AS incoming`;
  const sides = { out, in: into, both: sql`${out} UNION ALL ${into}` };
  const text = sql<Link>`${sides[direction]} ORDER BY num LIMIT ${limit}`;
  return (await text.execute(db.read)).rows;
}

/** The edges whose both ends are among `ids`. */
export async function edgesAmong(db: Database, ids: string[], types: string[] | undefined, limit: number) {
  const ends = among[db.engine](ids);
  const wanted = types ? sql`AND type ${among[db.engine](types)}` : sql``;
  const text = sql<{ from: string; type: string; to: string }>`
    SELECT from_id AS "from", type, to_id AS "to" FROM edges
    WHERE from_id ${ends} AND to_id ${ends} ${wanted} ORDER BY num LIMIT ${limit}`;
  return (await text.execute(db.read)).rows;
}

export const nodesFrom = (query: Query, after: number, limit: number): Promise<StoredNode[]> =>
  query.selectFrom("nodes").select(nodeColumns).where("num", ">", after).orderBy("num").limit(limit).execute();

/** Edges in order of age, with the numbers of their ends; none to a node that is younger than `last`. */
export const edgesFrom = (query: Query, after: number, last: number, limit: number) =>
  query
    .selectFrom("edges")
    .innerJoin("nodes as f", "f.id", "edges.from_id")
    .innerJoin("nodes as t", "t.id", "edges.to_id")
    .selectAll("edges")
    .select(["f.num as from_num", "t.num as to_num"])
    .where("edges.num", ">", after)
    .where("f.num", "<=", last)
    .where("t.num", "<=", last)
    .orderBy("edges.num")
    .limit(limit)
    .execute();

/** After many rows at once PostgreSQL plans for the table it knew, and walks read all of it, until it has looked again. */
export async function lookAgain(tx: Query, engine: Database["engine"]): Promise<void> {
  if (engine === "postgres") await sql`ANALYZE nodes, node_text, edges`.execute(tx);
}

/** Many values as one parameter: the text of the query stays the same, and can stay prepared. */
const among = {
  sqlite: (values: string[]) => sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`,
  postgres: (values: string[]) => sql`= ANY(${values}::text[])`,
};

function* portions<T>(items: T[]): Generator<T[]> {
  for (let from = 0; from < items.length; from += rowsAtOnce) yield items.slice(from, from + rowsAtOnce);
}
