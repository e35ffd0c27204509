import { expect, test } from "vitest";
import { layers } from "./layers.ts";

test("a task stands right of everything it waits for", () => {
  const placed = new Map(
    layers([
      { id: "c", after: ["a", "b"] },
      { id: "a", after: [] },
      { id: "b", after: ["a"] },
    ]).map(({ id, x }) => [id, x]),
  );
  expect(placed.get("a")).toBeLessThan(placed.get("b") ?? 0);
  expect(placed.get("b")).toBeLessThan(placed.get("c") ?? 0);
});

test("no two of 2,000 tasks stand in one place", () => {
  const items = Array.from({ length: 2000 }, (_, at) => ({
    id: `t${at}`,
    after: at < 10 ? [] : [`t${at % 10}`, `t${at - 10}`],
  }));
  const places = new Set(layers(items).map(({ x, y }) => `${x} ${y}`));
  expect(places.size).toBe(2000);
});

test("a ring of tasks does not keep the drawing from ending", () => {
  expect(
    layers([
      { id: "a", after: ["b"] },
      { id: "b", after: ["a"] },
    ]),
  ).toHaveLength(2);
});
