import { expect, test } from "vitest";
import { type RunResult, unknownUsage } from "../../agents/runner.ts";
import { bothSessions, endedWithoutDelivery, limitsLeft, reminder } from "./remind.ts";

const ended: RunResult = {
  exitCode: 0,
  errorTail: "",
  ended: "exit",
  usage: { ...unknownUsage, inputTokens: 100, outputTokens: 10, toolCalls: 2, messages: 3 },
  costUsd: 0.25,
  durationMs: 1000,
};

test.each<[string, Partial<RunResult>, { done?: boolean; tripped?: string }, boolean]>([
  ["its own end", {}, {}, true],
  ["its result, without exiting", { ended: "after-result", exitCode: null }, {}, true],
  ["an exit code", { exitCode: 1 }, {}, false],
  ["an error", { error: "no model" }, {}, false],
  ["a limit", { ended: "limit" }, {}, false],
  ["a stop", { ended: "stopped", exitCode: null }, {}, false],
  ["its delivery", {}, { done: true }, false],
  ["a tripped breaker", {}, { tripped: "limit of 50 tool calls reached" }, false],
])("W10: a program is reminded or not after %s", (_what, result, { done = false, tripped }, expected) => {
  const tools = { isDone: () => done, tripped: () => tripped };
  expect(endedWithoutDelivery({ ...ended, ...result }, tools)).toBe(expected);
});

test("W10: the second session has what the first left, and does not start without room or with an unknown cost", () => {
  const limits = { wallMs: 5000, toolCalls: 50, messages: 150, tokens: 1000, usd: 1 };
  const spent = { tokens: 110, usd: 0.25 };
  expect(limitsLeft(limits, ended, spent)).toEqual({
    ...{ wallMs: 4000, toolCalls: 48, messages: 147, tokens: 890, usd: 0.75 },
  });
  expect(limitsLeft({ wallMs: 5000 }, ended, null)).toEqual({ wallMs: 4000 });
  expect(limitsLeft({ wallMs: 5000, usd: 1 }, ended, null)).toBeUndefined();
  expect(limitsLeft({ wallMs: 1000 }, ended, spent)).toBeUndefined();
  expect(limitsLeft({ wallMs: 5000, tokens: 110 }, ended, spent)).toBeUndefined();
});

test("W10: both sessions are one result, whose figures are unknown if one of them is", () => {
  const use = {
    destination: "model:443",
    allowed: true,
    reason: null,
    requests: 1,
    bytes_sent: 10,
    bytes_received: 20,
  };
  const first = { ...ended, destinations: [use] };
  const both = bothSessions(first, { ...first, exitCode: 1, costUsd: null });
  expect(both).toMatchObject({ exitCode: 1, costUsd: null, durationMs: 2000 });
  expect(both.usage).toMatchObject({ inputTokens: 200, toolCalls: 4, cacheReadTokens: null });
  expect(both.destinations).toEqual([{ ...use, requests: 2, bytes_sent: 20, bytes_received: 40 }]);
});

test("W10: the reminder names the missing delivery and the last calls", () => {
  expect(reminder("submit_output", [])).toMatch(/without calling submit_output[\s\S]*no calls/);
  const many = Array.from({ length: 40 }, (_, i) => `read_file ${i}`);
  expect(reminder("submit_output", many)).toMatch(/the last 30 of 40:\n- read_file 10\n/);
});
