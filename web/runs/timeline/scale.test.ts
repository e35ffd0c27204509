import { expect, test } from "vitest";
import { revealing, type Stage, stepFrom, ticksOf, zoomed } from "./scale.ts";

const stage = (lane: number, start: number, end: number | null): Stage => ({
  ...{ lane, task: `t${start}`, number: "1.1", attempt: 1, epoch: 1, phase: "work", outcome: null },
  ...{ start_ms: start, end_ms: end },
});

test("O15: zooming keeps the time under the pointer, and stays in the run", () => {
  expect(zoomed({ from: 0, to: 1000 }, 2, 500, 1000)).toEqual({ from: 250, to: 750 });
  expect(zoomed({ from: 250, to: 750 }, 0.25, 500, 1000)).toEqual({ from: 0, to: 1000 });
  expect(zoomed({ from: 0, to: 1000 }, 4, 0, 1000)).toEqual({ from: 0, to: 250 });
});

test("O15: a stage out of sight is moved into it", () => {
  expect(revealing({ from: 0, to: 100 }, stage(0, 40, 60), 1000)).toEqual({ from: 0, to: 100 });
  const { from, to } = revealing({ from: 0, to: 100 }, stage(0, 400, 420), 1000);
  expect([from <= 400, to >= 420, to - from]).toEqual([true, true, 100]);
});

test("O15: the axis has round times", () => {
  expect(ticksOf({ from: 0, to: 60_000 }, 6)).toEqual([0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
});

test("O15: arrow keys go along a lane and to the nearest stage of the next", () => {
  const stages = [stage(0, 0, 10), stage(1, 5, 9), stage(0, 20, 30), stage(1, 22, null)];
  expect(stepFrom(stages, 0, "ArrowRight")).toBe(2);
  expect(stepFrom(stages, 2, "ArrowLeft")).toBe(0);
  expect(stepFrom(stages, 2, "ArrowDown")).toBe(3);
  expect(stepFrom(stages, 1, "ArrowUp")).toBe(0);
  expect(stepFrom(stages, 1, "ArrowDown")).toBeUndefined();
});
