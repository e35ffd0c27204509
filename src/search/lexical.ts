import { sql } from "kysely";
import type { Database, Query } from "../store/database.ts";
import { amongNumbers } from "./lists.ts";
import { type Scope, within } from "./scope.ts";
import { stem } from "./stem.ts";
import { decoding, fieldWeights, labelWeights } from "./words.ts";

/** A passage by number, and how well it fits. */
export type Scored = { num: number; score: number };

/** A word to look for, and in how many passages it is, up to `counted`. */
export type Term = { word: string; count: number; begun?: boolean };

/** Nobody needs to know more exactly how common a common word is. */
const counted = 20_000;
/** The rarest words choose what is ranked: as many of them as are in so many passages together. */
const candidates = { sqlite: 12_000, postgres: 4000 };
const prefixLength = 3;

/** In how many passages each word is. The last one, if no text has it, is taken as the beginning of a word. */
export async function countTerms(db: Database, words: string[]): Promise<Term[]> {
  if (words.length === 0) return [];
  const counts = await count[db.engine](db.read, words.map(spell[db.engine].whole));
  const terms: Term[] = words.map((word, at) => ({ word, count: counts[at] ?? 0 }));
  const last = terms.at(-1);
  if (!last || last.count > 0 || last.word.length < prefixLength) return terms;
  const [begun = 0] = await count[db.engine](db.read, [spell[db.engine].begun(last.word)]);
  return begun === 0 ? terms : [...terms.slice(0, -1), { word: last.word, count: begun, begun: true }];
}

/** The best passages for these words by BM25; any may match. */
export async function lexical(db: Database, terms: Term[], scope: Scope, limit: number): Promise<Scored[]> {
  const found = terms.filter((term) => term.count > 0);
  if (found.length === 0 || scope.kinds.length === 0) return [];
  return rank[db.engine](db.read, found, scope, limit);
}

/** The rarest words, as many as are in few enough passages together; at least one. */
function rarest(terms: Term[], most: number): Term[] {
  let sum = 0;
  return [...terms]
    .sort((a, b) => a.count - b.count)
    .filter(({ count }, at) => {
      sum += count;
      return at === 0 || sum <= most;
    });
}

/** Words are letters and digits only, see terms.ts: nothing in them needs escaping. */
const spell = {
  sqlite: { whole: (word: string) => `"${word}"`, begun: (word: string) => `"${word}"*` },
  postgres: { whole: (word: string) => `'${stem(word)}'`, begun: (word: string) => `'${stem(word)}':*` },
};
const spelled = (engine: Database["engine"], { word, begun }: Term) => spell[engine][begun ? "begun" : "whole"](word);

const count = {
  async sqlite(query: Query, words: string[]): Promise<number[]> {
    const { rows } = await sql<{ n: number }>`
      SELECT (SELECT count(*) FROM (SELECT 1 FROM passage_text WHERE passage_text MATCH q.value LIMIT ${sql.lit(counted)})) AS n
      FROM json_each(${JSON.stringify(words)}) q ORDER BY q.key`.execute(query);
    return rows.map((row) => row.n);
  },
  async postgres(query: Query, words: string[]): Promise<number[]> {
    const { rows } = await sql<{ n: number }>`
      SELECT (SELECT count(*) FROM (SELECT 1 FROM passage_text WHERE words @@ q.word::tsquery LIMIT ${sql.lit(counted)}) AS f) AS n
      FROM unnest(${words}::text[]) WITH ORDINALITY AS q (word, at) ORDER BY q.at`.execute(query);
    return rows.map((row) => Number(row.n));
  },
};

/** The two engines side by side. SQLite has BM25; for PostgreSQL we reckon it from what ts_rank tells of each word. */
const rank = {
  async sqlite(query: Query, terms: Term[], scope: Scope, limit: number): Promise<Scored[]> {
    const match = rarest(terms, candidates.sqlite)
      .map((term) => spelled("sqlite", term))
      .join(" OR ");
    // Looking up what each match belongs to takes as long as ranking it. Mostly the best are all in
    // the scope; when too few of them are, everything outside it is left out first.
    const wide = limit * 2;
    const best = await bestOf(query, match, wide);
    const kept = await inScope(query, best, scope);
    if (kept.length >= limit || best.length < wide) return kept.slice(0, limit);
    return bestOf(query, match, limit, scope);
  },
  async postgres(query: Query, terms: Term[], scope: Scope, limit: number): Promise<Scored[]> {
    const {
      rows: [all],
    } = await totals.execute(query);
    const passages = Math.max(1, Number(all?.count ?? 1));
    const average = Math.max(1, Number(all?.average ?? 1));
    const any = rarest(terms, candidates.postgres).map((term) => spelled("postgres", term));
    const weights = terms.map(({ count }) => Math.max(1e-6, Math.log((passages - count + 0.5) / (count + 0.5))));
    const { rows } = await sql<Scored>`
      WITH asked AS MATERIALIZED (
        SELECT word::tsquery AS q, weight
        FROM unnest(${terms.map((term) => spelled("postgres", term))}::text[], ${weights}::float8[]) AS a (word, weight)
      ),
      chosen AS MATERIALIZED (
        SELECT x.rowid AS num, x.words, x.length FROM passage_text x
        JOIN passages p ON p.num = x.rowid JOIN things t ON t.num = p.thing
        WHERE x.words @@ ${any.join(" | ")}::tsquery AND ${within("postgres", scope)}
      ),
      parts AS (
        SELECT c.num, c.length, a.weight, (${decoding.frequencies}::float8[])[
          width_bucket(ts_rank(${labelWeights}::float4[], c.words, a.q)::float8, ${decoding.bounds}::float8[])] AS tf
        FROM chosen c, asked a
      )
      SELECT num, sum(weight * (2.2 * tf) / (tf + 1.2 * (0.25 + 0.75 * length / ${average}::float8))) AS score
      FROM parts WHERE tf IS NOT NULL GROUP BY num ORDER BY score DESC, num LIMIT ${limit}`.execute(query);
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
      SELECT rowid AS num, ${score} AS s FROM passage_text WHERE passage_text MATCH ${match} ${inside}
    ) ORDER BY s, num LIMIT ${limit}`.execute(query);
  return rows;
}

async function inScope(query: Query, hits: Scored[], scope: Scope): Promise<Scored[]> {
  const nums = hits.map((hit) => hit.num);
  const { rows } = await sql<{ num: number }>`
    SELECT p.num FROM passages p JOIN things t ON t.num = p.thing
    WHERE p.num ${amongNumbers("sqlite", nums)} AND ${within("sqlite", scope)}`.execute(query);
  const inside = new Set(rows.map((row) => row.num));
  return hits.filter((hit) => inside.has(hit.num));
}

const totals = sql<{
  count: number;
  average: number;
}>`SELECT count(*) AS count, avg(length) AS average FROM passage_text`;
