import { expect, test } from "vitest";
import { choose, type Term, tellingIn } from "./choose.ts";

const limits = { candidates: 2000, share: 0.01, ranked: 8000 };
const terms = (counts: Record<string, number>): Term[] =>
  Object.entries(counts).map(([word, count]) => ({ word, count }));

test.each([
  ["all words choose while they are in few passages", { a: 900, b: 100 }, 10_000, "b a", "", false],
  ["the larger the index, the more are chosen", { a: 1500, b: 9000, c: 600 }, 400_000, "c a", "b", false],
  ["the rarest choose, the others only add to the scores", { a: 1500, b: 9000, c: 600 }, 100_000, "c", "a b", false],
  ["the rarest chooses by itself, however common", { a: 5000, b: 6000 }, 100_000, "a", "b", false],
  ["a word in more than half of the passages is left out beside another", { a: 60, b: 10 }, 100, "b", "", false],
  ["and is looked for where there is no other", { a: 60, b: 0 }, 100, "a", "", false],
  ["of words that are all common the rarest are taken", { a: 9000, b: 60_000, c: 8500 }, 100_000, "c a", "", true],
])("%s", (_, counts, passages, selecting, scoring, isCommon) => {
  const chosen = choose(terms(counts), passages, limits);
  const words = (list: Term[] | undefined) => list?.map(({ word }) => word).join(" ");
  expect([words(chosen?.selecting), words(chosen?.scoring), chosen?.isCommon]).toEqual([selecting, scoring, isCommon]);
});

test("without a word that occurs there is nothing to rank", () => {
  expect(choose(terms({ a: 0 }), 10, limits)).toBeUndefined();
  expect(choose([], 10, limits)).toBeUndefined();
});

test.each([
  ["a common word beside a rarer one is not telling", { a: 900, b: 40 }, "b"],
  ["nor beside a word that does not occur", { a: 900, zebra: 0 }, "zebra"],
  ["unless that may be half typed", { a: 900, ze: 0 }, "a ze"],
  ["or says nothing itself", { a: 900, waht: 0 }, "a waht"],
  ["a common word by itself is", { a: 900 }, "a"],
  ["and words that are all common are", { a: 900, b: 800 }, "a b"],
])("of the words of a query, %s", (_, counts, telling) => {
  const all = terms(counts);
  const isTelling = tellingIn(all, 1000, (word) => word === "waht");
  expect(
    all
      .filter(isTelling)
      .map(({ word }) => word)
      .join(" "),
  ).toBe(telling);
});
