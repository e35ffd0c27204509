import { expect, test } from "vitest";
import { attemptEpoch, lanesOf, spansOf } from "./timeline.ts";

const none = {
  started: 0,
  agent: null,
  workerEnded: null,
  qcStarted: null,
  verifier: null,
  ended: null,
  gate: null,
  completed: null,
  isPassed: false,
};
const spelled = (times: Partial<typeof none> & object) => {
  const { work, verify } = spansOf({ ...none, ...times });
  return [...work, ...verify].map(({ phase, start, end }) => `${phase} ${start}-${end ?? ""}`);
};

test.each([
  ["an attempt that was claimed", {}, ["preparing 0-"]],
  ["a worker that works", { agent: 5 }, ["preparing 0-5", "work 5-"]],
  ["a worker that was stopped", { agent: 5, workerEnded: 9, ended: 9 }, ["preparing 0-5", "work 5-9"]],
  ["an output that waits", { agent: 5, workerEnded: 9 }, ["preparing 0-5", "work 5-9", "waiting 9-"]],
  ["checks", { agent: 0, workerEnded: 9, qcStarted: 9 }, ["work 0-9", "checks 9-"]],
  [
    "an accepted result",
    { agent: 0, workerEnded: 9, qcStarted: 12, verifier: 14, ended: 20, completed: 25, isPassed: true },
    ["work 0-9", "waiting 9-12", "checks 12-14", "verification 14-20", "merge 20-25"],
  ],
  [
    "a result at its gate",
    {
      agent: 0,
      workerEnded: 9,
      qcStarted: 9,
      verifier: 9,
      ended: 20,
      gate: { held: 20, decided: null },
      isPassed: true,
    },
    ["work 0-9", "checks 9-9", "verification 9-20", "approval 20-"],
  ],
  [
    "a rejected result",
    { agent: 0, workerEnded: 9, qcStarted: 9, verifier: 10, ended: 20 },
    ["work 0-9", "checks 9-10", "verification 10-20"],
  ],
] as [string, Partial<typeof none>, string[]][])(
  "O15: the phases of %s follow from its times",
  (_, times, expected) => {
    expect(spelled(times)).toEqual(expected);
  },
);

test("O15: a group has as many lanes as it had workers that were busy at once", () => {
  const block = (group: string, start: number, end: number | null) => ({ group, start, end, of: `${group}${start}` });
  const { lanes, placed } = lanesOf([block("a", 0, 10), block("a", 5, null), block("b", 6, 7), block("a", 10, 12)]);
  expect(lanes).toEqual([
    { group: "a", n: 0 },
    { group: "a", n: 1 },
    { group: "b", n: 0 },
  ]);
  expect(placed).toEqual([
    { lane: 0, of: "a0" },
    { lane: 1, of: "a5" },
    { lane: 2, of: "b6" },
    { lane: 0, of: "a10" },
  ]);
});

test.each([
  [1, 1],
  [2, 1],
  [3, 3],
  [9, 7],
  [0, undefined],
])("W7: an agent with epoch %i worked for the attempt with epoch %s", (epoch, expected) => {
  expect(attemptEpoch([1, 3, 7], epoch)).toBe(expected);
});
