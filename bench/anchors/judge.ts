/**
 * Judges a place for a passage of a real document by six comparisons that git makes, none of which shares code with
 * ours. Where they disagree, the verdict is "unclear". The rules are in bench/README.md.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Refound } from "../../src/review/topics/anchor.ts";
import { holds, survival, type Tracked } from "../../test/support/tracked-text.ts";
import type { Span } from "./edits.ts";

export type Verdict = "right" | "asked" | "orphaned" | "wrong" | "unclear";

const algorithms = ["--patience", "--histogram", "--minimal"];

/** The new text with the origin of each character, once for each comparison. */
export function comparisonsOf(before: string, after: string, folder: string): Tracked[] {
  const [old, now] = [tokensOf(before), tokensOf(after)];
  const ids = new Map<string, string>();
  for (const { text } of [...old, ...now]) if (!ids.has(text)) ids.set(text, `t${ids.size}`);
  // Of two equal neighbours git keeps the first. Read backwards, it keeps the other one.
  return [false, true].flatMap((backwards) => {
    const [one, other] = [join(folder, "before"), join(folder, "after")];
    writeFileSync(one, spelled(old, ids, backwards));
    writeFileSync(other, spelled(now, ids, backwards));
    return algorithms.map((algorithm) => {
      const pairs = wordDiff([algorithm, one, other], old.length, now.length);
      const from = backwards ? mirrored(pairs, old.length) : pairs;
      pairMoved(old, now, from);
      return { text: after, origins: originsOf(old, now, from) };
    });
  });
}

type Token = { text: string; start: number; line: number; indent: string };

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let start = 0;
  for (const [line, content] of text.split("\n").entries()) {
    const indent = /^\s*/.exec(content)?.[0] ?? "";
    for (const match of content.matchAll(/[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu))
      tokens.push({ text: match[0], start: start + match.index, line, indent });
    start += content.length + 1;
  }
  return tokens;
}

/** The text with a number for each word and mark, so that git and we agree about what a word is. */
function spelled(tokens: Token[], ids: Map<string, string>, backwards: boolean): string {
  const last = tokens.at(-1)?.line ?? 0;
  const lines: string[][] = Array.from({ length: last + 1 }, () => []);
  const indents: string[] = [];
  for (const { text, line, indent } of tokens) {
    lines[line]?.push(ids.get(text) ?? "");
    indents[line] = indent;
  }
  const spelledLines = lines.map((line, n) => `${indents[n] ?? ""}${(backwards ? line.reverse() : line).join(" ")}\n`);
  return (backwards ? spelledLines.reverse() : spelledLines).join("");
}

/** For each token of the new text, the one of the old text that git pairs with it, or -1. */
function wordDiff(args: string[], oldCount: number, nowCount: number): number[] {
  const options = ["diff", "--no-index", "--no-color", "--no-ext-diff", "--word-diff=porcelain", "-U1000000"];
  const { stdout, status, stderr } = spawnSync("git", [...options, ...args], { encoding: "utf8", maxBuffer: 1 << 28 });
  if (status !== 0 && status !== 1) throw new Error(`git diff failed: ${stderr}`);
  const from = Array.from({ length: nowCount }, (_, n) => (status === 0 ? n : -1));
  if (status === 0) return from;
  let [o, n] = [0, 0];
  for (const line of stdout
    .slice(stdout.indexOf("\n@@") + 1)
    .split("\n")
    .slice(1)) {
    const count = line.slice(1).match(/\S+/g)?.length ?? 0;
    if (line.startsWith(" ")) for (let k = 0; k < count; k++) from[n + k] = o + k;
    if (line.startsWith(" ") || line.startsWith("-")) o += count;
    if (line.startsWith(" ") || line.startsWith("+")) n += count;
  }
  if (o !== oldCount || n !== nowCount) throw new Error("git diff shows other words than the texts have");
  return from;
}

const mirrored = (from: number[], oldCount: number) =>
  from.map((origin) => (origin < 0 ? -1 : oldCount - 1 - origin)).reverse();

const isWord = (text: string) => /[\p{L}\p{M}\p{N}]/u.test(text);
const wordsInARow = 3;

