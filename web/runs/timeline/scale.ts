import type { Output } from "../../client/call.ts";

export type Stage = Output<"run_timeline">["stages"][number];

/** The part of the timeline in sight, in milliseconds. */
export type Range = { from: number; to: number };

const shortestMs = 20;

/** Zooms about a time, within the whole. */
export function zoomed({ from, to }: Range, factor: number, about: number, whole: number): Range {
  const length = Math.min(whole, Math.max(shortestMs, (to - from) / factor));
  const share = (about - from) / Math.max(1, to - from);
  return within({ from: about - share * length, to: about + (1 - share) * length }, whole);
}

/** Moves a range into the whole without changing its length, unless it is longer. */
export function within({ from, to }: Range, whole: number): Range {
  const length = Math.min(whole, to - from);
  const start = Math.max(0, Math.min(from, whole - length));
  return { from: start, to: start + length };
}

/** The smallest move after which the stage is in sight. */
export function revealing(range: Range, { start_ms: start, end_ms: end }: Stage, whole: number): Range {
  const length = range.to - range.from;
  const margin = length * 0.05;
  if (start < range.from) return within({ from: start - margin, to: start - margin + length }, whole);
  const last = Math.min(end ?? whole, start + length * 0.9);
  if (last > range.to) return within({ from: last + margin - length, to: last + margin }, whole);
  return range;
}

const sizes = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000];
const longer = [300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 43_200_000, 86_400_000];

/** Times for the axis, about `count` of them. */
export function ticksOf({ from, to }: Range, count: number): number[] {
  const wanted = (to - from) / Math.max(1, count);
  const size = [...sizes, ...longer].find((one) => one >= wanted) ?? Math.ceil(wanted / 86_400_000) * 86_400_000;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / size) * size; at <= to; at += size) ticks.push(at);
  return ticks;
}

/** The stage that an arrow key leads to: left and right by time in the lane, up and down to the nearest in another. */
export function stepFrom(stages: Stage[], at: number, key: string): number | undefined {
  const here = stages[at];
  if (!here) return;
  if (key === "Home") return 0;
  if (key === "End") return stages.length - 1;
  if (key === "ArrowRight") {
    const next = stages.findIndex(({ lane }, n) => n > at && lane === here.lane);
    return next < 0 ? undefined : next;
  }
  if (key === "ArrowLeft") {
    const before = stages.slice(0, at).findLastIndex(({ lane }) => lane === here.lane);
    return before < 0 ? undefined : before;
  }
  if (key !== "ArrowDown" && key !== "ArrowUp") return;
  const isDown = key === "ArrowDown";
  const lanes = stages.map(({ lane }) => lane).filter((lane) => (isDown ? lane > here.lane : lane < here.lane));
  if (lanes.length === 0) return;
  const lane = isDown ? Math.min(...lanes) : Math.max(...lanes);
  let best: number | undefined;
  for (const [n, stage] of stages.entries()) {
    if (stage.lane !== lane) continue;
    const distance = Math.abs(stage.start_ms - here.start_ms);
    if (best === undefined || distance < Math.abs((stages[best]?.start_ms ?? 0) - here.start_ms)) best = n;
  }
  return best;
}
