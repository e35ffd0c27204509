import { openTurns } from "../kernel/turns.ts";
import { contradiction } from "./contradiction.ts";
import { plainText, withoutLogPrefix } from "./passages.ts";

/** A passage of the wiki. `id` is unique in it. */
export type Candidate = { id: string; text: string };
/** Passages that say nearly the same, or the same with other values; the most typical one first. */
export type Group = { kind: "same" | "contradicting"; ids: string[]; similarity: number };
export type Found = { groups: Group[]; compared: number; complete: boolean };

type Options = {
  /** Share of common shingles from which two passages are alike. */
  similarity?: number;
  /** Milliseconds; what is not compared until then is left out, and `complete` says so. */
  ms?: number;
  /** Groups; the largest are kept. */
  most?: number;
};

const wordsInShingle = 3;
const fewestWords = 5;
/** Signatures of 16 bands with 3 rows: passages that share half of their shingles meet in a band with 88 %. */
const bands = 16;
const rows = 3;
/** Passages in one bucket that are compared with each other; passages after one template may fill it with thousands. */
const mostInBucket = 64;
const mostBytes = 4000;

/**
 * Finds near-duplicates and contradictions among passages: shingles of words, MinHash signatures in bands, and an exact
 * comparison of those that meet. Time and memory grow with the number of passages, not with its square.
 */
export async function findDuplicates(
  passages: readonly Candidate[],
  { similarity = 0.6, ms = 20_000, most = 200 }: Options = {},
): Promise<Found> {
  const until = performance.now() + ms;
  const turns = openTurns();
  const texts: Candidate[] = [];
  const shingles: Uint32Array[] = [];
  const buckets = new Map<number, number[]>();
  const signature = new Uint32Array(bands * rows);
  let compared = 0;
  // The same text many times, such as a form letter, is compared once.
  const copies = new Map<string, string[]>();
  for (const passage of passages) {
    if (performance.now() > until) break;
    compared++;
    const said = saidIn(passage.text);
    const first = copies.get(said);
    if (first) {
      first.push(passage.id);
      continue;
    }
    copies.set(said, [passage.id]);
    const own = shinglesOf(passage.text);
    if (own.length === 0) continue;
    const at = texts.push(passage) - 1;
    shingles.push(own);
    sign(own, signature);
    for (let band = 0; band < bands; band++) {
      const key = bandKey(signature, band);
      const bucket = buckets.get(key);
      if (!bucket) buckets.set(key, [at]);
      else if (bucket.length < mostInBucket) bucket.push(at);
      else bucket[compared % mostInBucket] = at;
    }
    if (at % 64 === 0) await turns.next();
  }

  let complete = compared === passages.length;
  const pairs: { a: number; b: number; share: number; says: boolean }[] = [];
  const seen = new Set<number>();
  for (const bucket of buckets.values()) {
    if (bucket.length < 2) continue;
    if (performance.now() > until) {
      complete = false;
      break;
    }
    for (const [n, a] of bucket.entries())
      for (const b of bucket.slice(n + 1)) {
        const key = Math.min(a, b) * texts.length + Math.max(a, b);
        if (a === b || seen.has(key)) continue;
        seen.add(key);
        const share = common(shingles[a] as Uint32Array, shingles[b] as Uint32Array);
        const says = share >= similarity / 2 && contradicts(texts[a] as Candidate, texts[b] as Candidate);
        if (share >= similarity || says) pairs.push({ a, b, share, says });
      }
    await turns.next();
  }
  const isCopied = ({ text }: Candidate) => (copies.get(saidIn(text))?.length ?? 0) > 1;
  const copied = texts.flatMap((one, at) => (isCopied(one) ? { a: at, b: at, share: 1 } : []));
  const groups = [
    ...groupsOf([...copied, ...pairs.filter(({ says }) => !says)]).map((group) => ({
      kind: "same" as const,
      ...group,
    })),
    ...groupsOf(pairs.filter(({ says }) => says)).map((group) => ({ kind: "contradicting" as const, ...group })),
  ];
  const named = groups.map(({ kind, at, similarity }): Group => {
    const ids = at.flatMap((n) => copies.get(saidIn((texts[n] as Candidate).text)) ?? []);
    return { kind, similarity, ids };
  });
  const sorted = named.toSorted((x, y) => y.ids.length - x.ids.length || y.similarity - x.similarity);
  return {
    groups: sorted.slice(0, most),
    compared,
    complete: complete && sorted.length <= most,
  };
}