/** Git compares in order. Words that it calls deleted and added were moved if three in a row occur once in each text. */
function pairMoved(old: Token[], now: Token[], from: number[]): void {
  const isPaired = new Set(from);
  const [mine, theirs] = [rowsOf(old), rowsOf(now)];
  for (const [row, origins] of mine) {
    const places = theirs.get(row);
    if (!origins || !places) continue;
    for (const [k, origin] of origins.entries()) {
      const place = places[k] ?? -1;
      if (isPaired.has(origin) || from[place] !== -1) continue;
      from[place] = origin;
      isPaired.add(origin);
    }
  }
}

/** Three words in a row with their indexes; undefined if they occur more than once. */
function rowsOf(tokens: Token[]): Map<string, number[] | undefined> {
  const words = tokens.flatMap(({ text }, n) => (isWord(text) ? [n] : []));
  const rows = new Map<string, number[] | undefined>();
  for (let at = 0; at + wordsInARow <= words.length; at++) {
    const row = words.slice(at, at + wordsInARow);
    const key = row.map((n) => tokens[n]?.text).join(" ");
    rows.set(key, rows.has(key) ? undefined : row);
  }
  return rows;
}

function originsOf(old: Token[], now: Token[], from: number[]): number[] {
  const end = now.at(-1);
  const origins: number[] = Array.from({ length: end ? end.start + end.text.length : 0 }, () => -1);
  for (const [n, origin] of from.entries()) {
    const [was, is] = [old[origin], now[n]];
    for (let c = 0; was && is && c < is.text.length; c++) origins[is.start + c] = was.start + c;
  }
  return origins;
}

export function verdictOn(before: string, comparisons: Tracked[], passage: Span, found: Refound): Verdict {
  if (found.state === "needs-review") return "asked";
  const verdictsBy = (list: Tracked[]) => list.map((now) => verdictBy(before, now, passage, found));
  const verdicts = new Set(verdictsBy(comparisons));
  if (verdicts.has("wrong"))
    for (const verdict of verdictsBy(equallyLong(comparisons, before, passage, found.anchor))) verdicts.add(verdict);
  const [only] = verdicts;
  return verdicts.size === 1 && only ? only : "unclear";
}

/**
 * For each comparison the one that is as long and pairs words of the passage with equal words of the place instead of
 * others. Words may be exchanged if no pair is between the two, so that the order stays the same.
 */
export const equallyLong = (comparisons: Tracked[], before: string, passage: Span, place: Span): Tracked[] =>
  comparisons.map((now) => exchanged(now, before, passage, place));

function exchanged(now: Tracked, before: string, passage: Span, place: Span): Tracked {
  const words = tokensOf(now.text).filter(({ text }) => isWord(text));
  const origins = [...now.origins];
  const originOf = (at: number) => origins[words[at]?.start ?? -1] ?? -1;
  const mine = tokensOf(before).filter(
    ({ text, start }) => start >= passage.start && start < passage.end && isWord(text),
  );
  for (const { text, start } of mine) {
    const paired = words.findIndex((_, at) => originOf(at) === start);
    if (paired < 0) continue;
    const isBetween = (at: number, n: number) => n > Math.min(at, paired) && n < Math.max(at, paired);
    const free = words.findIndex(
      (word, at) =>
        word.start >= place.start &&
        word.start < place.end &&
        word.text === text &&
        originOf(at) < 0 &&
        !words.some((_, n) => isBetween(at, n) && originOf(n) >= 0),
    );
    const [from, to] = [words[paired]?.start ?? 0, words[free]?.start ?? -1];
    if (to < 0 || (from >= place.start && from < place.end)) continue;
    for (let c = 0; c < text.length; c++) [origins[from + c], origins[to + c]] = [-1, start + c];
  }
  return { text: now.text, origins };
}

function verdictBy(before: string, now: Tracked, passage: Span, found: Refound): Verdict {
  if (found.state === "orphaned") return survival(before, now, passage) < 0.5 ? "right" : "orphaned";
  return holds(before, now, passage, found.anchor) ? "right" : "wrong";
}
