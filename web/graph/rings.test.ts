import { expect, test } from "vitest";
import { rings } from "./rings.ts";

test("the chosen node stands in the middle, and what is further away stands further out", () => {
  const placed = new Map(
    rings(
      ["a", "b", "c"],
      [
        { from: "a", to: "b" },
        { from: "c", to: "b" },
      ],
      "a",
    ).map((one) => [one.id, Math.hypot(one.x, one.y)]),
  );
  expect(placed.get("a")).toBe(0);
  expect(placed.get("b") ?? 0).toBeLessThan(placed.get("c") ?? 0);
});

test("nodes that nothing leads to are drawn as well, each in a place of its own", () => {
  const ids = Array.from({ length: 60 }, (_, at) => `n${at}`);
  const places = rings(ids, [], "n0").map(({ x, y }) => `${Math.round(x)} ${Math.round(y)}`);
  expect(new Set(places).size).toBe(60);
});
