import {
  type FoundPostings,
  type IndexState,
  indexState,
  passageLengths,
  postingsOf,
  removedBetween,
} from "../../../store/queries/search/postings.ts";
import type { ScoredPassage } from "../../../store/queries/search/ranking.ts";
import type { Reader } from "../../../store/queries/search/scope.ts";
import { stem } from "../../../store/queries/search/stem.ts";
import { numberedValues, scoreSums } from "./sums.ts";

/** The passages that have a word, by rising number, and how often, weighted by field. */
export type Postings = { nums: Int32Array; frequencies: Float32Array; size: number; upTo: number };

/** A word in more places is not cached: to read them would block for too long. */
const maxPlaces = 200_000;
/** Passages of all words; 8 bytes each. */
const maxCached = 4_000_000;
const wordsAtOnce = 16;
const lengthsAtOnce = 20_000;

/**
 * Ranks by BM25 in memory, for SQLite. A word that is searched for is read from the index once: to read it takes a
 * fifth of the time that FTS5 takes to rank by it, and to rank with what is cached a fifth of that. What was added and
 * removed since, also by other processes, is read before each search.
 */
export function cachedPostings(db: Reader) {
  const known = new Map<string, Postings>();
  const unlisted = new Set<string>();
  let cached = 0;
  let state: IndexState = { last: 0, removed: 0 };
  /** The number of words of each passage, plus one. */
  let lengths = numberedValues();
  let total = { passages: 0, words: 0 };
  let queue: Promise<unknown> = Promise.resolve();

  /** One after the other: nothing else takes up changes during `work`. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work);
    queue = done.catch(() => undefined);
    return done;
  }

  /** Takes up what changed. Returns whether changes wait to be indexed. */
  async function refresh(): Promise<boolean> {
    const { behind, ...now } = await indexState(db.read);
    const removed = await removedBetween(db.read, state, now);
    if (removed) removed.forEach(remove);
    else forget();
    for (let after = state.last; after < now.last; ) {
      const found = await passageLengths(db.read, { after, until: now.last, limit: lengthsAtOnce });
      for (const [at, num] of found.nums.entries()) addLength(num, found.lengths[at] as number);
      after = found.nums.length < lengthsAtOnce ? now.last : (found.nums.at(-1) as number);
    }
    state = now;
    return behind === 1;
  }

  function forget(): void {
    known.clear();
    unlisted.clear();
    cached = 0;
    lengths = numberedValues();
    total = { passages: 0, words: 0 };
    state = { last: 0, removed: 0 };
  }

  function addLength(num: number, words: number): void {
    lengths.set(num, words + 1);
    total = { passages: total.passages + 1, words: total.words + words };
  }

  function remove(num: number): void {
    const length = lengths.get(num);
    if (length > 0) total = { passages: total.passages - 1, words: total.words - length + 1 };
    lengths.set(num, 0);
    for (const postings of known.values()) if (removeFrom(postings, num)) cached--;
  }

  /** The words whose postings are cached now; of the others there are too many. */
  async function load(words: string[]): Promise<string[]> {
    const isMissing = (word: string) => !unlisted.has(word) && known.get(word)?.upTo !== state.last;
    const after = (word: string) => known.get(word)?.upTo ?? 0;
    for (let missing = words.filter(isMissing); missing[0] !== undefined; missing = missing.filter(isMissing)) {
      const from = after(missing[0]);
      const batch = missing.filter((word) => after(word) === from).slice(0, wordsAtOnce);
      const wanted = batch.map((word) => ({ word, stem: stem(word) }));
      const found = await postingsOf(db.read, { words: wanted, after: from, limit: maxPlaces });
      const isOld = found.some(({ last, removed }) => last !== state.last || removed !== state.removed);
      // Another process has written in between.
      if (isOld) await refresh();
      else for (const [at, one] of found.entries()) add(batch[at] as string, one);
    }
    return words.filter((word) => !unlisted.has(word));
  }

  function add(word: string, found: FoundPostings): void {
    const before = known.get(word);
    const after = extended(before, found);
    const isSpelledAlike = found.matching === null || found.matching === after.size;
    if (found.nums.length === maxPlaces || !isSpelledAlike) {
      unlisted.add(word);
      known.delete(word);
      cached -= before?.size ?? 0;
      return;
    }
    known.set(word, after);
    cached += after.size - (before?.size ?? 0);
  }

  /** Removes those that were not used for longest. */
  function evict(used: string[]): void {
    for (const word of used) {
      const postings = known.get(word) as Postings;
      known.delete(word);
      known.set(word, postings);
    }
    for (const [word, { size }] of known) {
      if (cached <= maxCached) return;
      known.delete(word);
      cached -= size;
    }
  }

  return {
    refresh: () => alone(refresh),
    passages: () => total.passages,
    isListed: (word: string) => known.has(word),
    /** The number of passages with each word. Words that are in too many are left out. */
    counts: (words: string[]): Promise<Map<string, number>> =>
      alone(async () => new Map((await load(words)).map((word) => [word, known.get(word)?.size ?? 0]))),
    /**
     * The best passages with any of the words `selecting`; those `scoring` only add to the scores. Undefined if one of
     * the words is in too many passages.
     */
    best: (selecting: string[], scoring: string[], limit: number): Promise<ScoredPassage[] | undefined> =>
      alone(async () => {
        const words = [...selecting, ...scoring];
        if ((await load(words)).length < words.length) return undefined;
        const sums = scoreSums({ lengths, meanLength: total.words / Math.max(1, total.passages) });
        for (const [at, word] of words.entries()) {
          const postings = known.get(word) as Postings;
          sums.add(postings, weightOf(postings.size, total.passages), at < selecting.length);
        }
        evict(words);
        return sums.best(limit);
      }),
  };
}

