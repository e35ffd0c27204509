import { boundedDiff, type DiffBudget, newBudget } from "../../kernel/bounded-diff.ts";
import { isFaithful } from "./faithful.ts";
import { parseTree } from "./tree.ts";

type Change = { start: number; end: number; lines: string[] };

/**
 * Three-way merge of a page by lines: the base, the present text, the proposed text. Undefined when changes overlap or
 * touch, or a line would end up below another heading: a person then has to choose.
 */
export function mergeLines(base: string, theirs: string, yours: string, budget = newBudget()): string | undefined {
  if (theirs === base || theirs === yours) return yours;
  if (yours === base) return theirs;
  const lines = linesOf(base);
  const [a, b] = [changesBetween(lines, linesOf(theirs), budget), changesBetween(lines, linesOf(yours), budget)];

  const pieces: string[][] = [];
  let [at, i, j] = [0, 0, 0];
  while (i < a.length || j < b.length) {
    const [first, second] = [a[i], b[j]];
    if (first && second && meet(first, second)) {
      if (!same(first, second)) return undefined;
      j++;
      continue;
    }
    const next = !second || (first && first.start < second.start) ? a[i++] : b[j++];
    if (!next) break;
    pieces.push(lines.slice(at, next.start), next.lines);
    at = next.end;
  }
  pieces.push(lines.slice(at));
  const merged = pieces.flat();
  // Only the last line of a text may lack a line break.
  const text = merged.map((line, i) => (i < merged.length - 1 && !line.endsWith("\n") ? `${line}\n` : line)).join("");
  const [before, their, your, m] = [base, theirs, yours, text].map(parseTree);
  return before && their && your && m && isFaithful({ b: before, t: their, y: your, m }) ? text : undefined;
}

const linesOf = (text: string) => (text === "" ? [] : text.split(/(?<=\n)/));

/** Adjacent changes conflict too: two insertions at one place have no certain order. */
const meet = (a: Change, b: Change) => a.start <= b.end && b.start <= a.end;

const same = (a: Change, b: Change) => a.start === b.start && a.end === b.end && a.lines.join("") === b.lines.join("");

function changesBetween(before: string[], after: string[], budget: DiffBudget): Change[] {
  const changes: Change[] = [];
  let at = 0;
  let open: Change | undefined;
  for (const { kind, items } of boundedDiff(before, after, budget)) {
    if (kind === "same") {
      open = undefined;
      at += items.length;
      continue;
    }
    if (!open) {
      open = { start: at, end: at, lines: [] };
      changes.push(open);
    }
    if (kind === "added") open.lines = items;
    else {
      at += items.length;
      open.end = at;
    }
  }
  return changes;
}
