import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boundedDiff, type Part } from "./bounded-diff.ts";

const side = (parts: Part<string>[], other: Part<string>["kind"]) =>
  parts.flatMap(({ kind, items }) => (kind === other ? [] : items));

const words = fc.array(fc.constantFrom("a", "b", "c", "d", "e", "f"), { maxLength: 30 });

test("the parts give both lists, alternate, and remove before they add", () => {
  fc.assert(
    fc.property(words, words, fc.nat(60), (before, after, left) => {
      const parts = boundedDiff(before, after, { left });
      expect(side(parts, "added")).toEqual(before);
      expect(side(parts, "removed")).toEqual(after);
      const kinds = parts.map(({ kind }) => kind).join(" ");
      expect(kinds).not.toMatch(/(same|added|removed) \1|added removed/);
    }),
  );
});

test("a change among lines that occur once is found without a budget", () => {
  const lines = Array.from({ length: 50 }, (_, n) => `line ${n}`);
  const after = lines.with(10, "ten").toSpliced(30, 1);
  const changed = boundedDiff(lines, after, { left: 0 }).filter(({ kind }) => kind !== "same");
  expect(changed).toEqual([
    { kind: "removed", items: ["line 10"] },
    { kind: "added", items: ["ten"] },
    { kind: "removed", items: ["line 30"] },
  ]);
});

describe("S7: the work is bounded, however large and different the lists are", () => {
  const shapes: [string, (n: number) => [string[], string[]]][] = [
    ["nothing in common", (n) => [numbers(n, "a"), numbers(n, "b")]],
    ["every second line changed", (n) => [numbers(n, "a"), numbers(n, "a").map((line, at) => (at % 2 ? "x" : line))]],
    ["two lines that alternate", (n) => [repeat(["a", "b"], n), repeat(["b", "b", "a"], n)]],
    ["reversed", (n) => [numbers(n, "a"), numbers(n, "a").reverse()]],
    ["one line many times", (n) => [repeat(["a"], n), repeat(["a"], 2 * n)]],
  ];
  test.each(shapes)("S7: %s", (_name, make) => {
    for (const n of [1_000, 10_000, 100_000]) {
      const [before, after] = make(n);
      const budget = { left: 20_000 };
      const parts = boundedDiff(before, after, budget);
      expect(budget.left).toBeGreaterThanOrEqual(0);
      expect(side(parts, "added").length).toBe(before.length);
      expect(side(parts, "removed").length).toBe(after.length);
    }
  });

  test("S7: diffs that share a budget use it once", () => {
    const budget = { left: 5_000 };
    for (let nth = 0; nth < 20; nth++) boundedDiff(numbers(500, `a${nth}`), numbers(500, `b${nth}`), budget);
    expect(budget.left).toBeGreaterThanOrEqual(0);
  });
});

const numbers = (n: number, name: string) => Array.from({ length: n }, (_, at) => `${name} ${at}`);
const repeat = (items: string[], n: number) => Array.from({ length: n }, (_, at) => items[at % items.length] ?? "");
