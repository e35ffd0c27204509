import { type RawBuilder, sql } from "kysely";
import type { Database, Query } from "../../../store/database.ts";
import { eachOnce, onEach, prepared, type SlotOf } from "../../../store/prepared.ts";
import { fieldWeights, rankLevels } from "../../index/words.ts";
import { type Scope, scoped } from "../../scope.ts";
import { stem } from "../stem.ts";
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

/** In how many passages each of some words is; and whether changes wait to be indexed, in which case it may be in more. */
export type Counted = { counts: number[]; isBehind: boolean };

/** PostgreSQL visits passages to count them, and counts no further than it has to know. */
export const count: Record<Engine, (query: Query, words: string[]) => Promise<Counted>> = {
  async sqlite(query, words) {
    const [row] = await countMatches.sqlite(query, { words: JSON.stringify(words) });
    return { counts: JSON.parse(row?.counts ?? "[]"), isBehind: row?.behind === 1 };
  },
  async postgres(query, words) {
    const [row] = await countMatches.postgres(query, { words });
    return { counts: (row?.counts ?? []).map(Number), isBehind: row?.behind === true };
  },
};

const countMatches = {
  sqlite: prepared<{ words: string }, { behind: number; counts: string }>(
    (_, slot) => sql`
      SELECT EXISTS (SELECT 1 FROM search_queue) AS behind, (
        SELECT json_group_array(n ORDER BY at) FROM (
          SELECT q.key AS at, (SELECT count(*) FROM passage_text WHERE passage_text MATCH q.value) AS n
          FROM json_each(${slot("words")}) q)) AS counts`,
  ),
  postgres: prepared<{ words: string[] }, { behind: boolean; counts: string[] }>(
    (_, slot) => sql`
      SELECT EXISTS (SELECT 1 FROM search_queue) AS behind, ARRAY(
        SELECT (SELECT count(*) FROM (SELECT 1 FROM passage_text WHERE words @@ q.word::tsquery LIMIT ${sql.lit(2 * limits.postgres.ranked)}) AS f)
        FROM unnest(${slot("words")}::text[]) WITH ORDINALITY AS q (word, at) ORDER BY q.at) AS counts`,
  ),
};

/** The two engines side by side. SQLite has BM25; for PostgreSQL we reckon it from what ts_rank tells of each word. */
export const rank = {
  /**
   * BM25 is a sum over the words of the query, so that what has words of both kinds gets its whole score from
   * the narrower query, and what has only the rare ones from the wider.
   */
  sqlite(db: Database, choice: Choice, _total: Total, limit: number, scope?: Scope): Promise<Scored[]> {
    const [wide = "", narrow] = matches(choice);
    const { free, bound } = rankMatches(narrow === undefined ? 1 : 2);
    const values = { wide, narrow: narrow ?? "", limit };
    return scope ? bound(db, scope, values) : free.sqlite(db.read, values);
  },
  postgres(db: Database, choice: Choice, total: Total, limit: number, scope?: Scope): Promise<Scored[]> {
    const { passages, length } = total;
    const terms = [...choice.by, ...choice.beside];
    const weights = terms.map(({ count }) => {
      const others = Math.max(0, passages - count);
      return 2.2 * Math.max(1e-6, Math.log((others + 0.5) / (count + 0.5)));
    });
    const { free, bound } = rankWords(`${terms.length} ${choice.isCommon ? "common" : "rare"}`);
    const values: RankedWords = {
      ...Object.fromEntries(terms.map((term, at) => [`word${at}`, spelled("postgres", term)])),
      ...Object.fromEntries(weights.map((weight, at) => [`weight${at}`, weight])),
      ...reachOf(choice, total),
      length,
      limit,
    };
    return scope ? bound(db, scope, values) : free.postgres(db.read, values);
  },
};

/** Among all passages, and only among those inside a scope. */
const freeAndBound = <P extends object>(
  build: (engine: Engine, slot: SlotOf<P>, isInside?: RawBuilder<boolean>) => RawBuilder<Scored>,
) => ({
  free: onEach<P, Scored>((engine, slot) => build(engine, slot)),
  bound: scoped<P, Scored>(build),
});

