import { boundedDiff, newBudget, type Part } from "./bounded-diff.ts";

/** Changed lines with some unchanged ones around them. Lines start with a sign, as in a unified diff. */
export type Hunk = { oldStart: number; oldLines: number; newStart: number; newLines: number; lines: string[] };

type Row = { sign: "+" | "-" | " "; line: string; old: number; now: number };

const signs = { same: " ", added: "+", removed: "-" } as const;

/** The changes between two texts by lines, computed in bounded time. */
export function hunksBetween(before: string, after: string, { context = 3, budget = newBudget() } = {}): Hunk[] {
  const rows = rowsOf(boundedDiff(linesOf(before), linesOf(after), budget));
  const hunks: Hunk[] = [];
  let shownTo = 0;
  for (let at = 0; at < rows.length; at++) {
    if (rows[at]?.sign === " ") continue;
    const from = Math.max(shownTo, at - context);
    let end = at;
    // Changes that share their context are one hunk.
    for (let next = at; next < rows.length && next - end <= 2 * context; next++)
      if (rows[next]?.sign !== " ") end = next + 1;
    shownTo = Math.min(rows.length, end + context);
    hunks.push(hunkOf(rows.slice(from, shownTo)));
    at = shownTo - 1;
  }
  return hunks;
}

/** The hunks as a unified diff; empty without changes. */
export function unifiedDiff(from: string, to: string, hunks: readonly Hunk[]): string {
  if (hunks.length === 0) return "";
  const body = hunks.flatMap((hunk) => [
    `@@ -${rangeOf(hunk.oldStart, hunk.oldLines)} +${rangeOf(hunk.newStart, hunk.newLines)} @@`,
    ...hunk.lines,
  ]);
  return [`--- ${from}`, `+++ ${to}`, ...body, ""].join("\n");
}

/** An empty range names the line before it. */
const rangeOf = (start: number, lines: number) => `${lines === 0 ? start - 1 : start},${lines}`;

const linesOf = (text: string) => (text === "" ? [] : text.split(/(?<=\n)/));

function rowsOf(parts: Part<string>[]): Row[] {
  let [old, now] = [1, 1];
  return parts.flatMap(({ kind, items }) =>
    items.map((line) => {
      const row: Row = { sign: signs[kind], line, old, now };
      if (kind !== "added") old++;
      if (kind !== "removed") now++;
      return row;
    }),
  );
}

function hunkOf(rows: Row[]): Hunk {
  return {
    oldStart: rows[0]?.old ?? 1,
    oldLines: rows.filter(({ sign }) => sign !== "+").length,
    newStart: rows[0]?.now ?? 1,
    newLines: rows.filter(({ sign }) => sign !== "-").length,
    lines: rows.flatMap(({ sign, line }) =>
      line.endsWith("\n") ? [sign + line.slice(0, -1)] : [sign + line, "\\ No newline at end of file"],
    ),
  };
}
