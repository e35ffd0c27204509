import { expect, test } from "vitest";
import { mergeChecks } from "./merge-checks.ts";
import { type PlanTask, planTask } from "./plan.ts";

const task = (number: string, run: string[], more: Partial<PlanTask> = {}): PlanTask =>
  planTask.parse({
    number,
    title: `Task ${number}`,
    requirements: "Do it.",
    worker_role: "An engineer",
    qc_role: "A reviewer",
    verification: run.map((program) => ({ criterion: `${program} passes`, check: { run: [program] } })),
    execution: ["do it"],
    deliverable: "files",
    ...more,
  });

const tasks = [
  task("0", ["env"], { deliverable: "text" }),
  task("1.1", ["a", "all"]),
  task("1.2", ["b", "all"]),
  task("1.3", ["c"], { depends_on: ["1.1"] }),
  task("1.4", ["d"], { depends_on: ["1.3"] }),
];
const programs = (number: string, accepted: string[], isNew: boolean) =>
  mergeChecks({ number, tasks, accepted: new Set(accepted), isNew }).map(
    ({ number: of, check }) => `${of} ${"run" in check ? check.run[0] : ""}`,
  );

test.each([
  ["its own checks run again on files that were not verified", "1.1", ["0"], true, ["1.1 a", "1.1 all"]],
  ["nothing runs again on verified files without other work", "1.1", ["0"], false, []],
  [
    "independent accepted work must pass too, each command once",
    "1.2",
    ["0", "1.1"],
    true,
    ["1.2 b", "1.2 all", "1.1 a"],
  ],
  ["a command that ran on these files is not repeated", "1.2", ["0", "1.1"], false, ["1.1 a"]],
  ["a dependent task may change what it depends on", "1.4", ["0", "1.1", "1.2", "1.3"], false, ["1.2 b", "1.2 all"]],
  ["work that depends on this task is not asked", "1.1", ["0", "1.3", "1.4"], false, []],
])("%s", (_what, number, accepted, isNew, expected) => {
  expect(programs(number, accepted, isNew)).toEqual(expected);
});
