import { sql } from "kysely";
import type { Query } from "../../database.ts";
import { prepared } from "../../prepared.ts";
import { fieldWeights, type PassageWords } from "./lexemes.ts";

/** Reads of SQLite's index which passages have a word and how long they are, to rank them in memory. */

/** What the index contains. Both numbers only rise: no passage number is used again. */
export type IndexState = {
  /** The highest passage number ever. */
  last: number;
  /** The number of passages ever removed. */
  removed: number;
};

const highest = (table: "passages" | "removed_passages") =>
  sql`coalesce((SELECT seq FROM sqlite_sequence WHERE name = ${sql.lit(table)}), 0)`;

/** While `behind` is 1, changes wait to be indexed. */
export const indexState = async (query: Query): Promise<IndexState & { behind: number }> =>
  (await selectState(query, {}))[0] as IndexState & { behind: number };

const selectState = prepared<object, IndexState & { behind: number }>(
  () => sql`
    SELECT EXISTS (SELECT 1 FROM search_queue) AS behind,
      ${highest("passages")} AS last, ${highest("removed_passages")} AS removed`,
);

/** The passages removed between two states; undefined if the oldest of them are no longer on record. */
export async function removedBetween(query: Query, from: IndexState, to: IndexState): Promise<number[] | undefined> {
  if (from.removed === to.removed) return [];
  const rows = await selectRemoved(query, { from: from.removed, to: to.removed });
  return rows.length === to.removed - from.removed ? rows.map(({ num }) => num) : undefined;
}

const selectRemoved = prepared<{ from: number; to: number }, { num: number }>(
  (_, slot) => sql`SELECT num FROM removed_passages WHERE seq > ${slot("from")} AND seq <= ${slot("to")}`,
);

/** Passage numbers, and the number of words of each. */
export type PassageLengths = { nums: number[]; lengths: number[] };

/** Of the passages after one, in their order. */
export async function passageLengths(
  query: Query,
  range: { after: number; until: number; limit: number },
): Promise<PassageLengths> {
  const [row] = await selectLengths(query, range);
  const sizes = row?.sizes ? row.sizes.split(",") : [];
  return { nums: JSON.parse(row?.nums ?? "[]"), lengths: sizes.map(lengthIn) };
}

const selectLengths = prepared<{ after: number; until: number; limit: number }, { nums: string; sizes: string | null }>(
  // One text is read in a fraction of the time of its rows.
  (_, slot) => sql`
    SELECT json_group_array(id) AS nums, group_concat(hex(sz)) AS sizes FROM (
      SELECT id, sz FROM passage_text_docsize WHERE id > ${slot("after")} AND id <= ${slot("until")}
      ORDER BY id LIMIT ${slot("limit")})`,
);

/** FTS5 stores the words of each column as a varint: seven bits of each byte, the high bit set in all but the last. */
function lengthIn(hex: string): number {
  let sum = 0;
  let value = 0;
  for (let at = 0; at < hex.length; at += 2) {
    const byte = Number.parseInt(hex.slice(at, at + 2), 16);
    value = value * 128 + (byte & 0x7f);
    if (byte & 0x80) continue;
    sum += value;
    value = 0;
  }
  return sum;
}

/** Words with their stems, and the passage number after which their places are wanted, at most `limit` of each. */
export type WantedPostings = { words: { word: string; stem: string }[]; after: number; limit: number };

export type FoundPostings = IndexState & {
  /** Passage numbers, rising; one that has the word several times is repeated. */
  nums: number[];
  /** The weight of the field of each. */
  weights: number[];
  /** How many passages match the word; only of a word beyond ASCII, which SQLite may spell in another way. */
  matching: number | null;
};

/** In the order of the words. A statement sees one state of the index. */
export async function postingsOf(query: Query, { words, after, limit }: WantedPostings): Promise<FoundPostings[]> {
  const asked = words.map(({ word, stem }) => [stem, isAscii(word) ? null : `"${word}"`]);
  const rows = await selectPostings(query, { words: JSON.stringify(asked), after, limit });
  return rows.map(({ places, ...rest }) => {
    const packed = JSON.parse(places) as number[];
    const nums = packed.map((place) => Math.floor(place / 128));
    return { ...rest, nums, weights: packed.map((place) => weightByInitial[place % 128] ?? 1) };
  });
}

const isAscii = (word: string) => /^[\x00-\x7f]*$/.test(word);

const weightByInitial: Record<number, number> = Object.fromEntries(
  Object.entries(fieldWeights satisfies Record<keyof PassageWords, number>).map(([field, weight]) => [
    field.charCodeAt(0),
    weight,
  ]),
);

/** A place is packed as the passage's number and the initial of the field. */
const selectPostings = prepared<
  { words: string; after: number; limit: number },
  IndexState & { places: string; matching: number | null }
>(
  (_, slot) => sql`
    SELECT ${highest("passages")} AS last, ${highest("removed_passages")} AS removed, (
      SELECT json_group_array(place) FROM (
        SELECT doc * 128 + unicode(col) AS place FROM passage_words
        WHERE term = w.value ->> 0 AND doc > ${slot("after")} LIMIT ${slot("limit")})) AS places,
      CASE WHEN w.value ->> 1 IS NOT NULL THEN (
        SELECT count(*) FROM passage_text WHERE passage_text MATCH w.value ->> 1) END AS matching
    FROM json_each(${slot("words")}) AS w ORDER BY w.key`,
);
