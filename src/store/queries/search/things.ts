import { sql } from "kysely";
import { among, type List, listOf, withTexts } from "../../lists.ts";
import { onEach } from "../../prepared.ts";
import { type Reader, type Scope, scoped } from "./scope.ts";

/** Reads things, which passages are parts of, and the links between them. Names are `kind:id`. */

export const isScopeEmpty = async (db: Reader, scope: Scope): Promise<boolean> =>
  (await selectAny(db, scope, {})).length === 0;

const selectAny = scoped<object, unknown>(
  (_engine, _slot, isInside) => sql`SELECT 1 FROM things t WHERE ${isInside} LIMIT 1`,
);

export async function thingsInScope(db: Reader, scope: Scope): Promise<Set<number>> {
  return new Set((await selectThings(db, scope, {})).map((row) => row.num));
}

const selectThings = scoped<object, { num: number }>(
  (_engine, _slot, isInside) => sql`SELECT t.num FROM things t WHERE ${isInside}`,
);

/** Those of the named things that are outside the scope. */
export const thingsOutsideScope = (
  db: Reader,
  scope: Scope,
  names: string[],
): Promise<{ kind: string; id: string }[]> => selectOutside(db, scope, { names: listOf[db.engine](names) });

const selectOutside = scoped<{ names: List }, { kind: string; id: string }>(
  (engine, slot, isInside) => sql`
    SELECT t.kind, t.id FROM ${kindsAndIds[engine](slot("names"))} JOIN things t ON t.kind = w.kind AND t.id = w.id
    WHERE NOT (${isInside})`,
);

/** The passages of the named things, in the order of the text. */
export const passagesOfThings = (
  db: Reader,
  scope: Scope,
  names: string[],
): Promise<{ name: string; num: number; line: number }[]> =>
  selectPassagesOf(db, scope, { names: listOf[db.engine](names) });

const selectPassagesOf = scoped<{ names: List }, { name: string; num: number; line: number }>(
  (engine, slot, isInside) => sql`
    SELECT w.kind || ':' || w.id AS name, p.num, p.line
    FROM ${kindsAndIds[engine](slot("names"))} JOIN things t ON t.kind = w.kind AND t.id = w.id JOIN passages p ON p.thing = t.num
    WHERE ${isInside} ORDER BY t.num, p.part`,
);

/** Names as rows of kind and id. */
const kindsAndIds = {
  sqlite: (names: List) => sql`(
    SELECT substr(value, 1, instr(value, ':') - 1) AS kind, substr(value, instr(value, ':') + 1) AS id
    FROM json_each(${names})) AS w`,
  postgres: (names: List) => sql`(
    SELECT split_part(name, ':', 1) AS kind, substr(name, strpos(name, ':') + 1) AS id
    FROM unnest(${names}::text[]) AS u (name)) AS w`,
};

/** For each link target, the number of passages that link to it. */
export async function countLinksTo(db: Reader, targets: string[]): Promise<Map<string, number>> {
  const rows = await selectLinkCounts[db.engine](db.read, { targets: listOf[db.engine](targets) });
  return new Map(rows.map((row) => [row.target, Number(row.count)]));
}

const selectLinkCounts = onEach<{ targets: List }, { target: string; count: number }>(
  (engine, slot) => sql`
    SELECT target, count(*) AS count ${withTexts[engine]("passage_links", "target", slot("targets"))} GROUP BY target`,
);

/** Links in the texts of these things to others of them. Ids are as in the graph: a node's has no `node:`. */
export const textLinksAmong = (db: Reader, ids: string[]): Promise<{ from: string; type: string; to: string }[]> =>
  selectTextLinks[db.engine](db.read, { ids: listOf[db.engine](ids) });

const selectTextLinks = onEach<{ ids: List }, { from: string; type: string; to: string }>((engine, slot) => {
  const isListed = among[engine](slot("ids"));
  return sql`
    SELECT DISTINCT CASE t.kind WHEN 'node' THEN t.id ELSE t.kind || ':' || t.id END AS "from", 'links_to' AS type, l.target AS "to"
    FROM passage_links l JOIN passages p ON p.num = l.passage JOIN things t ON t.num = p.thing
    WHERE l.target ${isListed} AND (t.kind || ':' || t.id ${isListed} OR (t.kind = 'node' AND t.id ${isListed})) LIMIT 100`;
});
