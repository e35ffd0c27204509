import { expect, test } from "vitest";
import { nearest, suggest } from "./nearest.ts";

test.each([
  ["visoin", ["vision", "decisions", "api/errors"], "vision"],
  ["Vision", ["vision", "decisions"], "vision"],
  ["errors", ["vision", "api/errors"], "api/errors"],
  ["max_concurent_jobs", ["max_concurrent_jobs", "model"], "max_concurrent_jobs"],
  ["maxConcurrentJobs", ["max_concurrent_jobs", "model"], "max_concurrent_jobs"],
  ["task-01jx", ["task-01jxaaaa", "task-99"], "task-01jxaaaa"],
  ["enginer", ["engineer", "planner", "architect"], "engineer"],
  ["Enginere", ["engineer", "planner"], "engineer"],
  ["architecture", ["architect", "planner"], "architect"],
  ["reviewer", ["planner", "architect", "engineer", "agent"], undefined],
  ["x", ["planner", "agent"], undefined],
  ["wiki", ["engineer", "planner"], undefined],
  ["", ["engineer"], undefined],
])("P7: the nearest name to %j among %j is %j", (word, candidates, expected) => {
  expect(nearest(word, candidates)).toBe(expected);
});

test("P7: a name that resembles none lists the names, but never more than twenty", () => {
  expect(suggest("wiki", ["engineer", "planner"])).toBe("expected engineer or planner");
  expect(
    suggest(
      "zzzzzz",
      Array.from({ length: 300 }, (_, i) => `section-${i}`),
    ),
  ).toMatch(/section-19 or 280 more$/);
});
