import { sql } from "kysely";
import type { Database } from "../../store/database.ts";
import { prepared } from "../../store/prepared.ts";
import { isNarrowed, mayRead, type Scope, scoped } from "../scope.ts";
import type { Scored } from "./lexical/engines.ts";

/** What rights go by, which never changes of a thing; there are few of them. Whatever else a search is narrowed by is asked of the rows. */
type Sort = { kind: string; run: string };
type Row = { num: number; seq: number; thing: number; kind: string; run: string; vector: Buffer };

const atOnce = 5000;
const countEveryMs = 10_000;

/**
 * All vectors of one model in memory, compared one by one: exact, and quick enough for a hundred
 * thousand. What other processes embed or index is read before each search.
 */
export function vectorIndex(db: Database, model: string) {
  let nums: number[] = [];
  let things: number[] = [];
  let sorts: Sort[] = [];
  let values = new Float32Array(0);
  let size = 0;
  let lastNum = 0;
  let lastSeq = 0;
  /** How far there was anything when it was last read, of this model or another. */
  let seen = { num: -1, seq: -1 };
  let counted = 0;
  let refreshing: Promise<void> | undefined;
  const known = new Map<string, Sort>();
  const have = new Set<number>();

  /** A search asks twice, for what it wants and for what leads there: both wait for one reading. */
  function refresh(): Promise<void> {
    refreshing ??= read().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  async function read(): Promise<void> {
    if (Date.now() - counted > countEveryMs && nums.length > 0) {
      counted = Date.now();
      const { count } = await db.read
        .selectFrom("passages")
        .select((x) => x.fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow();
      if (Number(count) < nums.length * 0.9) forget();
    }
    const before = { num: lastNum, seq: lastSeq };
    // Asked first: what comes while the vectors are read is read again, where it would be missed otherwise.
    const [last] = await newest(db.read, {});
    const now = { num: Number(last?.num ?? 0), seq: Number(last?.seq ?? 0) };
    if (now.num === seen.num && now.seq === seen.seq) return;
    // New vectors of passages that were there, then new passages whose text had a vector already.
    await take(sql`v.seq > ${before.seq}`, "seq");
    await take(sql`p.num > ${before.num} AND v.seq <= ${before.seq}`, "num");
    lastNum = now.num;
    seen = now;
  }

  async function take(which: ReturnType<typeof sql>, order: "seq" | "num"): Promise<void> {
    for (let after = 0; ; ) {
      const column = order === "seq" ? sql`v.seq` : sql`p.num`;
      // From what is new to the rest: by itself SQLite would go through all vectors of the model.
      const tables = order === "seq" ? sql`vectors v CROSS JOIN passages p` : sql`passages p CROSS JOIN vectors v`;
      const ofModel = order === "seq" ? sql`v.model || '' = ${model}` : sql`v.model = ${model}`;
      const { rows } = await sql<Row>`
        SELECT p.num, v.seq, p.thing, v.vector, t.kind, t.run FROM ${tables} CROSS JOIN things t
        WHERE ${ofModel} AND p.hash = v.hash AND t.num = p.thing AND ${which} AND ${column} > ${after}
        ORDER BY ${column} LIMIT ${sql.lit(atOnce)}`.execute(db.read);
      for (const row of rows) add(row);
      if (rows.length < atOnce) return;
      // One text may stand in many places: those of the last number are read again rather than missed.
      const next = Number(rows.at(-1)?.[order] ?? 0) - (order === "seq" ? 1 : 0);
      after = Math.max(next, after + 1);
    }
  }

  function add(row: Row): void {
    lastSeq = Math.max(lastSeq, Number(row.seq));
    if (have.has(row.num)) return;
    const vector = new Float32Array(
      row.vector.buffer.slice(row.vector.byteOffset, row.vector.byteOffset + row.vector.byteLength),
    );
    if (size === 0) size = vector.length;
    if (vector.length !== size) return;
    const at = nums.length;
    if ((at + 1) * size > values.length) {
      const larger = new Float32Array(Math.max(1024 * size, values.length * 2));
      larger.set(values);
      values = larger;
    }
    values.set(vector, at * size);
    const name = `${row.kind}:${row.run}`;
    const sort = known.get(name) ?? { kind: row.kind, run: row.run };
    known.set(name, sort);
    have.add(row.num);
    nums.push(row.num);
    things.push(row.thing);
    sorts.push(sort);
  }

  function forget(): void {
    nums = [];
    things = [];
    sorts = [];
    values = new Float32Array(0);
    lastNum = 0;
    lastSeq = 0;
    seen = { num: -1, seq: -1 };
    known.clear();
    have.clear();
  }

  return {
    async nearest(asked: Promise<Float32Array>, scope: Scope, limit: number): Promise<Scored[]> {
      const [vector] = await Promise.all([asked, refresh()]);
      if (vector.length !== size) return [];
      const narrowed = isNarrowed(scope) ? new Set((await thingsIn(db, scope, {})).map((row) => row.num)) : undefined;
      const readable = new Set([...known.values()].filter((sort) => mayRead(scope, sort)));
      const top: Scored[] = [];
      let least = Number.NEGATIVE_INFINITY;
      for (let at = 0; at < nums.length; at++) {
        if (!readable.has(sorts[at] as Sort) || narrowed?.has(things[at] as number) === false) continue;
        let score = 0;
        for (let d = 0, from = at * size; d < size; d++) score += (values[from + d] as number) * (vector[d] as number);
        if (top.length >= limit && score <= least) continue;
        top.push({ num: nums[at] as number, score });
        if (top.length >= limit * 2) least = shrink(top, limit);
      }
      shrink(top, limit);
      return top;
    },
    count: () => nums.length,
  };
}

const thingsIn = scoped<object, { num: number }>(
  (_engine, _slot, isInside) => sql`SELECT t.num FROM things t WHERE ${isInside}`,
);

const newest = prepared<object, { num: number | null; seq: number | null }>(
  () => sql`SELECT (SELECT max(num) FROM passages) AS num, (SELECT max(seq) FROM vectors) AS seq`,
);

export type VectorIndex = ReturnType<typeof vectorIndex>;

function shrink(top: Scored[], limit: number): number {
  top.sort((a, b) => b.score - a.score || a.num - b.num);
  top.length = Math.min(top.length, limit);
  return top.length < limit ? Number.NEGATIVE_INFINITY : (top.at(-1)?.score ?? 0);
}
