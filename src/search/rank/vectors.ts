import type { Database } from "../../store/database.ts";
import { countRows } from "../../store/queries/counts.ts";
import type { ScoredPassage } from "../../store/queries/search/ranking.ts";
import type { Scope } from "../../store/queries/search/scope.ts";
import { thingsInScope } from "../../store/queries/search/things.ts";
import {
  newestPassageAndVector,
  type VectorRow,
  vectorsAfter,
  vectorsOfPassagesAfter,
} from "../../store/queries/search/vectors.ts";
import type { PassageShape } from "../../store/tables.ts";
import { hasFilters, mayRead } from "../scope.ts";

/** Decides whether a caller may read a thing. Never changes, and few combinations occur. */
type Access = { kind: string; run: string };

const batchSize = 5000;
const countEveryMs = 10_000;

/**
 * All vectors of one model in memory, compared one by one: exact, and fast enough for 100,000. Reads what other
 * processes have indexed or embedded before each search.
 */
export function vectorIndex(db: Database, model: string) {
  let nums: number[] = [];
  let things: number[] = [];
  let accesses: Access[] = [];
  let values = new Int8Array(0);
  let scales: number[] = [];
  let shapes: PassageShape[] = [];
  let size = 0;
  let lastNum = 0;
  let lastSeq = 0;
  /** The newest passage and vector at the last read, of any model. */
  let seen = { num: -1, seq: -1 };
  let countedAt = 0;
  let refreshing: Promise<void> | undefined;
  const known = new Map<string, Access>();
  /** The position of each passage. */
  const loaded = new Map<number, number>();

  /** Concurrent searches share one read. */
  function refresh(): Promise<void> {
    refreshing ??= read().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  async function read(): Promise<void> {
    if (Date.now() - countedAt > countEveryMs && nums.length > 0) {
      countedAt = Date.now();
      // Rows of deleted passages stay in memory; with more than a tenth of them, start over.
      if ((await countRows(db.read, "passages")) < nums.length * 0.9) forget();
    }
    const before = { num: lastNum, seq: lastSeq };
    // Read first: rows that arrive during the reads below are then read again the next time, not missed.
    const now = await newestPassageAndVector(db.read);
    if (now.num === seen.num && now.seq === seen.seq) return;
    await readNewVectors(before.seq);
    await readNewPassages(before);
    lastNum = now.num;
    seen = now;
  }

  async function readNewVectors(fromSeq: number): Promise<void> {
    for (let afterSeq = fromSeq; ; ) {
      const rows = await vectorsAfter(db.read, model, { afterSeq, limit: batchSize });
      for (const row of rows) add(row);
      if (rows.length < batchSize) return;
      // Several passages may share the last vector: read it again rather than miss some of them.
      afterSeq = Math.max(Number(rows.at(-1)?.seq ?? 0) - 1, afterSeq + 1);
    }
  }

  /** New passages whose text already had a vector. */
  async function readNewPassages(before: { num: number; seq: number }): Promise<void> {
    for (let afterNum = before.num; ; ) {
      const rows = await vectorsOfPassagesAfter(db.read, model, { afterNum, maxSeq: before.seq, limit: batchSize });
      for (const row of rows) add(row);
      if (rows.length < batchSize) return;
      afterNum = Math.max(Number(rows.at(-1)?.num ?? 0), afterNum + 1);
    }
  }

  function add(row: VectorRow): void {
    lastSeq = Math.max(lastSeq, Number(row.seq));
    if (loaded.has(row.num)) return;
    const vector = new Int8Array(row.vector.buffer, row.vector.byteOffset, row.vector.byteLength);
    if (size === 0) size = vector.length;
    if (vector.length !== size) return;
    const at = nums.length;
    if ((at + 1) * size > values.length) {
      const larger = new Int8Array(Math.max(1024 * size, values.length * 2));
      larger.set(values);
      values = larger;
    }
    values.set(vector, at * size);
    const key = `${row.kind}:${row.run}`;
    const access = known.get(key) ?? { kind: row.kind, run: row.run };
    known.set(key, access);
    loaded.set(row.num, at);
    scales.push(row.scale);
    shapes.push(row.shape);
    nums.push(row.num);
    things.push(row.thing);
    accesses.push(access);
  }

  function forget(): void {
    nums = [];
    things = [];
    accesses = [];
    values = new Int8Array(0);
    scales = [];
    shapes = [];
    lastNum = 0;
    lastSeq = 0;
    seen = { num: -1, seq: -1 };
    known.clear();
    loaded.clear();
  }

  function similarityAt(at: number, vector: Float32Array): number {
    let sum = 0;
    for (let d = 0, from = at * size; d < size; d++) sum += (values[from + d] as number) * (vector[d] as number);
    return sum * (scales[at] as number);
  }

  return {
    /** The similarity of one passage; undefined if it has no vector. */
    similarity(vector: Float32Array, num: number): number | undefined {
      const at = loaded.get(num);
      return at === undefined || vector.length !== size ? undefined : similarityAt(at, vector);
    },
    shapeOf(num: number): PassageShape {
      return shapes[loaded.get(num) ?? -1] ?? "text";
    },
    /** The highest similarity of any passage. */
    async highest(vector: Float32Array): Promise<number> {
      await refresh();
      let best = 0;
      if (vector.length === size)
        for (let at = 0; at < nums.length; at++) best = Math.max(best, similarityAt(at, vector));
      return best;
    },
    async nearest(query: Promise<Float32Array>, scope: Scope, limit: number): Promise<ScoredPassage[]> {
      const [vector] = await Promise.all([query, refresh()]);
      if (vector.length !== size) return [];
      const filtered = hasFilters(scope) ? await thingsInScope(db, scope) : undefined;
      const readable = new Set([...known.values()].filter((access) => mayRead(scope, access)));
      const top: ScoredPassage[] = [];
      let least = Number.NEGATIVE_INFINITY;
      for (let at = 0; at < nums.length; at++) {
        if (!readable.has(accesses[at] as Access) || filtered?.has(things[at] as number) === false) continue;
        const score = similarityAt(at, vector);
        if (top.length >= limit && score <= least) continue;
        top.push({ num: nums[at] as number, score });
        if (top.length >= limit * 2) least = keepBest(top, limit);
      }
      keepBest(top, limit);
      return top;
    },
    count: () => nums.length,
  };
}

export type VectorIndex = ReturnType<typeof vectorIndex>;

/** Sorts and truncates `top`; returns the score that a further passage has to exceed. */
function keepBest(top: ScoredPassage[], limit: number): number {
  top.sort((a, b) => b.score - a.score || a.num - b.num);
  top.length = Math.min(top.length, limit);
  return top.length < limit ? Number.NEGATIVE_INFINITY : (top.at(-1)?.score ?? 0);
}
