import { sql } from "kysely";
import type { Database, Query } from "../store/database.ts";
import { type Scope, within } from "./scope.ts";
import { stem } from "./stem.ts";

/** A passage by number, and how well it fits. */
export type Scored = { num: number; score: number };

/** How much a word counts in a title or heading, in the text, and in what stands around it. */
export const fieldWeights = { title: 1, body: 1, near: 0.4 };

/** The rarest words decide which passages are ranked by all of them: as many words as find this many passages. */
const candidates = 1500;
/** A word in more passages than this is left out beside rarer ones: ranking them all would cost more than it tells. */
const common = 4000;
/** When only such words are asked for, this many of the newest passages are ranked. */
const ranked = 6000;

/** In how many passages each word is, up to a bound. */
export const countsOf = async (db: Database, terms: string[]): Promise<number[]> =>
  terms.length === 0 ? [] : counts[db.engine](db.read, terms);

/** Words, and in how many passages each is. */
export type Counted = { terms: string[]; counts: number[] };

/** The best passages for these words by BM25; any may match, the last one also as the beginning of a word. */
export async function lexical(
  db: Database,
  { terms, counts }: Counted,
  scope: Scope,
  limit: number,
): Promise<Scored[]> {
  if (terms.length === 0 || scope.kinds.length === 0) return [];
  const all = terms.map((term, at) => ({ term, count: counts[at] ?? 0 }));
  const rare = all.filter(({ count }) => count < common);
  const chosen = rare.some(({ count }) => count > 0) ? rare : all.slice(-4);
  return rank[db.engine](
    db.read,
    chosen.map(({ term }) => term),
    chosen.map(({ count }) => count),
    scope,
    limit,
  );
}

const prefixLength = 3;

const counts = {
  async sqlite(query: Query, terms: string[]): Promise<number[]> {
    const rows = await sql<{ n: number }>`
      SELECT (SELECT count(*) FROM (SELECT 1 FROM passage_text WHERE passage_text MATCH q.value LIMIT ${sql.lit(common)})) AS n
      FROM json_each(${JSON.stringify(terms.map(quoted))}) q ORDER BY q.key`.execute(query);
    return rows.rows.map((row) => row.n);
  },
  async postgres(query: Query, terms: string[]): Promise<number[]> {
    const rows = await sql<{ n: number }>`
      SELECT (SELECT count(*) FROM passage_text WHERE words @@ q.word::tsquery) AS n
      FROM unnest(${terms.map((term) => `'${stem(term)}'`)}::text[]) WITH ORDINALITY AS q (word, at) ORDER BY q.at`.execute(
      query,
    );
    return rows.rows.map((row) => Number(row.n));
  },
};

const quoted = (term: string) => `"${term}"`;

