import { applyPatch } from "diff";
import fc from "fast-check";
import { expect, test } from "vitest";
import { hunksBetween, unifiedDiff } from "./hunks.ts";

const text = fc
  .array(fc.constantFrom("a\n", "b\n", "c\n", "\n", "long line\n"), { maxLength: 40 })
  .chain((lines) => fc.boolean().map((ends) => (ends ? lines.join("") : lines.join("").replace(/\n$/, ""))));

test("applying the diff to the first text gives the second", () => {
  fc.assert(
    fc.property(text, text, fc.nat(4), fc.nat(200), (before, after, context, left) => {
      const hunks = hunksBetween(before, after, { context, budget: { left } });
      expect(applyPatch(before, unifiedDiff("a", "b", hunks))).toBe(after);
    }),
  );
});

test("changes with up to six lines between them are one hunk", () => {
  const lines = Array.from({ length: 40 }, (_, n) => `${n}\n`);
  const at = (...changed: number[]) =>
    hunksBetween(lines.join(""), lines.map((line, n) => (changed.includes(n) ? "x\n" : line)).join("")).length;
  expect([at(10, 17), at(10, 18), at(), at(0, 39)]).toEqual([1, 2, 0, 2]);
});

test("a missing line break at the end is shown as git shows it", () => {
  expect(unifiedDiff("a", "b", hunksBetween("one\ntwo", "one\ntwo\n"))).toBe(
    "--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+two\n",
  );
});
