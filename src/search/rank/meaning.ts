import { sql } from "kysely";
import { advisoryLock } from "../../store/advisory-lock.ts";
import { batches } from "../../store/batches.ts";
import type { Database } from "../../store/database.ts";
import { prepared } from "../../store/prepared.ts";
import { embeddedText } from "../index/chunk.ts";
import type { Embedder } from "../model/embedder.ts";
import type { Scope } from "../scope.ts";
import type { Scored } from "./lexical/engines.ts";
import { type VectorIndex, vectorIndex } from "./vectors.ts";

/** Whoever searches meanwhile waits for as many texts as are embedded in one go. */
const atOnce = 4;
const keptAtOnce = 16;
const readAhead = 64;
const queryWaitMs = 3000;
const keptQueries = 200;
const inUse = "search-model";

/** Where the embedding of the texts stands. `model` is what searches use; null while there is none that knows all texts. */
export type MeaningStatus = { model: string | null; wanted: string | null; embedded: number; pending: number };

/** The passages nearest in meaning to what was asked; undefined while there is no model. */
export type Nearest = (scope: Scope, limit: number) => Promise<{ hits: Scored[]; weight: number } | undefined>;

/**
 * Vectors, when there is a model. A model is used once all texts are embedded with it; until then
 * the one before it is, so that changing the model is never felt.
 */
export function meaning(
  db: Database,
  open: { wanted: Embedder | undefined; named(model: string): Embedder | undefined },
) {
  const { wanted } = open;
  const indexes = new Map<string, VectorIndex>();
  const queries = new Map<string, Promise<Float32Array>>();
  let current: Embedder | undefined;
  let checkedTo = 0;

  async function used(): Promise<Embedder | undefined> {
    const [row] = await selectMeta(db.read, { key: inUse });
    if (!row) return undefined;
    if (row.value === wanted?.model) return wanted;
    if (current?.model !== row.value) current = open.named(row.value);
    return current;
  }

  async function pending(limit: number): Promise<{ hash: string; title: string; heading: string; body: string }[]> {
    const { rows } = await sql<{ hash: string; title: string; heading: string; body: string }>`
      SELECT p.hash, t.title, p.heading, p.body FROM passages p JOIN things t ON t.num = p.thing
      WHERE p.num > ${checkedTo} AND p.num IN (
        SELECT min(q.num) FROM passages q LEFT JOIN vectors v ON v.model = ${wanted?.model ?? ""} AND v.hash = q.hash
        WHERE v.hash IS NULL AND q.num > ${checkedTo} GROUP BY q.hash ORDER BY 1 LIMIT ${limit}
      ) ORDER BY p.num`.execute(db.read);
    return rows;
  }

  /** Embeds some of what has no vector yet; what is done stays done, whenever this stops. */
  async function embedSome(): Promise<number> {
    if (!wanted) return 0;
    const newest = await db.read
      .selectFrom("passages")
      .select((x) => x.fn.max("num").as("num"))
      .executeTakeFirst();
    const last = Number(newest?.num ?? 0);
    if (last <= checkedTo) return 0;
    const rows = await pending(readAhead);
    if (rows.length === 0) {
      checkedTo = last;
      await settle(wanted.model);
      return 0;
    }
    // Texts of one length together: the shorter ones of a batch cost as much as its longest.
    const ordered = rows.sort((a, b) => a.body.length - b.body.length);
    for (const some of batches(ordered, keptAtOnce)) {
      const vectors: Float32Array[] = [];
      for (const few of batches(some, atOnce))
        vectors.push(...(await wanted.embed(few.map((row) => embeddedText(row.title, row)))));
      const values = some.map((row, at) => ({
        model: wanted.model,
        hash: row.hash,
        vector: bytesOf(vectors[at] as Float32Array),
      }));
      await db.write(async (tx) => {
        // Two processes that embed at once take turns: numbers are then seen in their order, and none is missed.
        await advisoryLock(tx, db.engine, "(vectors)");
        await tx
          .insertInto("vectors")
          .values(values)
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      });
    }
    return rows.length;
  }

  /** Every text has a vector of this model: from now on it is the one. */
  async function settle(model: string): Promise<void> {
    const [row] = await selectMeta(db.read, { key: inUse });
    if (row?.value === model) return;
    await db.write(async (tx) => {
      await tx
        .insertInto("meta")
        .values({ key: inUse, value: model })
        .onConflict((conflict) => conflict.column("key").doUpdateSet({ value: model }))
        .execute();
      await tx.deleteFrom("vectors").where("model", "<>", model).execute();
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
    if (queries.size > keptQueries && oldest !== undefined) queries.delete(oldest);
    return made;
  }

  return {
    embedSome,
    /** Begins to embed a question: a local model does it in a thread of its own while words are looked up. */
    async ask(text: string): Promise<Nearest> {
      const embedder = await used();
      if (!embedder) return async () => undefined;
      const { model, weight } = embedder;
      const vector = vectorOf(embedder, text);
      vector.catch(() => undefined);
      const index = indexes.get(model) ?? vectorIndex(db, model);
      indexes.set(model, index);
      return async (scope, limit) => ({ hits: await index.nearest(vector, scope, limit), weight });
    },
    async status(): Promise<MeaningStatus> {
      const [row] = await selectMeta(db.read, { key: inUse });
      const { rows } = await sql<{ passages: number; embedded: number }>`
        SELECT count(DISTINCT p.hash) AS passages, count(DISTINCT v.hash) AS embedded
        FROM passages p LEFT JOIN vectors v ON v.hash = p.hash AND v.model = ${wanted?.model ?? row?.value ?? ""}`.execute(
        db.read,
      );
      const embedded = Number(rows[0]?.embedded ?? 0);
      return {
        model: row?.value ?? null,
        wanted: wanted?.model ?? null,
        embedded,
        pending: Number(rows[0]?.passages ?? 0) - embedded,
      };
    },
    async close(): Promise<void> {
      await Promise.all([wanted?.close(), current?.close()]);
    },
  };
}

const selectMeta = prepared<{ key: string }, { value: string }>((query, slot) =>
  query.selectFrom("meta").select("value").where("key", "=", slot("key")),
);

export type Meaning = ReturnType<typeof meaning>;

const bytesOf = (vector: Float32Array) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
