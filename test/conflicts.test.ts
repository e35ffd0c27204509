import { expect, onTestFinished, test } from "vitest";
import { contradictions, type Pair, pairs } from "../bench/conflicts/pairs.ts";
import { areBothGreen, replay } from "../bench/conflicts/replay.ts";
import { openPlace } from "../bench/support/place.ts";

const named = (name: string): Pair => {
  const found = [...pairs, ...contradictions].find((pair) => pair.name === name);
  if (!found) throw new Error(`no pair ${name}`);
  return found;
};

test("O8: the conflicts bench has thirty pairs", () => {
  expect(new Set(pairs.map(({ name }) => name)).size).toBe(30);
});

// One that git merges, one that conflicts in the text, one that is red only after the merge, one that cannot be solved.
test.each([
  ["cart: additive, apart", "green", { end: "green", accepted: 2, attempts: 2 }],
  ["inventory: same function", "conflict", { end: "green", accepted: 2, attempts: 4 }],
  ["timesheet: rename and new use", "red", { end: "green", accepted: 2, attempts: 3, checkConflicts: 1 }],
  ["cart: contradiction", "conflict", { end: "green", accepted: 1, attempts: 4 }],
])("O8: of two features at the same time a crew accepts only what is green together: %s", async (name, naive, crew) => {
  const place = openPlace();
  onTestFinished(() => place.leave());
  const pair = named(name);
  if (!pair.contradicts) expect(await areBothGreen(place, pair)).toBe(true);
  expect(await replay(place, pair, "none")).toMatchObject({ naive, crew });
});
