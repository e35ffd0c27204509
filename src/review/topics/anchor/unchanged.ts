import { boundedDiff } from "../../../kernel/bounded-diff.ts";
import type { Span } from "./views.ts";

/** Consecutive lines that both texts have. */
export type LineRun = { before: number; after: number; length: number };

/** The runs of lines that an edit did not change, in order. */
export function unchangedLines(before: string, after: string): LineRun[] {
  const runs: LineRun[] = [];
  const at: LineRun = { before: 0, after: 0, length: 0 };
  for (const { kind, items } of boundedDiff(linesOf(before), linesOf(after))) {
    const length = items.reduce((sum, line) => sum + line.length, 0);
    if (kind === "same") runs.push({ ...at, length });
    if (kind !== "added") at.before += length;
    if (kind !== "removed") at.after += length;
  }
  return runs;
}

/** The stretch of each text between the unchanged lines around a passage. */
export type Gap = { before: Span; after: Span };

/** Shorter runs, such as blank lines and fences, may be equal by chance and prove nothing. */
const weight = 20;

export function gapAround(runs: LineRun[], before: string, after: string, passage: Span): Gap {
  const gap: Gap = { before: { start: 0, end: before.length }, after: { start: 0, end: after.length } };
  for (const run of runs) {
    if (!bearsWeight(before, run)) continue;
    const end = run.before + run.length;
    if (run.before < passage.start) {
      gap.before.start = Math.min(end, passage.start);
      gap.after.start = run.after + gap.before.start - run.before;
    }
    if (end > passage.end) {
      gap.before.end = Math.max(run.before, passage.end);
      gap.after.end = run.after + gap.before.end - run.before;
      break;
    }
  }
  return gap;
}

/** The stretches of the new text outside unchanged lines. */
export function insertions(runs: LineRun[], after: string): Span[] {
  const spans: Span[] = [];
  let last = 0;
  for (const run of [...runs, { before: 0, after: after.length, length: 0 }]) {
    if (run.after > last) spans.push({ start: last, end: run.after });
    last = run.after + run.length;
  }
  return spans;
}

function bearsWeight(text: string, run: LineRun): boolean {
  let visible = 0;
  for (let i = run.before; i < run.before + run.length; i++) {
    if (text.charCodeAt(i) > 32 && ++visible >= weight) return true;
  }
  return false;
}

export const linesOf = (text: string) => text.match(/[^\n]*\n|[^\n]+/g) ?? [];
