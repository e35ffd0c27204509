/**
 * The differences of two lists in bounded time. Myers' algorithm is quadratic in the number of differences, so a
 * text of a few hundred kilobytes could block the process for minutes. Here it has a budget of comparisons. When half
 * of it is used, the lists are split at the items that occur once in each of them (patience diff, n log n), and each
 * gap is compared within its share of the rest. A gap that exceeds its share is one replacement. In very long lists only
 * the items that both start and end with are compared.
 */
import { diffArrays } from "diff";

/** Consecutive items of both lists, or of only one; within a change, removed items precede added ones. */
export type Part<T> = { kind: "same" | "added" | "removed"; items: T[] };

/** The comparisons that are left. Several diffs for one request share one budget. */
export type DiffBudget = { left: number };

/** A few dozen milliseconds. */
export const newBudget = (): DiffBudget => ({ left: 250_000 });

const maxItems = 50_000;

export function boundedDiff(before: string[], after: string[], budget = newBudget()): Part<string>[] {
  const pairs = matches(before, after, budget);
  const parts: Part<string>[] = [];
  let [o, n] = [0, 0];
  const change = (to: [number, number]) => {
    add(parts, "removed", before.slice(o, to[0]));
    add(parts, "added", after.slice(n, to[1]));
    [o, n] = to;
  };
  for (const { before: from, after: to, length } of pairs) {
    change([from, to]);
    add(parts, "same", after.slice(to, to + length));
    [o, n] = [from + length, to + length];
  }
  change([before.length, after.length]);
  return parts;
}

function add(parts: Part<string>[], kind: Part<string>["kind"], items: string[]): void {
  if (items.length === 0) return;
  const last = parts.at(-1);
  if (last?.kind !== kind) parts.push({ kind, items });
  else for (const item of items) last.items.push(item);
}

/** Equal items get equal numbers: comparing long strings again and again would not be bounded by a count. */
function numbered(...lists: [string[], string[]]): [number[], number[]] {
  const known = new Map<string, number>();
  const number = (item: string) => {
    const found = known.get(item) ?? known.size;
    known.set(item, found);
    return found;
  };
  return [lists[0].map(number), lists[1].map(number)];
}

/** One object: there may be as many gaps as lines, and an error with its stack is slow to create. */
const spent = new Error("the comparisons are used up");

/** A run of equal items: where it starts in each list. */
type Run = { before: number; after: number; length: number };
type Range = { oldFrom: number; oldTo: number; nowFrom: number; nowTo: number };

function matches(before: string[], after: string[], budget: DiffBudget): Run[] {
  const { head, middle, tail } = trimmed(before, after, wholeOf(before, after));
  const { oldFrom, oldTo, nowFrom, nowTo } = middle;
  const isLong = oldTo - oldFrom + (nowTo - nowFrom) > maxItems;
  const inside = isLong ? [] : matchesWithin(before.slice(oldFrom, oldTo), after.slice(nowFrom, nowTo), budget);
  const moved = inside.map((run) => ({ ...run, before: run.before + oldFrom, after: run.after + nowFrom }));
  return [head, ...moved, tail].filter(({ length }) => length > 0);
}

function matchesWithin(before: string[], after: string[], budget: DiffBudget): Run[] {
  const [old, now] = numbered(before, after);
  const whole = wholeOf(old, now);
  const half = Math.floor(budget.left / 2);
  return exact(old, now, whole, budget, half) ?? byUniqueItems(old, now, whole, budget);
}

const wholeOf = (old: unknown[], now: unknown[]): Range => ({
  oldFrom: 0,
  oldTo: old.length,
  nowFrom: 0,
  nowTo: now.length,
});

