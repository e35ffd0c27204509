import fc from "fast-check";
import { expect, test } from "vitest";
import { mergeLines } from "./merge-lines.ts";

const base = "one\ntwo\nthree\nfour\nfive\n";

test.each([
  [
    "changes of lines far apart both stand",
    "ONE\ntwo\nthree\nfour\nfive\n",
    "one\ntwo\nthree\nfour\nFIVE\n",
    "ONE\ntwo\nthree\nfour\nFIVE\n",
  ],
  [
    "the same change of both is made once",
    "one\n2\nthree\nfour\nfive\n",
    "one\n2\nthree\nfour\n5\n",
    "one\n2\nthree\nfour\n5\n",
  ],
  ["a removal and an addition elsewhere", "two\nthree\nfour\nfive\n", `${base}six\n`, "two\nthree\nfour\nfive\nsix\n"],
  ["two changes of one line meet", "one\n2\nthree\nfour\nfive\n", "one\nzwei\nthree\nfour\nfive\n", undefined],
  ["changes of neighbouring lines meet", "ONE\ntwo\nthree\nfour\nfive\n", "one\nTWO\nthree\nfour\nfive\n", undefined],
  ["two additions at one place meet", `${base}six\n`, `${base}seven\n`, undefined],
  [
    "a lost line end and a change elsewhere both stand",
    "one\ntwo\nthree\nfour\nfive",
    "ONE\ntwo\nthree\nfour\nfive\n",
    "ONE\ntwo\nthree\nfour\nfive",
  ],
])("%s", (_what, theirs, yours, merged) => {
  expect(mergeLines(base, theirs, yours)).toBe(merged);
});

const words = fc.array(fc.constantFrom("a\n", "b\n", "c\n", "d\n", "\n"), { maxLength: 12 });

test("a clean merge is the same from both sides, and one side alone is taken whole", () => {
  fc.assert(
    fc.property(words, words, words, (b, t, y) => {
      const [base, theirs, yours] = [b.join(""), t.join(""), y.join("")];
      expect(mergeLines(base, theirs, yours)).toBe(mergeLines(base, yours, theirs));
      expect(mergeLines(base, base, yours)).toBe(yours);
      expect(mergeLines(base, theirs, base)).toBe(theirs);
    }),
  );
});

test("no line that someone added is lost in a clean merge, and none that someone removed returns", () => {
  fc.assert(
    fc.property(fc.nat(19), fc.nat(19), (i, j) => {
      const lines = Array.from({ length: 20 }, (_, n) => `line ${n}\n`);
      const theirs = lines.with(i, "theirs\n").join("");
      const yours = lines.toSpliced(j, 1).join("");
      const merged = mergeLines(lines.join(""), theirs, yours);
      expect(merged === undefined).toBe(Math.abs(i - j) <= 1);
      if (merged !== undefined) expect(merged).toBe(lines.with(i, "theirs\n").toSpliced(j, 1).join(""));
    }),
  );
});
