import fc from "fast-check";
import { expect, test } from "vitest";
import { draws } from "../../test/support/thorough.ts";
import { isOver, type State, shownState, states, type Task } from "./task.ts";
import { type Step, transition } from "./transition.ts";

const fresh: Task = {
  num: 1,
  id: "t",
  run: "r",
  title: "T",
  description: "",
  state: "pending",
  priority: 0,
  attempt: 0,
  maxRetries: 2,
  blockersLeft: 0,
  lostBlockers: 0,
  epoch: 0,
  holder: null,
  claimedAt: null,
  leaseUntil: null,
  secretHash: null,
  result: {},
  version: 1,
  awaited: false,
  createdAt: "",
  createdBy: "",
  updatedAt: "",
};

const steps: Step[] = [
  { type: "claim", by: "w" },
  { type: "take", by: "Ada" },
  { type: "release", reason: "x" },
  { type: "submit", output: "o" },
  { type: "finish", output: "o" },
  { type: "fail", reason: "x", output: "half" },
  { type: "verify", by: "q" },
  { type: "pass", score: 90, feedback: "f" },
  { type: "reject", score: 20, feedback: "f" },
  { type: "accept" },
  { type: "retry", reason: "x" },
  { type: "give_up", reason: "x" },
  { type: "reopen" },
  { type: "cancel", reason: "x" },
  { type: "overturn", reason: "x", because: "task-0" },
];

function walk(path: Step["type"][], start: Task = fresh): Task {
  let task = start;
  for (const type of path) {
    const next = transition(task, steps.find((step) => step.type === type) as Step);
    if (!next.ok) throw new Error(`${type}: ${next.problem.message}`);
    task = { ...task, ...next.value };
  }
  return task;
}

test("O5: a task goes from pending through work and verification to completed", () => {
  const done = walk(["claim", "submit", "verify", "pass", "accept"]);
  expect(done).toMatchObject({
    state: "completed",
    attempt: 1,
    epoch: 2,
    holder: null,
    result: { output: "o", score: 90 },
  });
});

test("O5: attempts go to max retries + 1, and then only giving up is left", () => {
  const round: Step["type"][] = ["claim", "submit", "verify", "reject"];
  const third = walk([...round, "retry", ...round, "retry", ...round]);
  expect(third).toMatchObject({ state: "qc_failed", attempt: 3 });
  expect(transition(third, { type: "retry", reason: "again" })).toMatchObject({ ok: false });
  expect(walk(["give_up"], third).state).toBe("failed");
});

test("O5: a released claim does not count as an attempt", () => {
  expect(walk(["claim", "release"])).toMatchObject({ state: "pending", attempt: 0, epoch: 1 });
  expect(walk(["claim", "submit", "verify", "reject", "retry", "claim", "release"])).toMatchObject({
    state: "preparing_retry",
    attempt: 1,
  });
});

test("O7: work that was stopped has failed its attempt without a verdict, and is retried", () => {
  const stopped = walk(["claim", "submit", "verify", "reject", "retry", "claim", "fail"]);
  expect(stopped).toMatchObject({ state: "qc_failed", attempt: 2, epoch: 3, holder: null });
  expect(stopped.result).toMatchObject({ output: "half", score: null, feedback: "x" });
  expect(walk(["retry", "claim"], stopped)).toMatchObject({ state: "worker_executing", attempt: 3, epoch: 4 });
  for (const state of states.filter((one) => one !== "worker_executing"))
    expect(transition({ ...fresh, state }, { type: "fail", reason: "x", output: "" })).toMatchObject({ ok: false });
  expect(transition({ ...walk(["claim"]), run: null }, { type: "fail", reason: "x", output: "" }).ok).toBe(false);
});

test("O8: a score under 80 never passes, and a task of a run is never just finished", () => {
  const judged = walk(["claim", "submit", "verify"]);
  for (const score of [79.9, 0, Number.NaN]) {
    expect(transition(judged, { type: "pass", score, feedback: "" })).toMatchObject({ ok: false });
  }
  expect(transition(walk(["claim"]), { type: "finish", output: "done, trust me" })).toMatchObject({ ok: false });
});

test("O18: a task with open blockers cannot be claimed", () => {
  expect(transition({ ...fresh, blockersLeft: 1 }, { type: "claim", by: "w" })).toMatchObject({ ok: false });
});

test("T8: what was done with a wrong input is stale until it is opened again; what was begun with it waits from the start", () => {
  const stale = walk(["claim", "submit", "verify", "pass", "accept", "overturn"]);
  expect([stale.state, shownState(stale), stale.result.reason]).toEqual(["failed", "stale", "x"]);
  expect(shownState(walk(["reopen"], stale))).toBe("pending");
  for (const path of [
    ["claim"],
    ["claim", "submit"],
    ["claim", "submit", "verify", "reject", "retry"],
  ] as Step["type"][][])
    expect(walk([...path, "overturn"])).toMatchObject({ state: "pending", attempt: 0, holder: null });
});

test("O5, O12: whatever is tried in whatever order, epochs only grow, attempts stay in bounds, and over is over", () => {
  const anyStep = fc.constantFrom(...steps);
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60 }), fc.integer({ min: 0, max: 4 }), (tried, maxRetries) => {
      let task: Task = { ...fresh, maxRetries };
      for (const step of tried) {
        const next = transition(task, step);
        if (!next.ok) continue;
        const after = { ...task, ...next.value };
        expect(states).toContain(after.state);
        expect(after.epoch).toBeGreaterThanOrEqual(task.epoch);
        expect(after.epoch - task.epoch).toBe(["claim", "take", "verify"].includes(step.type) ? 1 : 0);
        expect(after.attempt).toBeGreaterThanOrEqual(0);
        expect(after.attempt).toBeLessThanOrEqual(maxRetries + 1);
        expect(after.holder !== null).toBe((["worker_executing", "qc_executing"] as State[]).includes(after.state));
        if (isOver(task.state))
          expect(task.state === "completed" ? ["overturn"] : ["reopen", "take"]).toContain(step.type);
        if (after.state === "completed") expect(task.state).toBe("qc_passed");
        task = after;
      }
    }),
    draws(2000, 20_000),
  );
});
