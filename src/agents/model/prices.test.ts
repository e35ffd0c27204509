import { expect, test } from "vitest";
import { priceOf, priceOfProgram } from "./prices.ts";

test.each([
  ["claude", undefined, 5, false],
  ["claude", "opus", 5, true],
  ["claude", "sonnet", 3, true],
  ["claude", "claude-haiku-4-5-20251001", 1, true],
  ["claude", "claude-opus-4-1", 15, true],
  ["claude", "a-model-behind-a-proxy", 5, false],
  ["codex", undefined, 1.25, false],
  ["codex", "gpt-5-mini", 0.25, true],
] as const)("%s with the model %s costs $%d per million input tokens", (program, model, input, isExact) => {
  expect(priceOfProgram(program, model)).toMatchObject({ price: { input }, isExact });
});

test("a price in the configuration overrides the list, and makes an unlisted model known", () => {
  const own = { "claude-opus-4-8": { input: 4, output: 20 }, "house/model": { input: 0, output: 0 } };
  expect(priceOfProgram("claude", "claude-opus-4-8", own)).toEqual({ price: { input: 4, output: 20 }, isExact: true });
  expect(priceOf("house/model", own)).toEqual({ input: 0, output: 0 });
  expect(priceOfProgram("command", "house/model", own)?.isExact).toBe(true);
  expect(priceOfProgram("command", undefined, own)).toBeUndefined();
});
