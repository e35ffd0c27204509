import { type RawBuilder, sql } from "kysely";
import type { Database, Query } from "../store/database.ts";
import { markEnd, markStart, passage } from "./passage.ts";

export type Hit = { id: string; title: string; score: number; snippet: string };

/** What is searched: a table of things by number, and the table of their texts. */
type Searched = { things: "entries" | "nodes" | "tasks"; texts: "entry_text" | "node_text" | "task_text" };

/** More matches than this are not told apart by rank: a word that is in every text must not cost the most. */
const candidates = 1000;

/** The best hits among the things `e` of which `keep` is true. */
export async function rank(
  db: Database,
  searched: Searched,
  terms: string[],
  keep: RawBuilder<unknown>,
  limit: number,
): Promise<Hit[]> {
  if (terms.length === 0) return [];
  return ranked[db.engine](db.read, searched, terms, keep, limit);
}

/**
 * The two engines side by side: any term may match, the last one also as the beginning of a word.
 * Snippets are made for the best hits only; they cost more than ranking.
 */
const ranked = {
  async sqlite(query: Query, searched: Searched, terms: string[], keep: RawBuilder<unknown>, limit: number) {
    const things = sql.table(searched.things);
    const texts = sql.table(searched.texts);
    const last = terms.length - 1;
    const match = terms.map((term, i) => (i === last ? `"${term}" OR "${term}"*` : `"${term}"`)).join(" OR ");
    const found = await sql<Hit>`
      WITH best AS MATERIALIZED (
        SELECT ${texts}.rowid AS num, e.id, -bm25(${texts}, 4.0, 1.0) AS score
        FROM ${texts} JOIN ${things} e ON e.num = ${texts}.rowid
        WHERE ${texts} MATCH ${match} AND ${keep}
        ORDER BY bm25(${texts}, 4.0, 1.0), e.id LIMIT ${limit}
      )
      SELECT best.id, coalesce(nullif(${texts}.title, ''), best.id) AS title, best.score,
             highlight(${texts}, 1, ${markStart}, ${markEnd}) AS snippet
      FROM best JOIN ${texts} ON ${texts}.rowid = best.num
      WHERE ${texts} MATCH ${match} ORDER BY best.score DESC, best.id`.execute(query);
    // FTS5's own snippet() compares every match with every other: a word said 16,000 times takes it half a minute.
    return found.rows.map((hit) => ({ ...hit, snippet: passage(hit.snippet) }));
  },
  async postgres(query: Query, searched: Searched, terms: string[], keep: RawBuilder<unknown>, limit: number) {
    const things = sql.table(searched.things);
    const texts = sql.table(searched.texts);
    const last = terms.length - 1;
    const match = terms.map((term, i) => (i === last ? `'${term}':*` : `'${term}'`)).join(" | ");
    const options = `StartSel=${markStart}, StopSel=${markEnd}, MaxWords=28, MinWords=12, MaxFragments=1, FragmentDelimiter=…`;
    const found = await sql<Hit>`
      WITH asked AS MATERIALIZED (SELECT to_tsquery('english', ${match}) AS q),
      chosen AS MATERIALIZED (
        SELECT t.rowid AS num, e.id, t.words FROM asked, ${texts} t JOIN ${things} e ON e.num = t.rowid
        WHERE t.words @@ asked.q AND ${keep}
        LIMIT ${candidates}
      ),
      best AS MATERIALIZED (
        SELECT num, id, ts_rank(words, asked.q, 1) AS score FROM chosen, asked ORDER BY score DESC, id LIMIT ${limit}
      )
      SELECT best.id, coalesce(nullif(t.title, ''), best.id) AS title, best.score,
             ts_headline('english', left(t.body, 20000), asked.q, ${options}) AS snippet
      FROM asked, best JOIN ${texts} t ON t.rowid = best.num ORDER BY best.score DESC, best.id`.execute(query);
    return found.rows;
  },
};

/** A hit as every face shows it: « » around what matched, and a score without noise. */
export const readable = <T extends Hit>(hit: T): T => ({
  ...hit,
  score: Math.round(hit.score * 1000) / 1000,
  snippet: hit.snippet.replaceAll(markStart, "«").replaceAll(markEnd, "»"),
});
