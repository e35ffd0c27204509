import { sql } from "kysely";
import type { Database, Query } from "../../store/database.ts";
import { type Scope, within } from "../scope.ts";
import { stem } from "../stem.ts";
import { fieldWeights, rankLevels } from "../words.ts";
import type { Choice, Limits, Term } from "./choose.ts";

type Engine = Database["engine"];

/** A passage by number, and how well it fits. */
export type Scored = { num: number; score: number };

/** What is known of all passages together. */
export type Total = {
  passages: number;
  /** How many words they have in the mean. */
  length: number;
  /** The number of the newest. */
  last: number;
  /** Words that the engine itself knows to be common, as it spells them, and about how common. */
  common: Map<string, number>;
};

/** PostgreSQL has to visit every passage that it ranks, which takes it longer. */
export const limits: Record<Engine, Limits> = {
  sqlite: { chosen: 1000, ranked: 8000 },
  postgres: { chosen: 1000, ranked: 2000 },
};

/** Words are letters and digits only, see terms.ts: nothing in them needs escaping. */
const spell = {
  sqlite: { whole: (word: string) => `"${word}"`, begun: (word: string) => `"${word}"*` },
  postgres: { whole: (word: string) => `'${stem(word)}'`, begun: (word: string) => `'${stem(word)}':*` },
};
export const spelled = (engine: Engine, { word, begun }: Pick<Term, "word" | "begun">) =>
  spell[engine][begun ? "begun" : "whole"](word);

/** In how many passages each is. PostgreSQL visits them for it, and counts no further than it has to know. */
export const count = {
  async sqlite(query: Query, words: string[]): Promise<number[]> {
    const { rows } = await sql<{ n: number }>`
      SELECT (SELECT count(*) FROM passage_text WHERE passage_text MATCH q.value) AS n
      FROM json_each(${JSON.stringify(words)}) q ORDER BY q.key`.execute(query);
    return rows.map((row) => row.n);
  },
  async postgres(query: Query, words: string[]): Promise<number[]> {
    const { rows } = await sql<{ n: number }>`
      SELECT (SELECT count(*) FROM (SELECT 1 FROM passage_text WHERE words @@ q.word::tsquery LIMIT ${sql.lit(2 * limits.postgres.ranked)}) AS f) AS n
      FROM unnest(${words}::text[]) WITH ORDINALITY AS q (word, at) ORDER BY q.at`.execute(query);
    return rows.map((row) => Number(row.n));
  },
};

/** The two engines side by side. SQLite has BM25; for PostgreSQL we reckon it from what ts_rank tells of each word. */
export const rank = {
  /**
   * BM25 is a sum over the words of the query, so that what has words of both kinds gets its whole score from
   * the narrower query, and what has only the rare ones from the wider.
   */
  async sqlite(query: Query, choice: Choice, _total: Total, limit: number, scope?: Scope): Promise<Scored[]> {
    const { title, body, near } = fieldWeights;
    const select = (match: string) => sql`
      SELECT num, s FROM (
        SELECT rowid AS num, bm25(passage_text, ${sql.lit(title)}, ${sql.lit(body)}, ${sql.lit(near)}) AS s
        FROM passage_text WHERE passage_text MATCH ${match} ${inside("sqlite", scope)}
        ORDER BY rowid DESC LIMIT ${sql.lit(limits.sqlite.ranked)})`;
    const { rows } = await sql<Scored>`
      SELECT num, -min(s) AS score FROM (${sql.join(matches(choice).map(select), sql` UNION ALL `)})
      GROUP BY num ORDER BY score DESC, num LIMIT ${limit}`.execute(query);
    return rows;
  },
  async postgres(query: Query, choice: Choice, total: Total, limit: number, scope?: Scope): Promise<Scored[]> {
    const { passages, length } = total;
    const parts = [...choice.by, ...choice.beside].map((term) => {
      const idf = Math.max(1e-6, Math.log((passages - term.count + 0.5) / (term.count + 0.5)));
      const level = sql`width_bucket(ts_rank(${labelWeights}, words, ${spelled("postgres", term)}::tsquery)::float8, ${bounds})`;
      return sql`coalesce(${idf * 2.2}::float8 / (1 + k * (${inverses})[${level}]), 0)`;
    });
    const { rows } = await sql<Scored>`
      SELECT num, ${sql.join(parts, sql` + `)} AS score FROM (
        SELECT rowid AS num, words, 1.2 * (0.25::float8 + 0.75 * length::float8 / ${length}::float8) AS k
        FROM passage_text WHERE ${ofChoice(choice, total)} ${inside("postgres", scope)}
      ) AS chosen ORDER BY score DESC, num LIMIT ${limit}`.execute(query);
    return rows;
  },
};

