import type { ScoredPassage } from "../../../store/queries/search/ranking.ts";

/** BM25 over postings in memory, with FTS5's constants. */

const k1 = 1.2;
const b = 0.75;
/** Stands for a sum of nothing, which would count as none. */
const leastSum = 1e-30;

const blockBits = 12;
const inBlock = (1 << blockBits) - 1;

/** Numbers by passage number, 0 if there is none. In blocks: after many edits, passage numbers are far apart. */
export function numberedValues() {
  const blocks: (Float32Array | undefined)[] = [];
  return {
    get: (num: number): number => blocks[num >>> blockBits]?.[num & inBlock] ?? 0,
    set(num: number, value: number): void {
      let block = blocks[num >>> blockBits];
      if (!block) {
        block = new Float32Array(inBlock + 1);
        blocks[num >>> blockBits] = block;
      }
      block[num & inBlock] = value;
    },
  };
}

type Values = ReturnType<typeof numberedValues>;
type Frequencies = { nums: Int32Array; frequencies: Float32Array; size: number };

/** Adds up scores. `lengths` are the words of each passage, plus one. */
export function scoreSums({ lengths, meanLength }: { lengths: Values; meanLength: number }) {
  const sums = numberedValues();
  const touched: number[] = [];
  const slope = (k1 * b) / Math.max(1, meanLength);
  return {
    /** One word, with `isSelecting` for all of its passages, otherwise for those that have a sum. */
    add({ nums, frequencies, size }: Frequencies, weight: number, isSelecting: boolean): void {
      for (let at = 0; at < size; at++) {
        const num = nums[at] as number;
        const sum = sums.get(num);
        if (sum === 0) {
          if (!isSelecting) continue;
          touched.push(num);
        }
        const frequency = frequencies[at] as number;
        const length = lengths.get(num) - 1;
        const part = (frequency * (k1 + 1)) / (frequency + k1 * (1 - b) + slope * length);
        sums.set(num, Math.max(leastSum, sum + weight * part));
      }
    },
    best(limit: number): ScoredPassage[] {
      const scores = new Float32Array(touched.length);
      for (let at = 0; at < scores.length; at++) scores[at] = sums.get(touched[at] as number);
      const least = nthLargest(scores.slice(), limit);
      const best: ScoredPassage[] = [];
      for (let at = 0; at < scores.length; at++) {
        const score = scores[at] as number;
        if (score >= least) best.push({ num: touched[at] as number, score });
      }
      return best.sort((a, b) => b.score - a.score || a.num - b.num).slice(0, limit);
    },
  };
}

/** Quickselect: reorders `values` as far as it is needed. The least value if there are fewer than `n`. */
export function nthLargest(values: Float32Array, n: number): number {
  const target = Math.min(n, values.length) - 1;
  for (let low = 0, high = values.length - 1; low < high; ) {
    const pivot = values[(low + high) >>> 1] as number;
    let left = low;
    let right = high;
    while (left <= right) {
      while ((values[left] as number) > pivot) left++;
      while ((values[right] as number) < pivot) right--;
      if (left > right) break;
      const value = values[left] as number;
      values[left++] = values[right] as number;
      values[right--] = value;
    }
    if (target <= right) high = right;
    else if (target >= left) low = left;
    else break;
  }
  return values[target] ?? 0;
}