export type CachedPostings = ReturnType<typeof cachedPostings>;

/** Inverse document frequency, as FTS5's bm25() has it. */
const weightOf = (count: number, passages: number) =>
  Math.max(1e-6, Math.log((Math.max(0, passages - count) + 0.5) / (count + 0.5)));

function extended(before: Postings | undefined, { nums, weights, last }: FoundPostings): Postings {
  const size = before?.size ?? 0;
  const grown = {
    ...withRoom(before ?? { nums: new Int32Array(0), frequencies: new Float32Array(0) }, size + nums.length),
    size,
    upTo: last,
  };
  for (const [at, num] of nums.entries()) {
    if (grown.size === 0 || grown.nums[grown.size - 1] !== num) {
      grown.nums[grown.size] = num;
      grown.frequencies[grown.size++] = 0;
    }
    grown.frequencies[grown.size - 1] = (grown.frequencies[grown.size - 1] as number) + (weights[at] as number);
  }
  return grown;
}

type Arrays = Pick<Postings, "nums" | "frequencies">;

function withRoom({ nums, frequencies }: Arrays, size: number): Arrays {
  if (size <= nums.length) return { nums, frequencies };
  const length = nums.length === 0 ? size : Math.ceil(size * 1.2);
  const larger = { nums: new Int32Array(length), frequencies: new Float32Array(length) };
  larger.nums.set(nums);
  larger.frequencies.set(frequencies);
  return larger;
}

/** Whether it was there. */
function removeFrom(postings: Postings, num: number): boolean {
  const { nums, frequencies, size } = postings;
  let low = 0;
  for (let high = size; low < high; ) {
    const middle = (low + high) >>> 1;
    if ((nums[middle] as number) < num) low = middle + 1;
    else high = middle;
  }
  if (low === size || nums[low] !== num) return false;
  nums.copyWithin(low, low + 1, size);
  frequencies.copyWithin(low, low + 1, size);
  postings.size--;
  return true;
}
