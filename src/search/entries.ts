import { sql } from "kysely";
import type { Database, Query } from "../store/database.ts";
import { lockEntry } from "../store/entries.ts";
import { searchTerms } from "./terms.ts";

/** Marks around what matched, for faces to turn into their own. */
export const markStart = "\u0001";
export const markEnd = "\u0002";

export type Hit = { id: string; title: string; score: number; snippet: string };

type Text = { title: string; body: string };

/** Full text over entries. Vectors and links will join here as further lists of hits to weigh together. */
export function entrySearch(db: Database, textOf: (id: string) => Promise<Text>) {
  /** Indexing happens behind writes: an append to a long log must not pay for reading it all again. */
  async function catchUp(): Promise<number> {
    const stale = await db.read
      .selectFrom("entries")
      .select(["num", "id", "version"])
      .whereRef("indexed", "<", "version")
      .limit(500)
      .execute();
    const texts = await Promise.all(stale.map(({ id }) => textOf(id)));
    if (stale.length === 0) return 0;
    await db.write(async (tx) => {
      await lockEntry(tx, db.engine, "(search)");
      for (const [index, { num, version }] of stale.entries()) {
        const text = texts[index] as Text;
        await tx.deleteFrom("entry_text").where("rowid", "=", num).execute();
        await tx
          .insertInto("entry_text")
          .values({ rowid: num, ...text })
          .execute();
        await tx.updateTable("entries").set({ indexed: version }).where("num", "=", num).execute();
      }
    });
    return stale.length;
  }

  return {
    catchUp,
    async search(query: string, options: { limit: number; section?: string }): Promise<Hit[]> {
      while ((await catchUp()) > 0);
      const terms = searchTerms(query);
      if (terms.length === 0) return [];
      const under = options.section ?? "";
      return rank[db.engine](db.read, terms, under, options.limit);
    },
  };
}

/** More matches than this are not told apart by rank: a word that is in every entry must not cost the most. */
const candidates = 1000;

/**
 * The two engines side by side: any term may match, the last one also as the beginning of a word.
 * Snippets are made for the best hits only; they cost more than ranking.
 */
const rank = {
  async sqlite(query: Query, terms: string[], under: string, limit: number): Promise<Hit[]> {
    const last = terms.length - 1;
    const match = terms.map((term, i) => (i === last ? `"${term}" OR "${term}"*` : `"${term}"`)).join(" OR ");
    const found = await sql<Hit>`
      WITH best AS MATERIALIZED (
        SELECT entry_text.rowid AS num, e.id, -bm25(entry_text, 4.0, 1.0) AS score
        FROM entry_text JOIN entries e ON e.num = entry_text.rowid
        WHERE entry_text MATCH ${match}
          AND (${under} = '' OR e.id = ${under} OR substr(e.id, 1, length(${under}) + 1) = ${under} || '/')
        ORDER BY bm25(entry_text, 4.0, 1.0), e.id LIMIT ${limit}
      )
      SELECT best.id, coalesce(nullif(entry_text.title, ''), best.id) AS title, best.score,
             snippet(entry_text, 1, ${markStart}, ${markEnd}, '…', 24) AS snippet
      FROM best JOIN entry_text ON entry_text.rowid = best.num
      WHERE entry_text MATCH ${match} ORDER BY best.score DESC, best.id`.execute(query);
    return found.rows;
  },
  async postgres(query: Query, terms: string[], under: string, limit: number): Promise<Hit[]> {
    const last = terms.length - 1;
    const match = terms.map((term, i) => (i === last ? `'${term}':*` : `'${term}'`)).join(" | ");
    const options = `StartSel=${markStart}, StopSel=${markEnd}, MaxWords=28, MinWords=12, MaxFragments=1, FragmentDelimiter=…`;
    const found = await sql<Hit>`
      WITH asked AS MATERIALIZED (SELECT to_tsquery('english', ${match}) AS q),
      chosen AS MATERIALIZED (
        SELECT t.rowid AS num, e.id, t.words FROM asked, entry_text t JOIN entries e ON e.num = t.rowid
        WHERE t.words @@ asked.q AND (${under} = '' OR e.id = ${under} OR starts_with(e.id, ${under} || '/'))
        LIMIT ${candidates}
      ),
      best AS MATERIALIZED (
        SELECT num, id, ts_rank(words, asked.q, 1) AS score FROM chosen, asked ORDER BY score DESC, id LIMIT ${limit}
      )
      SELECT best.id, coalesce(nullif(t.title, ''), best.id) AS title, best.score,
             ts_headline('english', left(t.body, 20000), asked.q, ${options}) AS snippet
      FROM asked, best JOIN entry_text t ON t.rowid = best.num ORDER BY best.score DESC, best.id`.execute(query);
    return found.rows;
  },
};
