import { advisoryLock } from "../../store/advisory-lock.ts";
import { batches } from "../../store/batches.ts";
import type { Database } from "../../store/database.ts";
import { findMeta, setMeta } from "../../store/queries/meta.ts";
import { newestPassage, passagesBeside } from "../../store/queries/search/passages.ts";
import type { ScoredPassage } from "../../store/queries/search/ranking.ts";
import type { Scope } from "../../store/queries/search/scope.ts";
import {
  countEmbedded,
  deleteVectorsOfOtherModels,
  insertVectors,
  passagesWithoutVector,
} from "../../store/queries/search/vectors.ts";
import { embeddedText } from "../index/chunk.ts";
import type { Embedder, SimilarityFloor } from "../model/embedder.ts";
import type { Scores } from "./fuse.ts";
import { type VectorIndex, vectorIndex } from "./vectors.ts";
import { neighbourShare, vectorWeights } from "./weights.ts";

/** Texts embedded by one call of the model; a search waits for at most one such call. */
const embedBatch = 4;
const writeBatch = 16;
const readBatch = 64;
const queryWaitMs = 3000;
const maxCachedQueries = 200;
const modelKey = "search-model";

/** `model` is the model that searches use; null until all texts are embedded with one. */
export type MeaningStatus = { model: string | null; wanted: string | null; embedded: number; pending: number };

/** Returns the passages nearest to the query in the embedding space; undefined while no model is in use. */
export type Nearest = (scope: Scope, limit: number) => Promise<Near | undefined>;

export type Near = {
  hits: ScoredPassage[];
  /** The similarities of the hits and of further passages; a turn's is averaged with those of its neighbours. */
  similarities(others: number[]): Promise<Scores>;
  /** The share of the similarity in a passage's score. */
  weightOf(num: number): number;
  floor: SimilarityFloor;
};

/**
 * Embeds passages and searches their vectors. Searches switch to a new model once all texts are embedded with it,
 * and use the previous model until then.
 */
