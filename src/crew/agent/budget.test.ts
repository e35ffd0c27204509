import { expect, test } from "vitest";
import { grant } from "./budget.ts";

const none = { tokens: 0, usd: 0 };

test.each([
  ["what fits is granted", { usd: 2 }, 1, 0, { usd: 1 }, { granted: { tokens: 10, usd: 1 } }],
  ["no budget grants everything", {}, 9, 0, { usd: 1 }, { granted: { tokens: 10, usd: 1 } }],
  [
    "an agent without a limit of its own needs all of it",
    { usd: 2 },
    1.5,
    0,
    { usd: 1 },
    { refused: expect.any(String) },
  ],
  ["what fits once others have settled waits for them", { usd: 2 }, 1.5, 1, { usd: 1 }, { wait: true }],
  [
    "an agent that stops at its limit takes what is left",
    { usd: 2 },
    1.5,
    0,
    { usd: 1, least: { tokens: 10, usd: 0.1 } },
    { granted: { tokens: 10, usd: 0.5, short: expect.stringContaining("the budget of the run is $2; $0.5 left") } },
  ],
  ["but waits for more first", { usd: 2 }, 1.5, 1, { usd: 1, least: { tokens: 10, usd: 0.1 } }, { wait: true }],
  [
    "and is not started for less than one call",
    { usd: 2 },
    1.95,
    0,
    { usd: 1, least: { tokens: 10, usd: 0.1 } },
    { refused: "the budget of the run is $2; $0.05 left, and the next call may take $0.1" },
  ],
  [
    "an unknown cost is refused with the choices",
    { usd: 2 },
    0,
    0,
    { usd: null },
    { refused: expect.stringContaining("--no-budget-usd") },
  ],
  [
    "an unknown cost does not matter to a budget in tokens",
    { tokens: 50 },
    0,
    0,
    { usd: null },
    { granted: { tokens: 10, usd: null } },
  ],
])("a budget: %s", (_name, allowance, spent, pending, wanted, decision) => {
  const sums = { ...none, usd: spent };
  expect(grant("run", allowance, sums, { ...none, usd: pending }, { tokens: 10, ...wanted })).toEqual(decision);
});
