import { type RawBuilder, sql } from "kysely";
import type { Database } from "../../database.ts";
import { among, type List, listOf, withTexts } from "../../lists.ts";
import { type End, type Noun, nouns, type Tie, ties } from "./nouns.ts";

type Engine = Database["engine"];

/**
 * Constant SQL is concatenated once, as text: building it from parts on every call would cost more than
 * running it.
 */
const raw = (text: string) => sql.raw<never>(text);

/** A JSON object without the parts that are NULL. */
const object: Record<Engine, (parts: Record<string, string>) => string> = {
  sqlite: (parts) => `json_patch('{}', json_object(${pairs(parts)}))`,
  postgres: (parts) => `jsonb_strip_nulls(jsonb_build_object(${pairs(parts)}))`,
};

const pairs = (parts: Record<string, string>) =>
  Object.entries(parts)
    .map(([name, value]) => `'${name}', ${value}`)
    .join(", ");

const asText: Record<Engine, (json: string) => string> = {
  sqlite: (json) => json,
  postgres: (json) => `${json}::text`,
};

/** A noun's rows with the columns of `nodes`, as a subquery of that name. */
export const asNodes = (engine: Engine, noun: Noun, where: RawBuilder<unknown>): RawBuilder<unknown> => {
  const properties = object[engine](noun.properties);
  const data = engine === "postgres" ? `, ${properties} AS data` : "";
  return sql`(${raw(`SELECT 0 AS num, '${noun.type}:' || ${noun.key} AS id, '${noun.type}' AS type,
    ${noun.title} AS title, ${asText[engine](properties)} AS properties, ${noun.version} AS version,
    ${noun.createdAt} AS created_at, ${noun.updatedAt} AS updated_at, ${noun.createdBy} AS created_by,
    ${writtenUnderNothing}, ${noun.key} AS key ${data} FROM ${noun.from}`)} WHERE ${where}) AS nodes`;
};

const writtenUnderNothing =
  "NULL AS role, NULL AS run, NULL AS task, CAST(NULL AS BIGINT) AS epoch, CAST(NULL AS BIGINT) AS attempt";

/** A condition: the node with this id exists. `otherwise` covers ids without a noun. */
function existsNode(engine: Engine, id: string, otherwise: string): string {
  const prefix = { sqlite: `substr(${id}, 1, instr(${id}, ':'))`, postgres: `split_part(${id}, ':', 1) || ':'` };
  const cases = nouns.map((noun) => {
    const { from, key, whole = false }: NonNullable<Noun["exists"]> = noun.exists ?? { from: noun.from, key: noun.key };
    const wanted = whole ? id : `substr(${id}, ${noun.type.length + 2})`;
    return `WHEN '${noun.type}:' THEN EXISTS (SELECT 1 FROM ${from} WHERE ${key} = ${wanted})`;
  });
  return `CASE ${prefix[engine]} ${cases.join(" ")} ELSE ${otherwise} END`;
}

const isThere = (engine: Engine, id: string) =>
  existsNode(engine, id, `EXISTS (SELECT 1 FROM nodes own WHERE own.id = ${id})`);

/** Like `isThere`, but looks only into the noun's table when the noun is known. */
function isThereAt(engine: Engine, { noun, column }: End): string {
  const known = nouns.find(({ type }) => type === noun);
  if (!known) return isThere(engine, column);
  const { from, key } = known.exists ?? known;
  return `EXISTS (SELECT 1 FROM ${from} WHERE ${key} = ${column})`;
}

const idOf = ({ noun, column }: End) => (noun === undefined ? column : `'${noun}:' || ${column}`);

/** The keys of those `ids` that can be at this end. */
export function keysAt({ noun }: Pick<End, "noun">, ids: string[]): string[] {
  if (noun === undefined) return ids;
  const start = `${noun}:`;
  return ids.filter((id) => id.startsWith(start)).map((id) => id.slice(start.length));
}

/** True when a foreign key or the row itself guarantees that the end exists. */
const isSure = ({ types, to }: Tie) => types[0] === "depends_on" || to.noun === "run";

/** Node ids contain no ">", so the parts can be told apart. */
const edgeId = (tie: Tie) => `${idOf(tie.from)} || '>' || ${tie.type} || '>' || ${idOf(tie.to)}`;

/** One direction of a tie, seen from the nodes at its near end. Stream 0 has the graph's own edges. */
export type Side = {
  tie: Tie;
  direction: "out" | "in";
  near: End;
  far: End;
  stream: number;
  head: string;
  tail: Record<Engine, string>;
};

export const sides: Side[] = ties
  .flatMap((tie): [Tie, "out" | "in"][] => [
    [tie, "out"],
    [tie, "in"],
  ])
  .map(([tie, direction], at) => {
    const [near, far] = direction === "out" ? [tie.from, tie.to] : [tie.to, tie.from];
    const tail = (engine: Engine) =>
      `${tie.where ? `AND ${tie.where}` : ""} ${isSure(tie) ? "" : `AND ${isThereAt(engine, tie.to)}`}`;
    return {
      tie,
      direction,
      near,
      far,
      stream: at + 1,
      head: `SELECT ${at + 1} AS stream, 0 AS num, ${edgeId(tie)} AS id, ${tie.type} AS type, ${idOf(near)} AS near,
        ${idOf(far)} AS far, '${direction}' AS direction`,
      tail: { sqlite: tail("sqlite"), postgres: tail("postgres") },
    };
  });

