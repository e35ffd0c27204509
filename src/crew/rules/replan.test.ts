import { describe, expect, test } from "vitest";
import { type Plan, plan, planTask } from "./plan.ts";
import type { Standing } from "./plan-change.ts";
import { replanned } from "./replan.ts";

const task = (number: string, more: object = {}) => ({
  number,
  title: `Do ${number}`,
  requirements: `Make ${number}.`,
  worker_role: "an engineer",
  qc_role: "a reviewer",
  verification: [{ criterion: "made" }],
  execution: ["write_file"],
  ...more,
});
const before: Plan = plan.parse({
  title: "A plan",
  tasks: [task("0"), task("1.1"), task("1.2", { depends_on: ["1.1"] }), task("1.3", { depends_on: ["1.1", "1.2"] })],
});
const standing = (["completed", "failed", "pending", "pending"] as const).map((state, i): Standing => {
  const number = before.tasks[i]?.number ?? "";
  return { id: `task-${number}`, number, state, epoch: state === "pending" ? 0 : 1 };
});
const changed = (changes: object[], removed: string[] = []) => {
  const numbers = (changes as { number: string }[]).map(({ number }) => number);
  const kept = before.tasks.filter(({ number }) => ![...numbers, ...removed].includes(number));
  return [...kept, ...changes].map((one) => planTask.parse(one));
};
const rewritten = task("1.1", { requirements: "Make half of it." });
const half = task("1.4", { requirements: "Make the other half." });
const about = { wanted: ["1.1"], standing };

describe("W7: a replan", () => {
  test("makes tasks that depended on a split task depend on all of its parts", () => {
    const made = replanned(
      before,
      { tasks: changed([rewritten, half]), splits: [{ task: "1.1", into: ["1.1", "1.4"] }] },
      about,
    );
    if (!made.ok) throw new Error(made.problem.message);
    expect(made.value.plan.tasks.map(({ number, depends_on }) => [number, depends_on])).toEqual([
      ["0", []],
      ["1.1", []],
      ["1.2", ["1.1", "1.4"]],
      ["1.3", ["1.1", "1.2", "1.4"]],
      ["1.4", []],
    ]);
    expect(made.value.change.added.map(({ number }) => number)).toEqual(["1.4"]);
  });

  test.each([
    ["nothing changed", changed([]), [], "task 1.1 is not changed: rewrite it, or split it"],
    ["the started task removed", changed([half], ["1.1", "1.2", "1.3"]), [], "task 1.1 has been started"],
    [
      "an accepted task changed",
      changed([task("0", { title: "Other" }), rewritten]),
      [],
      "task 0 is completed and cannot be changed",
    ],
    [
      "a split without the started task",
      changed([rewritten, half]),
      [{ task: "1.1", into: ["1.4"] }],
      "make it one of the parts",
    ],
    ["a split into nothing known", changed([rewritten]), [{ task: "1.1", into: ["1.1", "1.9"] }], "task 1.9 does not"],
    [
      "a cycle",
      changed([task("1.1", { requirements: "x", depends_on: ["1.2"] })]),
      [],
      "task 1.1, depends_on: dependency cycle",
    ],
  ])("is refused with %s", (_, tasks, splits, message) => {
    const made = replanned(before, { tasks, splits }, about);
    expect(made).toMatchObject({ ok: false, problem: { message: expect.stringContaining(message) } });
  });
});
