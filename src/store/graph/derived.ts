import { type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";
import { type End, type Noun, nouns, type Tie, ties } from "./nouns.ts";

type Engine = Database["engine"];

/** Many values as one parameter: the text of the query stays the same, and can stay prepared. */
export const among = {
  sqlite: (values: string[]) => sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`,
  postgres: (values: string[]) => sql`= ANY(${values}::text[])`,
};

/** A JSON object without what is NULL. */
const object = {
  sqlite: (parts: Record<string, RawBuilder<unknown>>) => sql`json_patch('{}', json_object(${pairs(parts)}))`,
  postgres: (parts: Record<string, RawBuilder<unknown>>) => sql`jsonb_strip_nulls(jsonb_build_object(${pairs(parts)}))`,
};

const pairs = (parts: Record<string, RawBuilder<unknown>>) =>
  sql.join(Object.entries(parts).flatMap(([name, value]) => [sql.lit(name), value]));

/** A noun's rows with the columns of `nodes`, to be selected from under that name. */
export const asNodes = (engine: Engine, noun: Noun, where: RawBuilder<unknown>): RawBuilder<unknown> => {
  const properties = object[engine](noun.properties);
  const data = engine === "postgres" ? sql`, ${properties} AS data` : sql``;
  return sql`(SELECT 0 AS num, ${sql.lit(`${noun.type}:`)} || ${noun.key} AS id, ${sql.lit(noun.type)} AS type,
    ${noun.title} AS title, ${engine === "postgres" ? sql`${properties}::text` : properties} AS properties,
    ${noun.version} AS version, ${noun.createdAt} AS created_at, ${noun.updatedAt} AS updated_at,
    ${noun.createdBy} AS created_by, NULL AS role, NULL AS run, NULL AS task, CAST(NULL AS BIGINT) AS epoch,
    CAST(NULL AS BIGINT) AS attempt, ${noun.key} AS key ${data}
    FROM ${noun.from} WHERE ${where}) AS nodes`;
};

/** Whether the node with this id exists; for ids that no noun claims, `otherwise`. */
export function existsNode(
  engine: Engine,
  id: RawBuilder<string>,
  otherwise: RawBuilder<unknown>,
): RawBuilder<boolean> {
  const prefix = { sqlite: sql`substr(${id}, 1, instr(${id}, ':'))`, postgres: sql`split_part(${id}, ':', 1) || ':'` };
  const cases = nouns.map(({ type, from, key }) => {
    const start = sql.lit(`${type}:`);
    return sql`WHEN ${start} THEN EXISTS (SELECT 1 FROM ${from} WHERE ${key} = substr(${id}, ${sql.lit(type.length + 2)}))`;
  });
  return sql`CASE ${prefix[engine]} ${sql.join(cases, sql` `)} ELSE ${otherwise} END`;
}

const isOwnNode = (id: RawBuilder<string>) => sql`EXISTS (SELECT 1 FROM nodes own WHERE own.id = ${id})`;

export const idOf = ({ noun, column }: End): RawBuilder<string> =>
  noun === undefined ? column : sql`${sql.lit(`${noun}:`)} || ${column}`;

/** Those of `ids` that can stand at this end, as the end's column has them. */
export function keysAt({ noun }: End, ids: string[]): string[] {
  if (noun === undefined) return ids;
  const start = `${noun}:`;
  return ids.filter((id) => id.startsWith(start)).map((id) => id.slice(start.length));
}

/** Ends that a foreign key or the row itself vouches for need no look. */
const isSure = (tie: Tie, end: End) => (end.noun === "task" && tie.types[0] === "depends_on") || end.noun === "run";

/** One direction of one tie, as seen from the nodes at its near end. */
export type Side = { tie: Tie; direction: "out" | "in"; near: End; far: End };

export const sides: Side[] = ties.flatMap((tie): Side[] => [
  { tie, direction: "out", near: tie.from, far: tie.to },
  { tie, direction: "in", near: tie.to, far: tie.from },
]);

type Wanted = { near: string[]; far?: string[]; types: string[] | undefined; after?: string; limit: number };

/** The edges of a side that touch `near`, ordered by their far ends; undefined when there can be none. */
export function sideSelect(
  engine: Engine,
  side: Side,
  stream: number,
  wanted: Wanted,
): RawBuilder<unknown> | undefined {
  const { tie, direction, near, far } = side;
  if (wanted.types && !tie.types.some((type) => wanted.types?.includes(type))) return undefined;
  const keys = keysAt(near, wanted.near);
  if (keys.length === 0) return undefined;
  const farKeys = wanted.far && keysAt(far, wanted.far);
  if (farKeys?.length === 0) return undefined;
  const [after] = wanted.after === undefined ? [] : keysAt(far, [wanted.after]);
  const conditions = [
    sql`${near.column} ${among[engine](keys)}`,
    ...(tie.where ? [tie.where] : []),
    ...(farKeys ? [sql`${far.column} ${among[engine](farKeys)}`] : []),
    ...(after === undefined ? [] : [sql`${far.column} > ${after}`]),
    ...(wanted.types ? [sql`${tie.type} ${among[engine](wanted.types)}`] : []),
    ...(isSure(tie, tie.to) ? [] : [existsNode(engine, idOf(tie.to), isOwnNode(idOf(tie.to)))]),
  ];
  return sql`SELECT * FROM (SELECT ${sql.lit(stream)} AS stream, 0 AS num, ${edgeId(tie)} AS id, ${tie.type} AS type,
    ${idOf(near)} AS near, ${idOf(far)} AS far, ${sql.lit(direction)} AS direction
    FROM ${tie.table} WHERE ${sql.join(conditions, sql` AND `)}
    ORDER BY ${far.column} LIMIT ${wanted.limit}) AS side${sql.raw(String(stream))}`;
}

/** No id of a node has a >, so its parts can be told apart. */
const edgeId = (tie: Tie) => sql`${idOf(tie.from)} || '>' || ${tie.type} || '>' || ${idOf(tie.to)}`;

/** The ties that an edge with such an id can come from. */
export function tiesOf(id: string): { tie: Tie; from: string; to: string; type: string }[] {
  const [from, type, to] = id.split(">");
  if (!from || !type || !to) return [];
  return ties
    .filter((tie) => tie.types.includes(type) && keysAt(tie.from, [from]).length + keysAt(tie.to, [to]).length === 2)
    .map((tie) => ({ tie, from, to, type }));
}

/** A tie's rows with the columns of `edges`, with its two ends given, or all of them. */
export function asEdges(engine: Engine, tie: Tie, ends?: { from: string; to: string }): RawBuilder<unknown> {
  const [from] = ends ? keysAt(tie.from, [ends.from]) : [];
  const [to] = ends ? keysAt(tie.to, [ends.to]) : [];
  const properties = object[engine](tie.properties);
  const conditions = [
    ...(tie.where ? [tie.where] : []),
    ...(from === undefined ? [] : [sql`${tie.from.column} = ${from}`]),
    ...(to === undefined ? [] : [sql`${tie.to.column} = ${to}`]),
    existsNode(engine, idOf(tie.to), isOwnNode(idOf(tie.to))),
  ];
  return sql`SELECT 0 AS num, ${edgeId(tie)} AS id, ${tie.type} AS type, ${idOf(tie.from)} AS from_id,
    ${idOf(tie.to)} AS to_id, ${engine === "postgres" ? sql`${properties}::text` : properties} AS properties,
    ${tie.createdAt} AS created_at, ${tie.createdBy} AS created_by, NULL AS role, NULL AS run, NULL AS task,
    CAST(NULL AS BIGINT) AS epoch, CAST(NULL AS BIGINT) AS attempt
    FROM ${tie.table} WHERE ${sql.join(conditions, sql` AND `)}`;
}

/** Own edges that lead to what other tables keep are seen as long as that is there. */
export const isAlive = (engine: Engine, far: RawBuilder<string>) => existsNode(engine, far, sql`TRUE`);

/** Links in the text of entries whose target does not exist. */
export const brokenLinks = (engine: Engine, where: RawBuilder<unknown>, limit: number) => sql<{
  entry_id: string;
  to_id: string;
}>`SELECT l.entry_id, l.to_id FROM entry_links l
   WHERE ${where} AND NOT ${existsNode(engine, sql`l.to_id`, isOwnNode(sql`l.to_id`))}
   ORDER BY l.entry_id, l.to_id LIMIT ${limit}`;
