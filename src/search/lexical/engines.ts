import { sql } from "kysely";
import type { Database, Query } from "../../store/database.ts";
import { type Scope, within } from "../scope.ts";
import { stem } from "../stem.ts";
import { fieldWeights, rankLevels } from "../words.ts";
import { type Choice, mostRanked, type Term } from "./choose.ts";

type Engine = Database["engine"];

/** A passage by number, and how well it fits. */
export type Scored = { num: number; score: number };

/** How many passages there are, and how many words they have in the mean. */
export type Total = { passages: number; length: number };

/** Words are letters and digits only, see terms.ts: nothing in them needs escaping. */
const spell = {
  sqlite: { whole: (word: string) => `"${word}"`, begun: (word: string) => `"${word}"*` },
  postgres: { whole: (word: string) => `'${stem(word)}'`, begun: (word: string) => `'${stem(word)}':*` },
};
export const spelled = (engine: Engine, { word, begun }: Pick<Term, "word" | "begun">) =>
  spell[engine][begun ? "begun" : "whole"](word);

/** In how many passages each is. PostgreSQL has to visit them: there a common word is counted up to what is ranked, and one more. */
export const count = {
  async sqlite(query: Query, words: string[]): Promise<number[]> {
    const { rows } = await sql<{ n: number }>`
      SELECT (SELECT count(*) FROM passage_text WHERE passage_text MATCH q.value) AS n
      FROM json_each(${JSON.stringify(words)}) q ORDER BY q.key`.execute(query);
    return rows.map((row) => row.n);
  },
  async postgres(query: Query, words: string[]): Promise<number[]> {
    const { rows } = await sql<{ n: number }>`
      SELECT (SELECT count(*) FROM (SELECT 1 FROM passage_text WHERE words @@ q.word::tsquery LIMIT ${sql.lit(mostRanked + 1)}) AS f) AS n
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
        ORDER BY rowid DESC LIMIT ${sql.lit(mostRanked)})`;
    const { rows } = await sql<Scored>`
      SELECT num, -min(s) AS score FROM (${sql.join(matches(choice).map(select), sql` UNION ALL `)})
      GROUP BY num ORDER BY score DESC, num LIMIT ${limit}`.execute(query);
    return rows;
  },
  async postgres(query: Query, choice: Choice, { passages, length }: Total, limit: number, scope?: Scope) {
    const match = choice.by.map((term) => spelled("postgres", term));
    const parts = [...choice.by, ...choice.beside].map((term) => {
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

function matches({ by, beside, isCommon }: Choice): string[] {
  const joined = (terms: Term[], joint: string) => terms.map((term) => spelled("sqlite", term)).join(joint);
  const any = joined(by, " OR ");
  if (isCommon) return by.length > 1 ? [any, joined(by, " AND ")] : [any];
  return beside.length > 0 ? [any, `(${any}) AND (${joined(beside, " OR ")})`] : [any];
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
    return { passages: rows[0]?.passages ?? 0, length: 1 };
  },
  async postgres(query: Query): Promise<Total> {
    const { rows } = await sql<{ passages: number; length: number | null }>`
      SELECT count(*) AS passages, avg(length)::float8 AS length FROM passage_text`.execute(query);
    return { passages: Number(rows[0]?.passages ?? 0), length: Math.max(1, rows[0]?.length ?? 1) };
  },
};
