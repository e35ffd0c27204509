import { diffArrays } from "diff";

type Change = { start: number; end: number; lines: string[] };

/** The diff gives up beyond this many changed lines: it would take too long. */
const mostEdits = 4000;

/**
 * Three-way merge of a page by lines: the base, the present text, the proposed text. Undefined when changes
 * overlap or touch: a person then has to choose.
 */
export function mergeLines(base: string, theirs: string, yours: string): string | undefined {
  if (theirs === base || theirs === yours) return yours;
  if (yours === base) return theirs;
  const lines = linesOf(base);
  const [a, b] = [changesBetween(lines, linesOf(theirs)), changesBetween(lines, linesOf(yours))];
  if (!a || !b) return undefined;

  const merged: string[] = [];
  let at = 0;
  while (a.length > 0 || b.length > 0) {
    const [first, second] = [a[0], b[0]];
    if (first && second && meet(first, second)) {
      if (!same(first, second)) return undefined;
      b.shift();
      continue;
    }
    const next = !second || (first && first.start < second.start) ? a.shift() : b.shift();
    if (!next) break;
    merged.push(...lines.slice(at, next.start), ...next.lines);
    at = next.end;
  }
  merged.push(...lines.slice(at));
  // Only the last line of a text may lack a line break.
  return merged.map((line, i) => (i < merged.length - 1 && !line.endsWith("\n") ? `${line}\n` : line)).join("");
}

const linesOf = (text: string) => (text === "" ? [] : text.split(/(?<=\n)/));

/** Adjacent changes conflict too: two insertions at one place have no certain order. */
const meet = (a: Change, b: Change) => a.start <= b.end && b.start <= a.end;

const same = (a: Change, b: Change) => a.start === b.start && a.end === b.end && a.lines.join("") === b.lines.join("");

function changesBetween(before: string[], after: string[]): Change[] | undefined {
  const parts = diffArrays(before, after, { maxEditLength: mostEdits });
  if (!parts) return undefined;
  const changes: Change[] = [];
  let at = 0;
  let open: Change | undefined;
  for (const { added, removed, value } of parts) {
    if (!added && !removed) {
      open = undefined;
      at += value.length;
      continue;
    }
    if (!open) {
      open = { start: at, end: at, lines: [] };
      changes.push(open);
    }
    if (added) open.lines.push(...value);
    else {
      at += value.length;
      open.end = at;
    }
  }
  return changes;
}
