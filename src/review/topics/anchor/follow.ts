import { joinTokens, type Provenance, type Tokens, tokensIn } from "./provenance.ts";
import type { Span } from "./views.ts";

/** Where the words of a passage are now. */
export type Followed = Span & {
  /** From 0 to 1: 1 if the words are the same. */
  score: number;
  /** All its words and marks, next to each other as before. */
  whole: boolean;
  /** How far the unchanged text beside it proves that it is the same passage. */
  proof: "full" | "local" | "partial" | "none";
  /** The characters of its own words that are left. */
  kept: number;
  /** It is in lines that were moved. */
  moved: boolean;
  /** False when its words could be those of an equal neighbour. */
  clear: boolean;
};

/** Follows a passage word by word; undefined when none of its words is left. */
export function follow(provenance: Provenance, passage: Span): Followed | undefined {
  const { before, after } = provenance;
  const mine = tokensIn(before, passage);
  const cluster = heaviest(provenance, mine);
  if (!cluster) return undefined;
  const { first, end } = withReplacedEdges(provenance, mine, withChanceEdges(provenance, mine, cluster));
  const [old, now] = [wordsOf(before, mine.first, mine.end), wordsOf(after, first, end)];
  const whole = cluster.kept === mine.end - mine.first && cluster.end - cluster.first === cluster.kept;
  return {
    ...spanOf(provenance, passage, mine, { first, end }),
    score: whole ? 1 : old + now === 0 ? 0 : (2 * cluster.weight) / (old + now),
    whole,
    proof: proofOf(provenance, mine, whole),
    kept: cluster.weight,
    moved: cluster.moved,
    clear: cluster.clear,
  };
}

/** A passage that begins or ends within a word does so in the same word. */
function spanOf({ before, after, from }: Provenance, passage: Span, mine: Range, { first, end }: Range): Span {
  const head = from[first] === mine.first ? Math.max(0, passage.start - (before.starts[mine.first] ?? 0)) : 0;
  const tail = from[end - 1] === mine.end - 1 ? Math.max(0, (before.ends[mine.end - 1] ?? 0) - passage.end) : 0;
  return { start: (after.starts[first] ?? 0) + head, end: (after.ends[end - 1] ?? 0) - tail };
}

type Range = { first: number; end: number };
type Cluster = Range & { kept: number; weight: number; clear: boolean; moved: boolean };

/** The words of the passage that are next to each other, with at most new words between them. */
function heaviest({ before, to, from, ambiguous, moved }: Provenance, mine: Range): Cluster | undefined {
  const places: number[] = [];
  for (let at = mine.first; at < mine.end; at++) if ((to[at] ?? -1) >= 0) places.push(to[at] ?? 0);
  places.sort((a, b) => a - b);
  const clusters: Cluster[] = [];
  for (const place of places) {
    const origin = from[place] ?? 0;
    const last = clusters.at(-1);
    const weight = wordsOf(before, origin, origin + 1);
    const [isClear, isMoved] = [ambiguous[origin] === 0, moved[origin] === 1];
    if (last && !hasForeign(from, last.end, place)) {
      last.end = place + 1;
      last.kept++;
      last.weight += weight;
      last.clear &&= isClear;
      last.moved ||= isMoved;
    } else clusters.push({ first: place, end: place + 1, kept: 1, weight, clear: isClear, moved: isMoved });
  }
  return clusters.sort((a, b) => b.weight - a.weight || b.kept - a.kept)[0];
}

function hasForeign(from: Int32Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((from[at] ?? -1) >= 0) return true;
  return false;
}

/** A short word beside a replaced one proves nothing alone. Next to the rest of its passage it is the passage's own. */
function withChanceEdges({ chance, from }: Provenance, mine: Range, cluster: Range): Cornered {
  const kept = from.subarray(cluster.first, cluster.end).filter((origin) => origin >= 0);
  const found = { first: cluster.first, end: cluster.end, low: Math.min(...kept), high: Math.max(...kept) };
  for (let at = found.low - 1; at >= mine.first; at--) {
    const place = chance[at] ?? -1;
    if (place < 0 || place >= found.first || hasForeign(from, place, found.first)) continue;
    [found.first, found.low] = [place, at];
  }
  for (let at = found.high + 1; at < mine.end; at++) {
    const place = chance[at] ?? -1;
    if (place < found.end || hasForeign(from, found.end, place + 1)) continue;
    [found.end, found.high] = [place + 1, at];
  }
  return found;
}

/** A range of the new text with the first and the last word of the passage in it. */
type Cornered = Range & { low: number; high: number };

/**
 * When the first or last words of the passage were replaced and its neighbours were not, what is between the neighbour
 * and the rest of the passage replaced them. Otherwise the passage begins and ends with its own words.
 */
function withReplacedEdges({ before, after, to, from }: Provenance, mine: Range, cornered: Cornered): Range {
  const { low, high } = cornered;
  let { first, end } = cornered;
  const left = mine.first === 0 ? -1 : (to[mine.first - 1] ?? -1);
  if (low > mine.first && (mine.first === 0 || left >= 0) && left < first) {
    const lost = { first: mine.first, end: low };
    if (isReplacement(before, after, lost, { first: left + 1, end: first }, from)) first = left + 1;
  }
  const right = mine.end === before.starts.length ? after.starts.length : (to[mine.end] ?? -1);
  if (high < mine.end - 1 && right >= end) {
    const lost = { first: high + 1, end: mine.end };
    if (isReplacement(before, after, lost, { first: end, end: right }, from)) end = right;
  }
  return { first, end };
}

