import { expect, test } from "vitest";
import { nearest } from "./nearest.ts";

test.each([
  ["plannr", "planner"],
  ["Enginere", "engineer"],
  ["agnet", "agent"],
  ["architecture", "architect"],
  ["reviewer", undefined],
  ["x", undefined],
  ["", undefined],
])("P7: the nearest name to %j is %j", (given, expected) => {
  expect(nearest(given, ["planner", "architect", "engineer", "agent"])).toBe(expected);
});