export function meaning(
  db: Database,
  open: { wanted: Embedder | undefined; named(model: string): Embedder | undefined },
) {
  const { wanted } = open;
  const indexes = new Map<string, VectorIndex>();
  const queries = new Map<string, Promise<Float32Array>>();
  const floors = new Map<string, { floor: SimilarityFloor; passages: number }>();
  let current: Embedder | undefined;
  let checkedTo = 0;

  async function embedderInUse(): Promise<Embedder | undefined> {
    const model = await findMeta(db.read, modelKey);
    if (model === undefined) return undefined;
    if (model === wanted?.model) return wanted;
    if (current?.model !== model) current = open.named(model);
    return current;
  }

  /** Embeds a batch of passages without a vector; returns its size. Each write batch is committed by itself. */
  async function embedSome(): Promise<number> {
    if (!wanted?.check().ok) return 0;
    const last = await newestPassage(db.read);
    if (last <= checkedTo) return 0;
    const rows = await passagesWithoutVector(db.read, wanted.model, { afterNum: checkedTo, limit: readBatch });
    if (rows.length === 0) {
      checkedTo = last;
      await switchTo(wanted.model);
      return 0;
    }
    // By length: the model pads all texts of a batch to the longest.
    const ordered = rows.sort((a, b) => a.body.length - b.body.length);
    for (const batch of batches(ordered, writeBatch)) {
      const vectors: Float32Array[] = [];
      for (const texts of batches(batch, embedBatch))
        vectors.push(...(await wanted.embed(texts.map((row) => embeddedText(row.title, row)))));
      const values = batch.map((row, at) => ({
        model: wanted.model,
        hash: row.hash,
        ...inBytes(vectors[at] as Float32Array),
      }));
      await db.write(async (tx) => {
        // Serialises the commits of several processes: without it PostgreSQL could commit a higher `seq` before a
        // lower one, and readers that continue after the highest would miss the lower.
        await advisoryLock(tx, db.engine, "(vectors)");
        await insertVectors(tx, values);
      });
    }
    return rows.length;
  }

  /** Makes searches use this model, which has a vector for every text now. */
  async function switchTo(model: string): Promise<void> {
    if ((await findMeta(db.read, modelKey)) === model) return;
    await db.write(async (tx) => {
      await setMeta(tx, modelKey, model);
      await deleteVectorsOfOtherModels(tx, model);
    });
  }

  function vectorOf(embedder: Embedder, text: string): Promise<Float32Array> {
    const key = `${embedder.model}\0${text}`;
    const known = queries.get(key);
    if (known) return known;
    const made = embedder.embed([text], queryWaitMs).then(([vector]) => vector as Float32Array);
    queries.set(key, made);
    made.catch(() => queries.delete(key));
    const oldest = queries.keys().next().value;
    if (queries.size > maxCachedQueries && oldest !== undefined) queries.delete(oldest);
    return made;
  }

  /** The floor of a model that we did not measure is what nonsense reaches among these passages. */
  async function floorOf(embedder: Embedder, index: VectorIndex): Promise<SimilarityFloor> {
    if (embedder.floor) return embedder.floor;
    const known = floors.get(embedder.model);
    if (known && index.count() < known.passages * 2) return known.floor;
    const vectors = await Promise.all(nonsense.map((text) => vectorOf(embedder, text)));
    const reached = await Promise.all(vectors.map((vector) => index.highest(vector)));
    const level = reached.reduce((sum, one) => sum + one, 0) / reached.length;
    const floor = { beside: level, alone: level };
    floors.set(embedder.model, { floor, passages: index.count() });
    return floor;
  }

  return {
    embedSome,
    /** Starts embedding the query; a local model does it in a worker thread while words are looked up. */
    async ask(text: string): Promise<Nearest> {
      const embedder = await embedderInUse();
      if (!embedder) return async () => undefined;
      const { model, maxWeight } = embedder;
      const vector = vectorOf(embedder, text);
      vector.catch(() => undefined);
      const index = indexes.get(model) ?? vectorIndex(db, model);
      indexes.set(model, index);
      const floor = floorOf(embedder, index);
      floor.catch(() => undefined);
      return async (scope, limit) => {
        const hits = await index.nearest(vector, scope, limit);
        const asked = await vector;
        return {
          hits,
          floor: await floor,
          similarities: (others) =>
            smoothed(db, index, asked, [...new Set([...hits.map(({ num }) => num), ...others])]),
          weightOf: (num) => Math.min(maxWeight, vectorWeights[index.shapeOf(num)]),
        };
      };
    },
    async status(): Promise<MeaningStatus> {
      const model = (await findMeta(db.read, modelKey)) ?? null;
      const { texts, embedded } = await countEmbedded(db.read, wanted?.model ?? model ?? "");
      return { model, wanted: wanted?.model ?? null, embedded, pending: texts - embedded };
    },
    async close(): Promise<void> {
      await Promise.all([wanted?.close(), current?.close()]);
    },
  };
}

export type Meaning = ReturnType<typeof meaning>;

/** Texts that mean nothing, in letters and in digits. */
const nonsense = ["xqzv wkjfplm rtgh", "zzyxw qwrtp vbnmk lkjhg", "0x7f3a 9b2c e41d 55aa"];

async function smoothed(db: Database, index: VectorIndex, vector: Float32Array, nums: number[]): Promise<Scores> {
  const beside = await passagesBeside(
    db,
    nums.filter((num) => index.shapeOf(num) === "turn"),
  );
  const scores: Scores = new Map();
  for (const num of nums) {
    const own = index.similarity(vector, num);
    if (own === undefined) continue;
    const others = (beside.get(num) ?? []).flatMap((other) => index.similarity(vector, other) ?? []);
    const around = others.reduce((sum, one) => sum + one, 0) / others.length;
    scores.set(num, others.length === 0 ? own : (1 - neighbourShare) * own + neighbourShare * around);
  }
  return scores;
}

/** A quarter of the space of floats; similarities change in the third digit. */
export function inBytes(vector: Float32Array): { scale: number; vector: Buffer } {
  const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const scale = largest > 0 ? largest / 127 : 1;
  return { scale, vector: Buffer.from(Int8Array.from(vector, (value) => Math.round(value / scale)).buffer) };
}