/** The items that both ranges start and end with need no comparison of everything with everything. */
function trimmed<T>(old: T[], now: T[], { oldFrom, oldTo, nowFrom, nowTo }: Range) {
  const shorter = Math.min(oldTo - oldFrom, nowTo - nowFrom);
  let head = 0;
  while (head < shorter && old[oldFrom + head] === now[nowFrom + head]) head++;
  let tail = 0;
  while (tail < shorter - head && old[oldTo - 1 - tail] === now[nowTo - 1 - tail]) tail++;
  return {
    head: { before: oldFrom, after: nowFrom, length: head },
    middle: { oldFrom: oldFrom + head, oldTo: oldTo - tail, nowFrom: nowFrom + head, nowTo: nowTo - tail },
    tail: { before: oldTo - tail, after: nowTo - tail, length: tail },
  };
}

/** The fewest differences; undefined when finding them takes more comparisons than this share of the budget. */
function exact(old: number[], now: number[], range: Range, budget: DiffBudget, share: number): Run[] | undefined {
  const { oldFrom, oldTo, nowFrom, nowTo } = range;
  if (oldFrom === oldTo || nowFrom === nowTo) return [];
  if (share < 1) return undefined;
  const until = budget.left - share;
  const comparator = (a: number, b: number) => {
    if (budget.left <= until) throw spent;
    budget.left--;
    return a === b;
  };
  try {
    const runs: Run[] = [];
    let [o, n] = [oldFrom, nowFrom];
    for (const { added, removed, count } of diffArrays(old.slice(oldFrom, oldTo), now.slice(nowFrom, nowTo), {
      comparator,
    })) {
      if (!added && !removed) runs.push({ before: o, after: n, length: count });
      if (!added) o += count;
      if (!removed) n += count;
    }
    return runs;
  } catch (error) {
    if (error === spent) return undefined;
    throw error;
  }
}

function byUniqueItems(old: number[], now: number[], range: Range, budget: DiffBudget): Run[] {
  const allowed = budget.left;
  const fixed = uniquePairs(old, now, range);
  const size = range.oldTo - range.oldFrom + (range.nowTo - range.nowFrom);
  const runs: Run[] = [];
  let { oldFrom, nowFrom } = range;
  for (const [o, n] of [...fixed, [range.oldTo, range.nowTo] as const]) {
    const gap = { oldFrom, oldTo: o, nowFrom, nowTo: n };
    const { head, middle, tail } = trimmed(old, now, gap);
    const share = Math.floor((allowed * (o - oldFrom + (n - nowFrom))) / size);
    runs.push(head, ...(exact(old, now, middle, budget, share) ?? []), tail);
    if (o < range.oldTo && n < range.nowTo) runs.push({ before: o, after: n, length: 1 });
    [oldFrom, nowFrom] = [o + 1, n + 1];
  }
  return runs;
}

/** Items that occur once in each range, as the longest series that is in the same order in both. */
function uniquePairs(old: number[], now: number[], range: Range): (readonly [number, number])[] {
  const places = new Map<number, number>();
  for (let at = range.nowFrom; at < range.nowTo; at++) places.set(now[at] ?? -1, places.has(now[at] ?? -1) ? -1 : at);
  const seen = new Map<number, number>();
  for (let at = range.oldFrom; at < range.oldTo; at++) seen.set(old[at] ?? -1, seen.has(old[at] ?? -1) ? -1 : at);
  const pairs: (readonly [number, number])[] = [];
  for (const [item, o] of seen) {
    const n = places.get(item) ?? -1;
    if (o >= 0 && n >= 0) pairs.push([o, n]);
  }
  return longestRising(pairs);
}

/** The longest subsequence whose second numbers rise; the first ones rise already. */
function longestRising(pairs: (readonly [number, number])[]): (readonly [number, number])[] {
  const ends: number[] = [];
  const previous: number[] = [];
  for (const [index, [, value]] of pairs.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] ?? 0]?.[1] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    previous[index] = low > 0 ? (ends[low - 1] ?? -1) : -1;
    ends[low] = index;
  }
  const rising: (readonly [number, number])[] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = previous[at] ?? -1) {
    const pair = pairs[at];
    if (pair) rising.push(pair);
  }
  return rising.reverse();
}
