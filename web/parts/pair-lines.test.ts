import { expect, test } from "vitest";
import { pairLines } from "./pair-lines.ts";

test.each([
  [
    "as many lines are paired in order",
    ["a", "b"],
    ["c", "d"],
    [
      [0, 0],
      [1, 1],
    ],
  ],
  [
    "a line that became two is paired with the one like it",
    ["We deploy on Fridays."],
    ["Read this first.", "We deploy on Tuesdays."],
    [[0, 1]],
  ],
  ["lines that share no words are not paired", ["Then pray."], ["Watch the rate.", "Go home."], []],
  [
    "pairs never cross",
    ["one two three", "four five six"],
    ["four five seven", "new line here", "one two eight"],
    [[1, 0]],
  ],
  ["lines without words are not paired", ["---"], ["***", "+++"], []],
] as [string, string[], string[], number[][]][])("U11: %s", (_, removed, added, pairs) => {
  expect(pairLines(removed, added)).toEqual(pairs);
});
