import { type Selectable, sql } from "kysely";
import { batches } from "../batches.ts";
import type { Database, Query } from "../database.ts";
import { among, type List, listOf, withTexts } from "../lists.ts";
import { eachOnce, onEach } from "../prepared.ts";
import type { EdgeRow } from "../tables.ts";
import { asEdges, isAlive, keysAt, type Side, sideRows, sideSelect, sides, tiesOf } from "./graph/derived.ts";
import { ties } from "./graph/nouns.ts";
import type { ListCursor } from "./nodes.ts";

export type StoredEdge = Selectable<EdgeRow>;
export type NewEdge = Omit<StoredEdge, "num">;

/** An edge seen from one of its ends. Stream 0 has the graph's own edges; other streams derive from other tables. */
export type Link = {
  stream: number;
  num: number;
  id: string;
  type: string;
  near: string;
  far: string;
  direction: "out" | "in";
};

/** Adds the edges that do not exist yet and returns their ids. Their nodes must exist. */
export async function insertEdges(tx: Query, edges: NewEdge[]): Promise<string[]> {
  const added: string[] = [];
  for (const some of batches(edges)) {
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

/** The ids of the graph's own edges at a node. */
export async function edgeIdsOf(query: Query, node: string): Promise<string[]> {
  const rows = await query
    .selectFrom("edges")
    .select("id")
    .where((where) => where.or([where("from_id", "=", node), where("to_id", "=", node)]))
    .execute();
  return rows.map(({ id }) => id);
}

/** The edges at any of `ids`, up to `limit`; an edge between two of them is listed twice. */
export async function linksOf(
  db: Database,
  ids: string[],
  types: string[] | undefined,
  limit: number,
): Promise<Link[]> {
  const list = listOf[db.engine];
  const keys = nearNouns.map((noun) => [noun, keysAt({ noun }, ids)] as const).filter(([, keys]) => keys.length > 0);
  const shape = [...keys.map(([noun]) => noun), ...(types ? [ofTypes] : [])].join(" ");
  const lists = Object.fromEntries(keys.map(([noun, keys]) => [noun, list(keys)]));
  const asked = { ...lists, ids: list(ids), types: list(types ?? []), limit };
  const links = await touching(shape)[db.engine](db.read, asked);
  return links.sort((a, b) => a.stream - b.stream || a.num - b.num);
}

const nearNouns = [...new Set(sides.flatMap(({ near }) => near.noun ?? []))];
const ofTypes = "of-types";

type Touching = { ids: List; types: List; limit: number; [noun: string]: List | number };

/** One statement per set of nouns among the ids: a statement over all nouns takes longer to plan than to run. */
const touching = eachOnce((shape: string) => {
  const parts = shape.split(" ");
  const isNear = ({ near }: Side) => near.noun === undefined || parts.includes(near.noun);
  return onEach<Touching, Link>((engine, slot) => {
    const types = parts.includes(ofTypes) ? { types: slot("types") } : {};
    const wanted = types.types === undefined ? sql`` : sql`AND type ${among[engine](types.types)}`;
    const limit = slot("limit");
    const own = [
      sql`SELECT 0 AS stream, num, id, type, from_id AS near, to_id AS far, 'out' AS direction
        ${withTexts[engine]("edges", "from_id", slot("ids"))} ${wanted} AND ${isAlive[engine].to}`,
      sql`SELECT 0 AS stream, num, id, type, to_id AS near, from_id AS far, 'in' AS direction
        ${withTexts[engine]("edges", "to_id", slot("ids"))} ${wanted} AND ${isAlive[engine].from}`,
    ];
    const others = sides
      .filter(isNear)
      .map((side) => sideRows(engine, side, { near: slot(side.near.noun ?? "ids") as List, ...types, limit }));
    return sql<Link>`${sql.join([...own, ...others], sql` UNION ALL `)} LIMIT ${limit}`;
  });
});

type Page = {
  types: string[] | undefined;
  direction: "out" | "in" | "both";
  after: ListCursor | undefined;
  limit: number;
};

/** The edges of one node: the graph's own, oldest first, then those derived from other tables. */
export async function linksAfter(db: Database, id: string, { types, direction, after, limit }: Page): Promise<Link[]> {
  const start = after?.stream ?? 0;
  const isWanted = (side: Side) => direction === "both" || side.direction === direction;
  const parts = sides.flatMap((side) => {
    if (side.stream < start || !isWanted(side)) return [];
    const from = side.stream === start && after ? { after: after.key } : {};
    return sideSelect(db.engine, side, { near: [id], types, limit, ...from }) ?? [];
  });
  if (start === 0) parts.unshift(ownLinks(db.engine, id, Number(after?.key ?? 0), { types, direction, limit }));
  if (parts.length === 0) return [];
  const { rows } = await sql<Link>`${sql.join(parts, sql` UNION ALL `)}`.execute(db.read);
  const order = (a: Link, b: Link) => a.stream - b.stream || a.num - b.num;
  return rows.sort(order).slice(0, limit);
}

type Own = Pick<Page, "types" | "direction" | "limit">;

function ownLinks(engine: Database["engine"], id: string, after: number, { types, direction, limit }: Own) {
  const wanted = types ? sql`AND type ${among[engine](listOf[engine](types))}` : sql``;
  const out = sql`SELECT * FROM (
    SELECT 0 AS stream, num, id, type, from_id AS near, to_id AS far, 'out' AS direction FROM edges
    WHERE from_id = ${id} AND num > ${after} ${wanted} AND ${isAlive[engine].to}
    ORDER BY num LIMIT ${limit}) AS outgoing`;
  // An edge from a node to itself would be listed from both ends.
  const once = direction === "both" ? sql`AND from_id <> to_id` : sql``;
  const into = sql`SELECT * FROM (
    SELECT 0 AS stream, num, id, type, to_id AS near, from_id AS far, 'in' AS direction FROM edges
    WHERE to_id = ${id} AND num > ${after} ${wanted} ${once} AND ${isAlive[engine].from}
    ORDER BY num LIMIT ${limit}) AS incoming`;
  return { out, in: into, both: sql`${out} UNION ALL ${into}` }[direction];
}

/** The cursor after a link, for `linksAfter`. */
export const placeOf = ({ stream, num, far }: Link): ListCursor => ({ stream, key: stream === 0 ? String(num) : far });

/** The unary plus keeps SQLite from looking up every pair of ends in the index over both. */
const farEnd = {
  sqlite: { from: sql.raw("+from_id"), to: sql.raw("+to_id") },
  postgres: { from: sql.raw("from_id"), to: sql.raw("to_id") },
};

export type EdgeLine = { from: string; type: string; to: string };

/** The edges between `some` and `all`; `some` is a subset of `all`. */
export async function edgesBetween(
  db: Database,
  some: string[],
  all: string[],
  types: string[] | undefined,
  limit: number,
): Promise<EdgeLine[]> {
  const inSome = new Set(some);
  const rest = all.filter((id) => !inSome.has(id));
  const one = (ids: string[]) => among[db.engine](listOf[db.engine](ids));
  const wanted = types ? sql`AND type ${one(types)}` : sql``;
  const own = [
    sql`SELECT * FROM (SELECT 0 AS stream, num, id, type, from_id AS near, to_id AS far, 'out' AS direction FROM edges
      WHERE from_id ${one(some)} AND ${farEnd[db.engine].to} ${one(all)} ${wanted} ORDER BY num LIMIT ${limit}) AS own_out`,
    sql`SELECT * FROM (SELECT 0 AS stream, num, id, type, to_id AS near, from_id AS far, 'in' AS direction FROM edges
      WHERE to_id ${one(some)} AND ${farEnd[db.engine].from} ${one(rest)} ${wanted} ORDER BY num LIMIT ${limit}) AS own_in`,
  ];
  const others = sides.flatMap((side) => {
    const far = side.direction === "out" ? all : rest;
    return sideSelect(db.engine, side, { near: some, far, types, limit }) ?? [];
  });
  const { rows } = await sql<Link>`${sql.join([...own, ...others], sql` UNION ALL `)}`.execute(db.read);
  return rows
    .sort((a, b) => a.stream - b.stream || a.num - b.num)
    .slice(0, limit)
    .map(({ near, type, far, direction }) =>
      direction === "out" ? { from: near, type, to: far } : { from: far, type, to: near },
    );
}

/** An edge by its id, of the graph's own or derived. */
export async function readEdge(db: Database, id: string): Promise<StoredEdge | undefined> {
  const own = await db.read.selectFrom("edges").selectAll().where("id", "=", id).executeTakeFirst();
  if (own) return own;
  for (const { tie, from, to, type } of tiesOf(id)) {
    const { rows } = await sql<StoredEdge>`${asEdges(db.engine, tie, { from, to })}`.execute(db.read);
    const found = rows.find((row) => row.type === type);
    if (found) return found;
  }
  return undefined;
}

/** How to change a derived edge; undefined for the graph's own. */
export const insteadOfEdge = (id: string): string | undefined => tiesOf(id)[0]?.tie.instead;

/** The graph's own edges, oldest first. */
export const edgesFrom = (query: Query, after: number, limit: number): Promise<StoredEdge[]> =>
  query.selectFrom("edges").selectAll().where("num", ">", after).orderBy("num").limit(limit).execute();

/** Every edge derived from other tables. */
export async function* otherEdges(db: Database): AsyncGenerator<StoredEdge> {
  for (const tie of ties) {
    const text = sql<StoredEdge>`${asEdges(db.engine, tie)} ORDER BY id`;
    yield* (await text.execute(db.read)).rows;
  }
}