function matches({ by, beside, isCommon }: Choice): string[] {
  const joined = (terms: Term[], joint: string) => terms.map((term) => spelled("sqlite", term)).join(joint);
  const any = joined(by, " OR ");
  if (isCommon) return by.length > 1 ? [any, joined(by, " AND ")] : [any];
  return beside.length > 0 ? [any, `(${any}) AND (${joined(beside, " OR ")})`] : [any];
}

/** Of common words, as far back as there should be as many as are ranked: the index then tells which without visiting the others. */
function ofChoice({ by, isCommon }: Choice, { passages, last }: Total) {
  const words = by.map((term) => spelled("postgres", term));
  const any = sql`words @@ ${words.join(" | ")}::tsquery`;
  if (!isCommon) return any;
  const shares = by.map(({ count }) => Math.min(1, count / passages));
  const newest = (share: number) => sql`rowid > ${Math.floor(last - limits.postgres.ranked / share)}`;
  const all = shares.reduce((product, share) => product * share);
  return sql`((${any} AND ${newest(Math.max(...shares))})
    OR (words @@ ${words.join(" & ")}::tsquery AND ${newest(all)}))`;
}

const listed = (numbers: number[], type: string) => sql.raw(`'{${numbers.join(",")}}'::${type}[]`);
const labelWeights = listed(rankLevels.labelWeights, "float4");
const bounds = listed(rankLevels.bounds, "float8");
const inverses = listed(
  rankLevels.frequencies.map((frequency) => 1 / frequency),
  "float8",
);

const inside = (engine: Engine, scope: Scope | undefined) =>
  scope
    ? sql`AND EXISTS (SELECT 1 FROM passages p JOIN things t ON t.num = p.thing
                      WHERE p.num = passage_text.rowid AND ${within(engine, scope)})`
    : sql``;

export const total = {
  async sqlite(query: Query): Promise<Total> {
    const { rows } = await sql<{ passages: number }>`SELECT count(*) AS passages FROM passages`.execute(query);
    return { passages: rows[0]?.passages ?? 0, length: 1, last: 0, common: new Map() };
  },
  async postgres(query: Query): Promise<Total> {
    const { rows } = await sql<{ passages: number; length: number | null; last: number | null }>`
      SELECT count(*) AS passages, avg(length)::float8 AS length, max(rowid) AS last FROM passage_text`.execute(query);
    const passages = Number(rows[0]?.passages ?? 0);
    return {
      passages,
      length: Math.max(1, rows[0]?.length ?? 1),
      last: Number(rows[0]?.last ?? 0),
      common: await commonWords(query, passages),
    };
  },
};

/** PostgreSQL keeps statistics of the words it has most of, which are believed as long as it had about as many passages then. */
async function commonWords(query: Query, passages: number): Promise<Map<string, number>> {
  const { rows } = await sql<{ words: string[] | null; shares: number[] | null; counted: number }>`
    SELECT s.most_common_elems::text::text[] AS words, s.most_common_elem_freqs AS shares, c.reltuples AS counted
    FROM pg_class c JOIN pg_stats s ON s.tablename = 'passage_text' AND s.attname = 'words' AND s.schemaname = current_schema()
    WHERE c.oid = 'passage_text'::regclass`.execute(query);
  const { words, shares, counted = 0 } = rows[0] ?? {};
  if (!words || !shares || Math.abs(counted - passages) > passages / 5) return new Map();
  return new Map(
    words.flatMap((word, at): [string, number][] => {
      const count = Math.round((shares[at] ?? 0) * passages);
      return count < leastKnown ? [] : [[`'${word}'`, count]];
    }),
  );
}

/** Rarer words are quickly counted. */
const leastKnown = 500;
