import { sql } from "kysely";
import type { Database, Query } from "../../database.ts";
import { among, listOf } from "../../lists.ts";
import { prepared } from "../../prepared.ts";
import type { PassageShape } from "../../tables.ts";

/** Embeddings of passages, by model and by the hash of the text: equal texts share one vector. */

export type VectorRow = {
  num: number;
  seq: number;
  thing: number;
  kind: string;
  run: string;
  shape: PassageShape;
  scale: number;
  /** Signed bytes; times `scale` they are the vector. */
  vector: Buffer;
};

/** The highest passage number and vector number, of any model. */
export async function newestPassageAndVector(query: Query): Promise<{ num: number; seq: number }> {
  const [row] = await selectNewest(query, {});
  return { num: Number(row?.num ?? 0), seq: Number(row?.seq ?? 0) };
}

const selectNewest = prepared<object, { num: number | null; seq: number | null }>(
  () => sql`SELECT (SELECT max(num) FROM passages) AS num, (SELECT max(seq) FROM vectors) AS seq`,
);

/**
 * Passages whose vector is newer than `afterSeq`, ordered by `seq`.
 * CROSS JOIN and `v.model || ''` make SQLite start from the new vectors; it would scan all vectors of the model.
 */
export async function vectorsAfter(
  query: Query,
  model: string,
  { afterSeq, limit }: { afterSeq: number; limit: number },
): Promise<VectorRow[]> {
  const { rows } = await sql<VectorRow>`
    SELECT p.num, v.seq, p.thing, p.shape, v.scale, v.vector, t.kind, t.run FROM vectors v CROSS JOIN passages p CROSS JOIN things t
    WHERE v.model || '' = ${model} AND p.hash = v.hash AND t.num = p.thing AND v.seq > ${afterSeq}
    ORDER BY v.seq LIMIT ${sql.lit(limit)}`.execute(query);
  return rows;
}

/** Passages newer than `afterNum` whose text had a vector already at `maxSeq`, ordered by `num`. */
export async function vectorsOfPassagesAfter(
  query: Query,
  model: string,
  { afterNum, maxSeq, limit }: { afterNum: number; maxSeq: number; limit: number },
): Promise<VectorRow[]> {
  const { rows } = await sql<VectorRow>`
    SELECT p.num, v.seq, p.thing, p.shape, v.scale, v.vector, t.kind, t.run FROM passages p CROSS JOIN vectors v CROSS JOIN things t
    WHERE v.model = ${model} AND p.hash = v.hash AND t.num = p.thing AND p.num > ${afterNum} AND v.seq <= ${maxSeq}
    ORDER BY p.num LIMIT ${sql.lit(limit)}`.execute(query);
  return rows;
}

export type UnembeddedPassage = {
  hash: string;
  title: string;
  heading: string;
  body: string;
  shape: PassageShape;
  /** The passage before under the same headings. */
  before: string;
};

/** Passages after `afterNum` without a vector of this model, one for each distinct text. */
export async function passagesWithoutVector(
  query: Query,
  model: string,
  { afterNum, limit }: { afterNum: number; limit: number },
): Promise<UnembeddedPassage[]> {
  const { rows } = await sql<UnembeddedPassage>`
    SELECT p.hash, t.title, p.heading, p.body, p.shape, coalesce((
      SELECT b.body FROM passages b WHERE b.thing = p.thing AND b.part = p.part - 1 AND b.heading = p.heading), '') AS before
    FROM passages p JOIN things t ON t.num = p.thing
    WHERE p.num > ${afterNum} AND p.num IN (
      SELECT min(q.num) FROM passages q LEFT JOIN vectors v ON v.model = ${model} AND v.hash = q.hash
      WHERE v.hash IS NULL AND q.num > ${afterNum} GROUP BY q.hash ORDER BY 1 LIMIT ${limit}
    ) ORDER BY p.num`.execute(query);
  return rows;
}

export async function insertVectors(
  tx: Query,
  values: { model: string; hash: string; scale: number; vector: Buffer }[],
): Promise<void> {
  await tx
    .insertInto("vectors")
    .values(values)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function deleteVectorsOfOtherModels(tx: Query, model: string): Promise<void> {
  await tx.deleteFrom("vectors").where("model", "<>", model).execute();
}

/** Deletes the vectors of these texts, except of texts that another passage still has. */
export async function deleteUnusedVectors(tx: Query, engine: Database["engine"], hashes: string[]): Promise<void> {
  if (hashes.length === 0) return;
  await sql`DELETE FROM vectors WHERE hash ${among[engine](listOf[engine](hashes))}
    AND NOT EXISTS (SELECT 1 FROM passages p WHERE p.hash = vectors.hash)`.execute(tx);
}

/** Distinct texts, and how many of them have a vector of this model. */
export async function countEmbedded(query: Query, model: string): Promise<{ texts: number; embedded: number }> {
  const { rows } = await sql<{ texts: number; embedded: number }>`
    SELECT count(DISTINCT p.hash) AS texts, count(DISTINCT v.hash) AS embedded
    FROM passages p LEFT JOIN vectors v ON v.hash = p.hash AND v.model = ${model}`.execute(query);
  return { texts: Number(rows[0]?.texts ?? 0), embedded: Number(rows[0]?.embedded ?? 0) };
}