type SideFilter = { near: string[]; far?: string[]; types: string[] | undefined; after?: string; limit: number };

/** The edges of a side at `near`; undefined when there cannot be any. */
export function sideSelect(engine: Engine, side: Side, filter: SideFilter): RawBuilder<unknown> | undefined {
  const { tie, near, far } = side;
  if (filter.types && !tie.types.some((type) => filter.types?.includes(type))) return undefined;
  const keys = keysAt(near, filter.near);
  if (keys.length === 0) return undefined;
  const farKeys = filter.far && keysAt(far, filter.far);
  if (farKeys?.length === 0) return undefined;
  const [after] = filter.after === undefined ? [] : keysAt(far, [filter.after]);
  const list = listOf[engine];
  return sideRows(engine, side, {
    near: list(keys),
    ...(farKeys ? { far: list(farKeys) } : {}),
    ...(filter.types ? { types: list(filter.types) } : {}),
    ...(after === undefined ? {} : { after }),
    limit: filter.limit,
  });
}

type SideKeys = { near: List; far?: List; types?: List; after?: string; limit: number };

/** The edges of a side with these keys at its ends, ordered by far end. */
export function sideRows(engine: Engine, side: Side, keys: SideKeys): RawBuilder<unknown> {
  const { tie, near, far, stream } = side;
  const rows = withTexts[engine](tie.table, near.column, keys.near);
  const beside = keys.far === undefined ? sql`` : sql`AND ${raw(far.column)} ${among[engine](keys.far)}`;
  const beyond = keys.after === undefined ? sql`` : sql`AND ${raw(far.column)} > ${keys.after}`;
  const ofType = keys.types === undefined ? sql`` : sql`AND ${raw(tie.type)} ${among[engine](keys.types)}`;
  return sql`SELECT * FROM (${raw(side.head)} ${rows} ${beside} ${beyond} ${ofType}
    ${raw(`${side.tail[engine]} ORDER BY ${far.column}`)} LIMIT ${keys.limit}) AS ${raw(`side${stream}`)}`;
}

/** The ties that an edge with this id can derive from. */
export function tiesOf(id: string): { tie: Tie; from: string; to: string; type: string }[] {
  const [from, type, to] = id.split(">");
  if (!from || !type || !to) return [];
  return ties
    .filter((tie) => tie.types.includes(type) && keysAt(tie.from, [from]).length + keysAt(tie.to, [to]).length === 2)
    .map((tie) => ({ tie, from, to, type }));
}

/** A tie's rows with the columns of `edges`: between two ends, or all. */
export function asEdges(engine: Engine, tie: Tie, ends?: { from: string; to: string }): RawBuilder<unknown> {
  const [from] = ends ? keysAt(tie.from, [ends.from]) : [];
  const [to] = ends ? keysAt(tie.to, [ends.to]) : [];
  const head = `SELECT 0 AS num, ${edgeId(tie)} AS id, ${tie.type} AS type, ${idOf(tie.from)} AS from_id,
    ${idOf(tie.to)} AS to_id, ${asText[engine](object[engine](tie.properties))} AS properties,
    ${tie.createdAt} AS created_at, ${tie.createdBy} AS created_by, ${writtenUnderNothing}
    FROM ${tie.table} WHERE ${isThereAt(engine, tie.to)} ${tie.where ? `AND ${tie.where}` : ""}`;
  const started = from === undefined ? sql`` : sql`AND ${raw(tie.from.column)} = ${from}`;
  const ended = to === undefined ? sql`` : sql`AND ${raw(tie.to.column)} = ${to}`;
  return sql`${raw(head)} ${started} ${ended}`;
}

/** Ids without a colon belong to own nodes, which cannot vanish while an edge refers to them. */
function isOwnOrThere(engine: Engine, id: string): string {
  const colon = { sqlite: `instr(${id}, ':')`, postgres: `strpos(${id}, ':')` };
  return `(${colon[engine]} = 0 OR ${existsNode(engine, id, "TRUE")})`;
}

/** Hides own edges whose end in another table no longer exists. */
const alive = (engine: Engine) => ({
  from: raw(isOwnOrThere(engine, "edges.from_id")),
  to: raw(isOwnOrThere(engine, "edges.to_id")),
});
export const isAlive: Record<Engine, ReturnType<typeof alive>> = {
  sqlite: alive("sqlite"),
  postgres: alive("postgres"),
};

/** Links in the text of entries whose target does not exist. */
export const brokenLinks = (engine: Engine, where: RawBuilder<unknown>, limit: number) => sql<{
  entry_id: string;
  to_id: string;
}>`SELECT l.entry_id, l.to_id FROM entry_links l JOIN sections s ON s.id = l.entry_id WHERE ${where} AND NOT ${raw(isThere(engine, "l.to_id"))}
   ORDER BY l.entry_id, l.to_id LIMIT ${limit}`;
