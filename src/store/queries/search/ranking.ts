import { type RawBuilder, sql } from "kysely";
import type { Database, Query } from "../../database.ts";
import { type List, listOf } from "../../lists.ts";
import { eachOnce, onEach, prepared, type SlotOf } from "../../prepared.ts";
import { fieldWeights, rankLevels } from "./lexemes.ts";
import { type Reader, type Scope, scoped } from "./scope.ts";
import { stem } from "./stem.ts";

type Engine = Database["engine"];

export type ScoredPassage = { num: number; score: number };

/** A query word, or with `isPrefix` the beginning of one. */
export type QueryWord = { word: string; isPrefix?: boolean };

/** Words are letters and digits only (see `wordsOf` in search/rank/terms.ts): no escaping is needed. */
export const spelledFor: Record<Engine, (word: QueryWord) => string> = {
  sqlite: ({ word, isPrefix }) => `"${word}"${isPrefix ? "*" : ""}`,
  postgres: ({ word, isPrefix }) => `'${stem(word)}'${isPrefix ? ":*" : ""}`,
};

export type RankLimits = {
  /** The rarest words whose passages together are at most this many select the candidates. */
  candidates: number;
  /** In a large index at least this share of the passages: with more passages more of them come near the best. */
  share: number;
  /** Maximum number of passages ranked by one statement. */
  ranked: number;
};

/** PostgreSQL reads the row of every passage that it ranks, which takes longer. */
export const rankLimits: Record<Engine, RankLimits> = {
  sqlite: { candidates: 1000, share: 0.06, ranked: 8000 },
  postgres: { candidates: 1000, share: 0.03, ranked: 2000 },
};

/**
 * Number of passages for each word. While `isBehind`, changes wait to be indexed and counts may be too low. `last` is
 * the highest passage number, on PostgreSQL, where it tells that statistics are outdated.
 */
export type WordCounts = { counts: number[]; isBehind: boolean; last?: number };

/** Takes words as `spelledFor` spells them. PostgreSQL stops counting at twice the number that it would rank. */
export const countMatches: Record<Engine, (query: Query, words: string[]) => Promise<WordCounts>> = {
  async sqlite(query, words) {
    const [row] = await selectCounts.sqlite(query, { words: JSON.stringify(words) });
    return { counts: JSON.parse(row?.counts ?? "[]"), isBehind: row?.behind === 1 };
  },
  async postgres(query, words) {
    const [row] = await selectCounts.postgres(query, { words });
    const last = Number(row?.last ?? 0);
    return { counts: (row?.counts ?? []).map(Number), isBehind: row?.behind === true, last };
  },
};

const selectCounts = {
  sqlite: prepared<{ words: string }, { behind: number; counts: string }>(
    (_, slot) => sql`
      SELECT EXISTS (SELECT 1 FROM search_queue) AS behind, (
        SELECT json_group_array(n ORDER BY at) FROM (
          SELECT q.key AS at, (SELECT count(*) FROM passage_text WHERE passage_text MATCH q.value) AS n
          FROM json_each(${slot("words")}) q)) AS counts`,
  ),
  postgres: prepared<{ words: string[] }, { behind: boolean; last: string | null; counts: string[] }>(
    (_, slot) => sql`
      SELECT EXISTS (SELECT 1 FROM search_queue) AS behind, (SELECT max(rowid) FROM passage_text) AS last, ARRAY(
        SELECT (SELECT count(*) FROM (SELECT 1 FROM passage_text WHERE words @@ q.word::tsquery LIMIT ${sql.lit(2 * rankLimits.postgres.ranked)}) AS f)
        FROM unnest(${slot("words")}::text[]) WITH ORDINALITY AS q (word, at) ORDER BY q.at) AS counts`,
  ),
};

/**
 * Ranks by FTS5's bm25(). Passages that match `narrow` are scored by it, others by `wide`: BM25 is a sum over the
 * words of an expression, so the expression with more words gives the full score.
 */
export function rankMatches(
  db: Reader,
  { wide, narrow, limit }: { wide: string; narrow: string | undefined; limit: number },
  scope?: Scope,
): Promise<ScoredPassage[]> {
  const { unscoped, inScope } = matchRanking(narrow === undefined ? 1 : 2);
  const values = { wide, narrow: narrow ?? "", limit };
  return scope ? inScope(db, scope, values) : unscoped.sqlite(db.read, values);
}

