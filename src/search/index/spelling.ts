import { randomUUID } from "node:crypto";
import { batches } from "../../store/batches.ts";
import type { Database, Query } from "../../store/database.ts";
import { isStopWord } from "../rank/terms.ts";

const worth = /^\p{L}[\p{L}\p{N}]{3,23}$/u;
const mostKnown = 300_000;
const freshMs = 15_000;

const generation = "search-vocabulary";

/** Keeps the words of all texts. Those that were kept are remembered, so that a word costs nothing the second time. */
export function learner() {
  const known = new Set<string>();
  let since: string | undefined;
  return {
    /** To be told once it is committed: a transaction that failed has taught nothing. */
    async learn(tx: Query, words: string[]): Promise<() => void> {
      const row = await tx.selectFrom("meta").select("value").where("key", "=", generation).executeTakeFirst();
      if (row?.value !== since) known.clear();
      const fresh = [...new Set(words.filter((word) => !known.has(word) && worth.test(word) && !isStopWord(word)))];
      for (const some of batches(fresh, 500)) {
        const values = some.map((word) => ({ word }));
        await tx
          .insertInto("vocabulary")
          .values(values)
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      }
      return () => {
        since = row?.value;
        if (known.size > mostKnown) known.clear();
        for (const word of fresh) known.add(word);
      };
    },
    /** The other processes, which remember the words too, learn of it by a new generation. */
    async forget(tx: Query): Promise<void> {
      const value = randomUUID();
      await tx.deleteFrom("vocabulary").execute();
      await tx
        .insertInto("meta")
        .values({ key: generation, value })
        .onConflict((conflict) => conflict.column("key").doUpdateSet({ value }))
        .execute();
    },
  };
}

/**
 * The side index that a mistyped word is looked up in: the words of all texts by their groups of
 * three letters. It is read when somebody first mistypes one.
 */
export function speller(db: Database) {
  let read = 0;
  let counted = -1;
  let index = new Map<string, string[]>();
  let refreshing: Promise<void> | undefined;

  function refresh(): Promise<void> {
    refreshing ??= look().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  /** Taking all words apart takes a while: only when there are others than before. */
  async function look(): Promise<void> {
    if (Date.now() - read < freshMs) return;
    const { count } = await db.read
      .selectFrom("vocabulary")
      .select((x) => x.fn.countAll<number>().as("count"))
      .executeTakeFirstOrThrow();
    if (Number(count) !== counted) {
      index = byTrigram(await db.read.selectFrom("vocabulary").select("word").limit(mostKnown).execute());
      counted = Number(count);
    }
    read = Date.now();
  }

  return {
    /** Words of the texts that a mistyped one may have meant, the likeliest first. */
    async like(word: string): Promise<string[]> {
      if (word.length < 4) return [];
      await refresh();
      const shared = new Map<string, number>();
      for (const trigram of trigramsOf(word))
        for (const other of index.get(trigram) ?? []) shared.set(other, (shared.get(other) ?? 0) + 1);
      const allowed = word.length < 6 ? 1 : 2;
      return [...shared]
        .map(([other, count]) => ({ other, count, off: distance(word, other, allowed) }))
        .filter(({ off }) => off > 0 && off <= allowed)
        .sort((a, b) => a.off - b.off || b.count - a.count || (a.other < b.other ? -1 : 1))
        .slice(0, 10)
        .map(({ other }) => other);
    },
  };
}

export type Speller = ReturnType<typeof speller>;

function byTrigram(rows: { word: string }[]): Map<string, string[]> {
  const index = new Map<string, string[]>();
  for (const { word } of rows) {
    for (const trigram of trigramsOf(word)) {
      const words = index.get(trigram);
      if (words) words.push(word);
      else index.set(trigram, [word]);
    }
  }
  return index;
}

function trigramsOf(word: string): string[] {
  const padded = ` ${word} `;
  return [...new Set(Array.from({ length: padded.length - 2 }, (_, at) => padded.slice(at, at + 3)))];
}

/** How many letters are to be added, left out, changed or swapped with the next; more than `most` is not told apart. */
export function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? most + 1;
}
