import fc from "fast-check";
import { expect, test } from "vitest";
import { draws } from "../../test/support/thorough.ts";
import { findCycle, inOrder } from "./topological-order.ts";

const letters = ["a", "b", "c", "d", "e", "f", "g"];
const graphs = fc
  .tuple(...letters.map(() => fc.subarray(letters, { maxLength: 3 })))
  .map((all) => letters.map((name, at) => ({ name, dependsOn: all[at] ?? [] })));

test("O18: a circle is found and named from where it begins to where it ends", () => {
  const found = (lines: Record<string, string[]>) =>
    findCycle(Object.entries(lines).map(([name, dependsOn]) => ({ name, dependsOn })));
  expect(found({ a: ["b"], b: ["c"], c: ["a"] })).toEqual(["a", "b", "c", "a"]);
  expect(found({ x: ["a"], a: ["b"], b: ["a"] })).toEqual(["a", "b", "a"]);
  expect(found({ a: ["a"] })).toEqual(["a", "a"]);
  expect(found({ a: ["b", "c"], b: ["d"], c: ["d"], d: ["outside"] })).toBeUndefined();
});

test("O18: of any tasks that name each other, either a true circle is shown or there is an order", () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      const cycle = findCycle(graph);
      const needs = new Map(graph.map(({ name, dependsOn }) => [name, dependsOn]));
      if (cycle) {
        expect(cycle[0]).toBe(cycle.at(-1));
        cycle.slice(1).forEach((name, at) => {
          expect(needs.get(cycle[at] ?? "")).toContain(name);
        });
        return;
      }
      const order = inOrder(graph).map(({ name }) => name);
      expect([...order].sort()).toEqual(letters);
      for (const [name, before] of needs)
        for (const other of before) expect(order.indexOf(other)).toBeLessThan(order.indexOf(name));
    }),
    draws(500, 2000),
  );
});