const matchRanking = eachOnce((expressions: 1 | 2) => {
  const { title, body, near } = fieldWeights;
  return withAndWithoutScope<{ wide: string; narrow: string; limit: number }>((_, slot, isInside) => {
    const select = (match: string) => sql`
      SELECT num, s FROM (
        SELECT rowid AS num, bm25(passage_text, ${sql.lit(title)}, ${sql.lit(body)}, ${sql.lit(near)}) AS s
        FROM passage_text WHERE passage_text MATCH ${match} ${andInside(isInside)}
        ORDER BY rowid DESC LIMIT ${sql.lit(rankLimits.sqlite.ranked)})`;
    const scores =
      expressions === 1
        ? sql`SELECT num, -s AS score FROM (${select(slot("wide"))})`
        : sql`SELECT num, -min(s) AS score FROM (${select(slot("wide"))} UNION ALL ${select(slot("narrow"))}) GROUP BY num`;
    return sql<ScoredPassage>`${scores} ORDER BY score DESC, num LIMIT ${slot("limit")}`;
  });
});

export type LexemeRanking = {
  /** Each word with its BM25 weight. */
  words: { word: string; weight: number }[];
  /** Candidates: passages that match `any`; with `since`, only recent ones of those, and recent ones that match `all`. */
  any: string;
  all: string;
  since: { any: number; all: number } | undefined;
  /** Mean length of all passages. */
  length: number;
  limit: number;
};

/** Computes BM25 in SQL: `ts_rank` of a single word gives its frequency by `rankLevels`. */
export function rankLexemes(
  db: Reader,
  { words: known, since, ...ranking }: LexemeRanking,
  scope?: Scope,
): Promise<ScoredPassage[]> {
  const words = padded(known);
  const { unscoped, inScope } = lexemeRanking(`${words.length} ${since ? "recent" : "all"}`);
  const values: LexemeValues = {
    ...Object.fromEntries(words.map(({ word }, at) => [`word${at}`, word])),
    ...Object.fromEntries(words.map(({ weight }, at) => [`weight${at}`, weight])),
    ...ranking,
    anySince: since?.any ?? 0,
    allSince: since?.all ?? 0,
  };
  return scope ? inScope(db, scope, values) : unscoped.postgres(db.read, values);
}

const maxExact = 8;
const wordSteps = [12, 16, 24, 32, 48, 64, 100];

/** Fills up with words without weight, so that long questions of any length share a few statements. */
function padded(words: LexemeRanking["words"]): LexemeRanking["words"] {
  const size =
    words.length <= maxExact ? words.length : (wordSteps.find((step) => step >= words.length) ?? words.length);
  const filler = { word: words[0]?.word ?? "", weight: 0 };
  return [...words, ...Array.from({ length: size - words.length }, () => filler)];
}

type LexemeValues = {
  any: string;
  all: string;
  anySince: number;
  allSince: number;
  length: number;
  limit: number;
  [part: `word${number}`]: string;
  [part: `weight${number}`]: number;
};

/** One statement for each number of words. */
const lexemeRanking = eachOnce((shape: `${number} ${"recent" | "all"}`) => {
  const [count, reach] = shape.split(" ");
  return withAndWithoutScope<LexemeValues>((_, slot, isInside) => {
    const parts = Array.from({ length: Number(count) }, (_, at) => {
      const level = sql`width_bucket(ts_rank(${labelWeights}, words, ${slot(`word${at}`)}::tsquery)::float8, ${bounds})`;
      return sql`coalesce(${slot(`weight${at}`)}::float8 / (1 + k * (${inverseFrequencies})[${level}]), 0)`;
    });
    const any = sql`words @@ ${slot("any")}::tsquery`;
    const recentAny = sql`${any} AND rowid > ${slot("anySince")}`;
    const recent =
      count === "1"
        ? recentAny
        : sql`((${recentAny}) OR (words @@ ${slot("all")}::tsquery AND rowid > ${slot("allSince")}))`;
    return sql<ScoredPassage>`
      SELECT num, ${sql.join(parts, sql` + `)} AS score FROM (
        SELECT rowid AS num, words, 1.2 * (0.25::float8 + 0.75 * length::float8 / ${slot("length")}::float8) AS k
        FROM passage_text WHERE ${reach === "recent" ? recent : any} ${andInside(isInside)}
      ) AS chosen ORDER BY score DESC, num LIMIT ${slot("limit")}`;
  });
});

const arrayLiteral = (numbers: number[], type: string) => sql.raw(`'{${numbers.join(",")}}'::${type}[]`);
const labelWeights = arrayLiteral(rankLevels.labelWeights, "float4");
const bounds = arrayLiteral(rankLevels.bounds, "float8");
const inverseFrequencies = arrayLiteral(
  rankLevels.frequencies.map((frequency) => 1 / frequency),
  "float8",
);

function withAndWithoutScope<P extends object>(
  build: (engine: Engine, slot: SlotOf<P>, isInside?: RawBuilder<boolean>) => RawBuilder<ScoredPassage>,
) {
  return {
    unscoped: onEach<P, ScoredPassage>((engine, slot) => build(engine, slot)),
    inScope: scoped<P, ScoredPassage>(build),
  };
}

