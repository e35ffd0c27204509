import { expect, test } from "vitest";
import { currentBudget, raisesBudget } from "./run-budget.ts";

test.each([
  [10, undefined, false],
  [10, 10, false],
  [10, 5, false],
  [10, 11, true],
  [10, null, true],
  [null, 1000, false],
  [null, null, false],
])("a limit of %s that becomes %s is raised: %s", (current, asked, raised) => {
  expect(raisesBudget({ tokens: current, usd: null }, { tokens: asked })).toBe(raised);
  expect(raisesBudget({ tokens: null, usd: current }, { usd: asked })).toBe(raised);
});

test("the configured budget limits a run until it starts with its own", () => {
  const own = { startedAt: null, budgetTokens: null, budgetUsd: 2 };
  expect(currentBudget(own, { run_tokens: 500, run_usd: 9 })).toEqual({ tokens: 500, usd: 2 });
  expect(currentBudget({ ...own, startedAt: "2026" }, { run_tokens: 500 })).toEqual({ tokens: null, usd: 2 });
});