/** Without the marker of a list item, and without time and author of a log line. */
const saidIn = (text: string) => plainText(withoutLogPrefix(text));

const contradicts = (a: Candidate, b: Candidate) =>
  contradiction(a.text, [{ id: b.id, body: b.text }]) !== undefined &&
  contradiction(b.text, [{ id: a.id, body: a.text }]) !== undefined;

/** Connected pairs as one group, the passage with the most pairs first. */
function groupsOf(pairs: { a: number; b: number; share: number }[]): { at: number[]; similarity: number }[] {
  const above = new Map<number, number>();
  const top = (n: number): number => {
    let at = n;
    for (let up = above.get(at); up !== undefined && up !== at; up = above.get(at)) at = up;
    return at;
  };
  const links = new Map<number, number>();
  for (const { a, b } of pairs) {
    above.set(top(a), top(b));
    for (const n of [a, b]) links.set(n, (links.get(n) ?? 0) + 1);
  }
  const groups = new Map<number, { at: number[]; similarity: number }>();
  for (const n of links.keys()) {
    const group = groups.get(top(n)) ?? { at: [], similarity: 1 };
    group.at.push(n);
    groups.set(top(n), group);
  }
  for (const { a, share } of pairs) {
    const group = groups.get(top(a));
    if (group) group.similarity = Math.min(group.similarity, Math.round(share * 100) / 100);
  }
  for (const { at } of groups.values()) at.sort((x, y) => (links.get(y) ?? 0) - (links.get(x) ?? 0) || x - y);
  return [...groups.values()];
}

/** Hashes of three words in a row, sorted; of two characters in scripts without spaces. Empty for short texts. */
function shinglesOf(text: string): Uint32Array {
  const words = wordsOf(saidIn(text.slice(0, mostBytes)));
  if (words.length < fewestWords) return new Uint32Array();
  const found = new Set<number>();
  for (let at = 0; at + wordsInShingle <= words.length; at++)
    found.add(hash(words.slice(at, at + wordsInShingle).join(" ")));
  return Uint32Array.from(found).sort();
}

const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .match(/[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}]|[\p{L}\p{N}\p{M}_]+/gu) ?? [];

function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return mix(value, 0);
}

/** A permutation of 32-bit numbers for each seed. */
function mix(value: number, seed: number): number {
  let x = value ^ Math.imul(seed + 1, 0x9e3779b9);
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

function sign(shingles: Uint32Array, signature: Uint32Array): void {
  signature.fill(0xffffffff);
  for (const shingle of shingles)
    for (let seed = 0; seed < signature.length; seed++) {
      const value = mix(shingle, seed);
      if (value < (signature[seed] as number)) signature[seed] = value;
    }
}

/** Of 48 bits, so that different bands and values rarely share a bucket. */
function bandKey(signature: Uint32Array, band: number): number {
  let low = band;
  let high = Math.imul(band, 31);
  for (let row = 0; row < rows; row++) {
    low = mix(low ^ (signature[band * rows + row] as number), row);
    high = mix(high ^ (signature[band * rows + row] as number), row + 7);
  }
  return (high & 0xffff) * 0x1_0000_0000 + low;
}

/** Share of the shingles of either that both have. */
function common(a: Uint32Array, b: Uint32Array): number {
  let both = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [x, y] = [a[i] as number, b[j] as number];
    if (x === y) both++;
    if (x <= y) i++;
    if (y <= x) j++;
  }
  return both / (a.length + b.length - both);
}