const andInside = (isInside: RawBuilder<boolean> | undefined) =>
  isInside
    ? sql`AND EXISTS (SELECT 1 FROM passages p JOIN things t ON t.num = p.thing
                      WHERE p.num = passage_text.rowid AND ${isInside})`
    : sql``;

/**
 * The first of the words that a passage in the scope has together with one of the others, or at all if there are none.
 */
export async function firstFoundWith(
  db: Reader,
  scope: Scope,
  words: string[],
  others: QueryWord[],
): Promise<string | undefined> {
  const spelled = spelledFor[db.engine];
  const [and, or] = operators[db.engine];
  const beside = others.length === 0 ? "" : `${and}(${others.map(spelled).join(or)})`;
  const matches = words.map((word) => `${spelled({ word })}${beside}`);
  const [row] = matches.length === 0 ? [] : await selectFirst(db, scope, { matches: listOf[db.engine](matches) });
  return row === undefined ? undefined : words[Number(row.at)];
}

const selectFirst = scoped<{ matches: List }, { at: number }>((engine, slot, isInside) => {
  const listed = {
    // In the order of the list, so that LIMIT stops at the first.
    sqlite: sql`(SELECT key AS at, value AS match FROM json_each(${slot("matches")})) AS q`,
    postgres: sql`(SELECT n - 1 AS at, m AS match FROM unnest(${slot("matches")}::text[]) WITH ORDINALITY AS u (m, n) ORDER BY n) AS q`,
  };
  const matches = { sqlite: sql`passage_text MATCH q.match`, postgres: sql`words @@ q.match::tsquery` };
  return sql`
    SELECT q.at FROM ${listed[engine]}
    WHERE EXISTS (SELECT 1 FROM passage_text WHERE ${matches[engine]} ${andInside(isInside)})
    LIMIT 1`;
});

/** Words that a passage must have: of each list one. */
export type Requirements = string[][];

/** Passages in the scope with what is required and a number below `before`, the newest first. */
export async function passagesWith(
  db: Reader,
  scope: Scope,
  required: Requirements,
  { before, limit }: { before: number; limit: number },
): Promise<number[]> {
  if (required.length === 0) return [];
  const match = matching(db.engine, required);
  return (await selectMatching(db, scope, { match, before, limit })).map(({ num }) => num);
}

function matching(engine: Engine, required: Requirements): string {
  const [and, or] = operators[engine];
  return required.map((forms) => `(${forms.map((word) => spelledFor[engine]({ word })).join(or)})`).join(and);
}

/** The expression without passages that meet any of `excluded`. */
export function without(engine: Engine, match: string, excluded: Requirements[]): string {
  const [, or, not] = operators[engine];
  const unwanted = excluded.filter((required) => required.length > 0);
  if (unwanted.length === 0) return match;
  return `(${match})${not}(${unwanted.map((required) => `(${matching(engine, required)})`).join(or)})`;
}

const operators: Record<Engine, [and: string, or: string, not: string]> = {
  sqlite: [" AND ", " OR ", " NOT "],
  postgres: [" & ", " | ", " & !"],
};

const selectMatching = scoped<{ match: string; before: number; limit: number }, { num: number }>(
  (engine, slot, isInside) => {
    const matches = {
      sqlite: sql`passage_text MATCH ${slot("match")}`,
      postgres: sql`words @@ ${slot("match")}::tsquery`,
    };
    return sql`
      SELECT rowid AS num FROM passage_text
      WHERE ${matches[engine]} AND rowid < ${slot("before")} ${andInside(isInside)}
      ORDER BY rowid DESC LIMIT ${slot("limit")}`;
  },
);

/** Statistics over all passages. */
export type IndexTotals = {
  passages: number;
  /** Mean number of words. */
  length: number;
  /** The highest passage number. */
  last: number;
  /** Counts of frequent words that the engine has in its own statistics, keyed as `spelledFor` spells them. */
  common: Map<string, number>;
};

export const indexTotals: Record<Engine, (query: Query) => Promise<IndexTotals>> = {
  /** bm25() needs only the number of passages from us. */
  async sqlite(query) {
    const { rows } = await sql<{ passages: number }>`SELECT count(*) AS passages FROM passages`.execute(query);
    return { passages: rows[0]?.passages ?? 0, length: 1, last: 0, common: new Map() };
  },
  async postgres(query) {
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

/** From the statistics of the last ANALYZE, unless the number of passages has changed by more than a fifth since. */
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
      return count < minCommon ? [] : [[`'${word}'`, count]];
    }),
  );
}

/** Counting a rarer word is fast and exact. */
const minCommon = 500;
