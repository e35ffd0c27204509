import { expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing } from "./support/crew.ts";
import { newWorkspace, person, sampledEngines } from "./support/workspace.ts";

test.each(sampledEngines)("W16: people see the worker's own list of steps as it last set it (%s)", async (engine) => {
  const { app, root } = await newWorkspace({ engine });
  const run = await newRun(app, [planned("0")]);
  const steps = (done: number) =>
    ["Read the code", "Write the text"].map((text, i) => ({ text, status: i < done ? "done" : "pending" }));
  const worker = playing({
    async worker({ use }) {
      await use("todo_write", { todos: steps(0) });
      await use("todo_write", { todos: steps(1) });
      expect(await use("todo_write", { todos: [{ text: "", status: "done" }] })).toMatchObject({ code: "invalid" });
      await use("submit_output", { output: "made 0" });
    },
    qc: passes,
  });
  expect(await executed(app, run, worker)).toMatchObject({ state: "completed" });
  const id = (await app.runs.tasks(run))[0]?.task.id ?? "";
  const record = unwrap(await operations.task_record.perform(app, { id }, person()));
  expect(record.attempts).toMatchObject([{ attempt: 1, steps: steps(1) }]);
  const shown = await scriptorium(["task", "show", id], { cwd: root });
  expect(shown.stdout).toContain("steps of its worker:\n  done    Read the code\n  pending Write the text\n");
  const asJson = await scriptorium(["task", "show", id, "--json"], { cwd: root });
  expect(asJson.json()).toMatchObject({ steps: steps(1) });
});
