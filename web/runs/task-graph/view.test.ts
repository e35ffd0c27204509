import { expect, test } from "vitest";
import { areaInSight, contains, fitted, nearest, revealing, zoomedAt } from "./view.ts";

const size = { width: 800, height: 600 };

test("what is under the pointer stays there while the view comes nearer", () => {
  const view = { x: 10, y: -40, zoom: 0.5 };
  const point = { x: 300, y: 200 };
  const before = { x: (point.x - view.x) / view.zoom, y: (point.y - view.y) / view.zoom };
  const after = zoomedAt(view, point, 1.7);
  expect((point.x - after.x) / after.zoom).toBeCloseTo(before.x);
  expect((point.y - after.y) / after.zoom).toBeCloseTo(before.y);
  expect(zoomedAt(view, point, 1000).zoom).toBe(nearest);
});

test("a drawing that fits is shown whole and no larger than it is; one that does not, from its beginning", () => {
  const small = { left: 0, top: 0, right: 200, bottom: 56 };
  expect(fitted(small, size, 0.35)).toEqual({ x: 300, y: 272, zoom: 1 });
  const wide = { left: 0, top: 0, right: 20_000, bottom: 1_800 };
  expect(fitted(wide, size, 0.35)).toEqual({ x: 24, y: 24, zoom: 0.35 });
  const seen = areaInSight(fitted(wide, size, 0.01), size);
  expect(contains(seen, wide)).toBe(true);
});

test("a view moves just as far as it must to show something", () => {
  const view = { x: 0, y: 0, zoom: 1 };
  const box = (left: number, top: number) => ({ left, top, right: left + 200, bottom: top + 56 });
  expect(revealing(view, size, box(100, 100))).toEqual(view);
  expect(revealing(view, size, box(700, 100))).toEqual({ x: -124, y: 0, zoom: 1 });
  expect(revealing(view, size, box(-300, 580))).toEqual({ x: 324, y: -60, zoom: 1 });
});