function isReplacement(before: Tokens, after: Tokens, lost: Range, fresh: Range, from: Int32Array): boolean {
  if (fresh.end <= fresh.first || hasForeign(from, fresh.first, fresh.end)) return false;
  return wordsOf(after, fresh.first, fresh.end) <= 2 * wordsOf(before, lost.first, lost.end) + 8;
}

const wordly = /^[\p{L}\p{M}\p{N}]/u;

/** The characters of the words in a range; marks do not count. */
function wordsOf({ texts }: Tokens, first: number, end: number): number {
  let sum = 0;
  for (let at = first; at < end; at++) if (wordly.test(texts[at] ?? "")) sum += texts[at]?.length ?? 0;
  return sum;
}

/** So many unchanged characters beside a passage are not equal by chance, */
const telling = 16;
/** and so many are not a sentence that the page repeats. */
const conclusive = 200;
/** A passage with more equal ones is not compared with all of them. */
const mostTwins = 500;

/**
 * How far the unchanged text beside the passage proves that it is the same one. Two equal passages, each with equal
 * sentences around it, may have changed places. So the passage with the unchanged text beside it must occur once in
 * each text, and every equal passage must be where nothing changed. Otherwise the proof is only local.
 */
function proofOf(provenance: Provenance, mine: Range, whole: boolean): Followed["proof"] {
  if (!whole) {
    const run = longestRun(provenance, mine);
    const sides = sidesKept(provenance, mine);
    const isTelling = wordsOf(provenance.before, run.first, run.end) >= (sides === 2 ? telling / 2 : telling);
    return sides > 0 && isTelling && isUnique(provenance, run) ? "partial" : "none";
  }
  const [left, right] = [unchangedBeside(provenance, mine, -1), unchangedBeside(provenance, mine, 1)];
  if (left.size >= conclusive && right.size >= conclusive) return "full";
  if (left.size < telling && right.size < telling) return "none";
  if (!isUnique(provenance, { first: mine.first - left.count, end: mine.end + right.count })) return "none";
  return hasLooseTwin(provenance, mine) ? "local" : "full";
}

/** The most words of the passage that are still next to each other. */
function longestRun({ before, to }: Provenance, mine: Range): Range {
  let [longest, size] = [{ first: mine.first, end: mine.first }, 0];
  for (let at = mine.first; at < mine.end; at++) {
    const first = at;
    if ((to[at] ?? -1) < 0) continue;
    while (at + 1 < mine.end && to[at + 1] === (to[at] ?? -1) + 1) at++;
    const found = wordsOf(before, first, at + 1);
    if (found > size) [longest, size] = [{ first, end: at + 1 }, found];
  }
  return longest;
}

/** How many neighbours of a reworded passage are unchanged. */
function sidesKept({ before, to }: Provenance, { first, end }: Range): number {
  const isKept = (from: number, step: -1 | 1) => {
    for (let [at, sum] = [from, 0]; sum < telling && at >= 0 && at < to.length; at += step) {
      if ((to[at] ?? -1) < 0 || (at !== from && to[at] !== (to[at - step] ?? -1) + step)) return false;
      sum += before.texts[at]?.length ?? 0;
    }
    return true;
  };
  return Number(isKept(first - 1, -1)) + Number(isKept(end, 1));
}

/** The unchanged tokens next to an unchanged passage; the start and the end of both texts are conclusive. */
function unchangedBeside({ before, after, to }: Provenance, { first, end }: Range, step: -1 | 1) {
  let at = step < 0 ? first : end - 1;
  let [size, count] = [0, 0];
  for (; size < conclusive; at += step, count++) {
    const next = (to[at] ?? -1) + step;
    const isOver = at + step < 0 || at + step >= to.length;
    if (isOver && (next < 0 || next >= after.texts.length)) return { size: conclusive, count };
    if (isOver || to[at + step] !== next) break;
    size += before.texts[at + step]?.length ?? 0;
  }
  return { size, count };
}

function isUnique({ before, after, joined }: Provenance, { first, end }: Range): boolean {
  const wanted = joinTokens(before.texts.slice(first, end));
  return [joined(before), joined(after)].every((text) => text.indexOf(wanted) === text.lastIndexOf(wanted));
}

function hasLooseTwin(provenance: Provenance, { first, end }: Range): boolean {
  const { before, after, from, to } = provenance;
  const mine = before.texts.slice(first, end);
  const isLoose = (at: number) => {
    const twin = { first: from[at] ?? -1, end: (from[at] ?? -1) + mine.length };
    if (twin.first < 0 || !mine.every((_, k) => from[at + k] === twin.first + k)) return true;
    return [-1, 1].some((step) => unchangedBeside(provenance, twin, step === 1 ? 1 : -1).size < conclusive);
  };
  let found = 0;
  for (let at = after.texts.indexOf(mine[0] ?? ""); at >= 0; at = after.texts.indexOf(mine[0] ?? "", at + 1)) {
    if (at === to[first] || !mine.every((text, k) => after.texts[at + k] === text)) continue;
    if (++found > mostTwins || isLoose(at)) return true;
  }
  return false;
}
