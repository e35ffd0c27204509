import { sql } from "kysely";
import type { Database, Query } from "../store/database.ts";
import { amongNumbers } from "./lists.ts";
import { type Scope, within } from "./scope.ts";
import { stem } from "./stem.ts";
import { fieldWeights, rankLevels } from "./words.ts";

/** A passage by number, and how well it fits. */
export type Scored = { num: number; score: number };

/** A word to look for, and in how many passages it is, up to `counted`. */
export type Term = { word: string; count: number; begun?: boolean };

/** Nobody needs to know more exactly how common a common word is. */
const counted = 8000;
/** The rarest words choose what is ranked: as many of them as are in so many passages together. */
const candidates = { sqlite: 8000, postgres: 4000 };
const prefixLength = 3;

/** Some of the best, within a scope. */
export type Share = { scope: Scope; limit: number };

/** Passages by their words, on either engine. */
export function wordIndex(db: Database) {
  const totalNow = totals(db);

  async function bestIn({ scope, limit }: Share, best: Scored[], isAll: boolean, again: Again): Promise<Scored[]> {
    if (scope.kinds.length === 0) return [];
    const kept = await inScope(db, best, scope);
    if (kept.length >= limit || isAll || !(await isAnything(db, scope))) return kept.slice(0, limit);
    return again(limit, scope);
  }

  return {
    /** In how many passages each word is. The last one, if no text has it, is taken as the beginning of a word. */
    async count(words: string[]): Promise<Term[]> {
      if (words.length === 0) return [];
      const counts = await count[db.engine](db.read, words.map(spell[db.engine].whole));
      const terms: Term[] = words.map((word, at) => ({ word, count: counts[at] ?? 0 }));
      const last = terms.at(-1);
      if (!last || last.count > 0 || last.word.length < prefixLength) return terms;
      const [begun = 0] = await count[db.engine](db.read, [spell[db.engine].begun(last.word)]);
      return begun === 0 ? terms : [...terms.slice(0, -1), { word: last.word, count: begun, begun: true }];
    },

    /**
     * The best passages for these words by BM25, any of which may match: some for each scope. Looking
     * up what each match belongs to takes as long as ranking it, and mostly the best are in the scope;
     * only when too few of them are, everything outside it is left out first.
     */
    async best(terms: Term[], shares: Share[]): Promise<Scored[][]> {
      const { passages, length } = await totalNow();
      const found = telling(terms, passages);
      if (found.length === 0) return shares.map(() => []);
      const again: Again = (limit, scope) => rank[db.engine](db.read, found, { passages, length }, limit, scope);
      const wide = 2 * Math.max(...shares.map(({ limit }) => limit));
      const best = await again(wide);
      return Promise.all(shares.map((share) => bestIn(share, best, best.length < wide, again)));
    },
  };
}

export type WordIndex = ReturnType<typeof wordIndex>;
type Again = (limit: number, scope?: Scope) => Promise<Scored[]>;

/** What is in more than half of the passages tells nothing by BM25, what is in very many little, and ranking them costs the most. */
function telling(terms: Term[], passages: number): Term[] {
  const found = terms.filter((term) => term.count > 0);
  const some = found.filter((term) => term.count < counted && term.count * 2 <= passages);
  return some.length > 0 ? some : rarest(found, 0);
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

type Total = { passages: number; length: number };

/** The two engines side by side. SQLite has BM25; for PostgreSQL we reckon it from what ts_rank tells of each word. */
const rank = {
  async sqlite(query: Query, terms: Term[], _total: Total, limit: number, scope?: Scope): Promise<Scored[]> {
    const { title, body, near } = fieldWeights;
    const match = rarest(terms, candidates.sqlite).map((term) => spelled("sqlite", term));
    const { rows } = await sql<Scored>`
      SELECT num, -s AS score FROM (
        SELECT rowid AS num, bm25(passage_text, ${sql.lit(title)}, ${sql.lit(body)}, ${sql.lit(near)}) AS s
        FROM passage_text WHERE passage_text MATCH ${match.join(" OR ")} ${inside("sqlite", scope)}
      ) ORDER BY s, num LIMIT ${limit}`.execute(query);
    return rows;
  },
  async postgres(query: Query, terms: Term[], { passages, length }: Total, limit: number, scope?: Scope) {
    const match = rarest(terms, candidates.postgres).map((term) => spelled("postgres", term));
    const parts = terms.map((term) => {
      const idf = Math.max(1e-6, Math.log((passages - term.count + 0.5) / (term.count + 0.5)));
      const level = sql`width_bucket(ts_rank(${labelWeights}, words, ${spelled("postgres", term)}::tsquery)::float8, ${bounds})`;
      return sql`coalesce(${idf * 2.2}::float8 / (1 + k * (${inverses})[${level}]), 0)`;
    });
    const { rows } = await sql<Scored>`
      SELECT num, ${sql.join(parts, sql` + `)} AS score FROM (
        SELECT rowid AS num, words, 1.2 * (0.25::float8 + 0.75 * length::float8 / ${length}::float8) AS k
        FROM passage_text WHERE words @@ ${match.join(" | ")}::tsquery ${inside("postgres", scope)}
      ) AS chosen ORDER BY score DESC, num LIMIT ${limit}`.execute(query);
    return rows;
  },
};

const listed = (numbers: number[], type: string) => sql.raw(`'{${numbers.join(",")}}'::${type}[]`);
const labelWeights = listed(rankLevels.labelWeights, "float4");
const bounds = listed(rankLevels.bounds, "float8");
const inverses = listed(
  rankLevels.frequencies.map((frequency) => 1 / frequency),
  "float8",
);

const inside = (engine: Database["engine"], scope: Scope | undefined) =>
  scope
    ? sql`AND EXISTS (SELECT 1 FROM passages p JOIN things t ON t.num = p.thing
                      WHERE p.num = passage_text.rowid AND ${within(engine, scope)})`
    : sql``;

async function inScope(db: Database, hits: Scored[], scope: Scope): Promise<Scored[]> {
  const nums = hits.map((hit) => hit.num);
  const { rows } = await sql<{ num: number }>`
    SELECT p.num FROM passages p JOIN things t ON t.num = p.thing
    WHERE p.num ${amongNumbers(db.engine, nums)} AND ${within(db.engine, scope)}`.execute(db.read);
  const kept = new Set(rows.map((row) => row.num));
  return hits.filter((hit) => kept.has(hit.num));
}

async function isAnything(db: Database, scope: Scope): Promise<boolean> {
  const { rows } = await sql`SELECT 1 FROM things t WHERE ${within(db.engine, scope)} LIMIT 1`.execute(db.read);
  return rows.length > 0;
}

const totalMs = 10_000;

/** How many passages there are and how long they are: counting them takes a while, and what it was a moment ago will do. */
function totals(db: Database): () => Promise<Total> {
  let known: Total | undefined;
  let at = 0;
  return async () => {
    if (known && Date.now() - at < totalMs) return known;
    known = await total[db.engine](db.read);
    at = Date.now();
    return known;
  };
}

const total = {
  async sqlite(query: Query): Promise<Total> {
    const { rows } = await sql<{ passages: number }>`SELECT count(*) AS passages FROM passages`.execute(query);
    return { passages: rows[0]?.passages ?? 0, length: 1 };
  },
  async postgres(query: Query): Promise<Total> {
    const { rows } = await sql<{ passages: number; length: number | null }>`
      SELECT count(*) AS passages, avg(length)::float8 AS length FROM passage_text`.execute(query);
    return { passages: Number(rows[0]?.passages ?? 0), length: Math.max(1, rows[0]?.length ?? 1) };
  },
};