/** The two engines side by side. SQLite has BM25; for PostgreSQL we reckon it from what ts_rank tells. */
const rank = {
  async sqlite(query: Query, terms: string[], _found: number[], scope: Scope, limit: number): Promise<Scored[]> {
    const last = terms.at(-1) ?? "";
    const match = [...terms.map(quoted), ...(last.length >= prefixLength ? [`"${last}"*`] : [])].join(" OR ");
    // Looking up what each match belongs to takes as long as ranking it. Mostly the best are all in
    // the scope; when too few of them are, everything outside it is left out first.
    const wide = limit * 2;
    const best = await bestOf(query, match, wide);
    const kept = await inScope(query, best, scope);
    if (kept.length >= limit || best.length < wide) return kept.slice(0, limit);
    return bestOf(query, match, limit, scope);
  },
  async postgres(query: Query, terms: string[], found: number[], scope: Scope, limit: number): Promise<Scored[]> {
    const {
      rows: [all],
    } = await totals.execute(query);
    const count = Math.max(1, Number(all?.count ?? 1));
    const average = Math.max(1, Number(all?.average ?? 1));
    const stems = terms.map(stem);
    const last = stems.at(-1) ?? "";
    const any = [
      ...rarest(stems, found).map((word) => `'${word}'`),
      ...(last.length >= prefixLength ? [`'${last}':*`] : []),
    ];
    const idf = terms.map((_, at) =>
      Math.max(1e-6, Math.log((count - (found[at] ?? 0) + 0.5) / ((found[at] ?? 0) + 0.5))),
    );
    const words =
      last.length >= prefixLength
        ? [...stems.map((word) => `'${word}'`), `'${last}':*`]
        : stems.map((word) => `'${word}'`);
    const weights = last.length >= prefixLength ? [...idf, 1e-6] : idf;
    const { near } = fieldWeights;
    const { rows } = await sql<Scored>`
      WITH asked AS MATERIALIZED (
        SELECT word::tsquery AS q, weight FROM unnest(${words}::text[], ${weights}::float8[]) AS a (word, weight)
      ),
      chosen AS MATERIALIZED (
        SELECT x.rowid AS num, x.words, x.length FROM passage_text x
        JOIN passages p ON p.num = x.rowid JOIN things t ON t.num = p.thing
        WHERE x.words @@ ${any.join(" | ")}::tsquery AND ${within("postgres", scope)}
        ORDER BY x.rowid DESC LIMIT ${sql.lit(ranked)}
      ),
      parts AS (
        SELECT c.num, c.length, a.weight,
               least(ts_rank(${`{0,${near},1,1}`}::float4[], c.words, a.q), 0.985)::float8 AS f
        FROM chosen c, asked a
      )
      SELECT num, sum(weight * (2.2 * tf) / (tf + 1.2 * (0.25 + 0.75 * length / ${average}::float8))) AS score
      FROM (SELECT num, length, weight, 0.645 * f / (1 - f) AS tf FROM parts WHERE f > 0) AS reckoned
      GROUP BY num ORDER BY score DESC, num LIMIT ${limit}`.execute(query);
    return rows;
  },
};

async function bestOf(query: Query, match: string, limit: number, scope?: Scope): Promise<Scored[]> {
  const { title, body, near } = fieldWeights;
  const score = sql`bm25(passage_text, ${sql.lit(title)}, ${sql.lit(body)}, ${sql.lit(near)})`;
  const inside = scope
    ? sql`AND EXISTS (SELECT 1 FROM passages p JOIN things t ON t.num = p.thing
                      WHERE p.num = passage_text.rowid AND ${within("sqlite", scope)})`
    : sql``;
  const { rows } = await sql<Scored>`
    SELECT num, -s AS score FROM (
      SELECT rowid AS num, ${score} AS s FROM passage_text
      WHERE passage_text MATCH ${match} ${inside} ORDER BY rowid DESC LIMIT ${sql.lit(ranked)}
    ) ORDER BY s, num LIMIT ${limit}`.execute(query);
  return rows;
}

async function inScope(query: Query, hits: Scored[], scope: Scope): Promise<Scored[]> {
  const { rows } = await sql<{ num: number }>`
    SELECT p.num FROM passages p JOIN things t ON t.num = p.thing
    WHERE p.num IN (SELECT value FROM json_each(${JSON.stringify(hits.map((hit) => hit.num))})) AND ${within("sqlite", scope)}`.execute(
    query,
  );
  const inside = new Set(rows.map((row) => row.num));
  return hits.filter((hit) => inside.has(hit.num));
}

function rarest(terms: string[], found: number[]): string[] {
  const order = terms.map((term, at) => ({ term, count: found[at] ?? 0 })).sort((a, b) => a.count - b.count);
  let sum = 0;
  return order
    .filter(({ count }, at) => {
      sum += count;
      return at === 0 || sum <= candidates;
    })
    .map(({ term }) => term);
}

const totals = sql<{
  count: number;
  average: number;
}>`SELECT count(*) AS count, avg(length) AS average FROM passage_text`;