const rankMatches = eachOnce((count: 1 | 2) => {
  const { title, body, near } = fieldWeights;
  return freeAndBound<{ wide: string; narrow: string; limit: number }>((_, slot, isInside) => {
    const select = (match: string) => sql`
      SELECT num, s FROM (
        SELECT rowid AS num, bm25(passage_text, ${sql.lit(title)}, ${sql.lit(body)}, ${sql.lit(near)}) AS s
        FROM passage_text WHERE passage_text MATCH ${match} ${only(isInside)}
        ORDER BY rowid DESC LIMIT ${sql.lit(limits.sqlite.ranked)})`;
    const higher =
      count === 1
        ? sql`SELECT num, -s AS score FROM (${select(slot("wide"))})`
        : sql`SELECT num, -min(s) AS score FROM (${select(slot("wide"))} UNION ALL ${select(slot("narrow"))}) GROUP BY num`;
    return sql<Scored>`${higher} ORDER BY score DESC, num LIMIT ${slot("limit")}`;
  });
});

type RankedWords = {
  any: string;
  all: string;
  anySince: number;
  allSince: number;
  length: number;
  limit: number;
  [part: `word${number}`]: string;
  [part: `weight${number}`]: number;
};

/** One statement for so many words, rare or all of them common. */
const rankWords = eachOnce((shape: `${number} ${"rare" | "common"}`) => {
  const [count, sort] = shape.split(" ");
  return freeAndBound<RankedWords>((_, slot, isInside) => {
    const parts = Array.from({ length: Number(count) }, (_, at) => {
      const level = sql`width_bucket(ts_rank(${labelWeights}, words, ${slot(`word${at}`)}::tsquery)::float8, ${bounds})`;
      return sql`coalesce(${slot(`weight${at}`)}::float8 / (1 + k * (${inverses})[${level}]), 0)`;
    });
    const any = sql`words @@ ${slot("any")}::tsquery`;
    const newest = sql`${any} AND rowid > ${slot("anySince")}`;
    const common =
      count === "1" ? newest : sql`((${newest}) OR (words @@ ${slot("all")}::tsquery AND rowid > ${slot("allSince")}))`;
    return sql<Scored>`
      SELECT num, ${sql.join(parts, sql` + `)} AS score FROM (
        SELECT rowid AS num, words, 1.2 * (0.25::float8 + 0.75 * length::float8 / ${slot("length")}::float8) AS k
        FROM passage_text WHERE ${sort === "common" ? common : any} ${only(isInside)}
      ) AS chosen ORDER BY score DESC, num LIMIT ${slot("limit")}`;
  });
});

function matches({ by, beside, isCommon }: Choice): string[] {
  const joined = (terms: Term[], joint: string) => terms.map((term) => spelled("sqlite", term)).join(joint);
  const any = joined(by, " OR ");
  if (isCommon) return by.length > 1 ? [any, joined(by, " AND ")] : [any];
  return beside.length > 0 ? [any, `(${any}) AND (${joined(beside, " OR ")})`] : [any];
}

/** Of common words, as far back as there should be as many as are ranked: the index then tells which without visiting the others. */
function reachOf({ by }: Choice, { passages, last }: Total) {
  const words = by.map((term) => spelled("postgres", term));
  const shares = by.map(({ count }) => Math.min(1, count / passages));
  const since = (share: number) => Math.floor(last - limits.postgres.ranked / share);
  return {
    any: words.join(" | "),
    all: words.join(" & "),
    anySince: since(Math.max(...shares)),
    allSince: since(shares.reduce((product, share) => product * share)),
  };
}

const listed = (numbers: number[], type: string) => sql.raw(`'{${numbers.join(",")}}'::${type}[]`);
const labelWeights = listed(rankLevels.labelWeights, "float4");
const bounds = listed(rankLevels.bounds, "float8");
const inverses = listed(
  rankLevels.frequencies.map((frequency) => 1 / frequency),
  "float8",
);

const only = (isInside: RawBuilder<boolean> | undefined) =>
  isInside
    ? sql`AND EXISTS (SELECT 1 FROM passages p JOIN things t ON t.num = p.thing
                      WHERE p.num = passage_text.rowid AND ${isInside})`
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
