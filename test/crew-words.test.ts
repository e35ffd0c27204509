import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { taskRecord } from "../src/crew/report/task-history.ts";
import { runReport } from "../src/crew/run-operations.ts";
import { unwrap } from "../src/kernel/result.ts";
import { scriptoriumProcess } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { engines, newWorkspace, person, temporaryFolder } from "./support/workspace.ts";

const failing = { run: ["sh", "-c", "echo '2 of 5 tests failed' >&2; exit 3"], exits: 0 };

describe.each(engines)("the words of a failed task on %s", (engine) => {
  const open = async () => newWorkspace({ engine, config: "crew: {sandbox: none, reports: facts}\n" });
  const recordOf = async (app: Awaited<ReturnType<typeof open>>["app"], run: string, number: string) => {
    const row = (await app.runs.tasks(run)).find((one) => one.number === number);
    return unwrap(await taskRecord.perform(app, { id: row?.task.id ?? "" }, person()));
  };

  test("W17: a failed check is one cause with its output; no verifier is said to have failed it, and no score", async () => {
    const { app } = await open();
    const verification = [{ criterion: "the tests pass", check: failing }];
    const run = await newRun(app, [planned("0"), planned("1.1", { verification, max_retries: 1 })]);
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    const { failure, attempts } = await recordOf(app, run, "1.1");
    expect(failure?.root_causes).toHaveLength(1);
    expect(failure?.root_causes[0]).toMatchObject({ attempts: [1, 2] });
    expect(failure?.root_causes[0]?.cause).toContain("criterion 1 (the tests pass)");
    expect(failure?.root_causes[0]?.output).toContain("2 of 5 tests failed");
    const objections = attempts.flatMap(({ verdicts }) => verdicts.flatMap((one) => one.objections)).join("\n");
    expect(objections).toContain("1 of 1 checks failed, so no verifier was started");
    expect(objections).not.toMatch(/the verifier says FAIL|a score of/);
    const { content } = unwrap(await runReport.perform(app, { id: run }, person()));
    expect(content).not.toMatch(/the verifier says FAIL|a score of \d+ does not pass|split the task/);
    expect(content).toContain("2 of 5 tests failed");
  });

  test("W17: after a merge conflict the next worker is told of the conflict, not of the verifier's praise", async () => {
    const { app } = await open();
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2")]);
    let waiting: (() => void) | undefined;
    const both = new Promise<void>((done) => {
      waiting = done;
    });
    let here = 0;
    const told: string[] = [];
    const agents = playing({
      qc: passes,
      worker: async (scene) => {
        if (scene.number === "0") return writes()(scene);
        if (scene.retry) told.push(scene.told);
        else if (++here === 2) waiting?.();
        await both;
        await scene.use("write_file", { path: "shared.txt", content: `${scene.number}\n` });
        await scene.use("submit_output", { output: `made ${scene.number}` });
      },
    });
    await executed(app, run, agents);
    expect(told[0]).toContain("merge conflict with work accepted since");
    expect(told[0]).not.toContain("It is as asked.");
  });

  test("W17, U5: a crash of the agent is not answered with splitting the task, and the report names the next command", async () => {
    const { app } = await open();
    const run = await newRun(app, [planned("0", { max_retries: 1 })]);
    const crash = { exitCode: 1, error: "the program crashed: segmentation fault", errorTail: "" };
    const agents = playing({ worker: async () => crash, qc: passes });
    await executed(app, run, agents);
    const { id, failure } = await recordOf(app, run, "0");
    expect(failure?.root_causes).toHaveLength(1);
    expect(failure?.recommendations.join("\n")).toContain("the agent failed, not the task");
    expect(failure?.recommendations.join("\n")).not.toMatch(/split|requirements/);
    const { content } = unwrap(await runReport.perform(app, { id: run }, person()));
    expect(content).toContain("segmentation fault");
    expect(content).toContain(`scriptorium task retry ${id}`);
    expect(content).toContain(`scriptorium run resume ${run}`);
    expect(content).toContain("nothing repeated");
  });
});

test("W17: plan asks no model for anything where execute could not start for want of a sandbox", async () => {
  const { open } = await newWorkspace();
  const folder = temporaryFolder();
  for (const name of ["git", "env", "sh"]) symlinkSync(`/usr/bin/${name}`, join(folder, name));
  const app = await open({ PATH: folder });
  let calls = 0;
  const agents = playing({ pm: async () => void calls++ });
  const planned = await app.host.plan("Do it", { brief: false, by: "Ada", agents });
  expect(planned).toMatchObject({ problem: { message: expect.stringContaining("bubblewrap") } });
  expect(calls).toBe(0);
  expect(await app.runs.list(10)).toEqual([]);
});

test("U5: run show and a failed execute print the cause, the output of the check, and the commands that retry", async () => {
  const { app, root } = await newWorkspace({ config: "crew: {sandbox: none, reports: facts}\n" });
  const verification = [{ criterion: "the tests pass", check: failing }];
  const run = await newRun(app, [planned("0"), planned("1.1", { verification, max_retries: 0 })]);
  await executed(app, run, playing({ worker: writes(), qc: passes }));
  const id = (await app.runs.tasks(run)).find((one) => one.number === "1.1")?.task.id;
  const { stdout } = await scriptoriumProcess(["run", "show", run], { cwd: root });
  expect(stdout).toContain("task 1.1 failed (Do 1.1): criterion 1 (the tests pass)");
  expect(stdout).toContain("    2 of 5 tests failed");
  expect(stdout).toContain(`retry with: scriptorium task retry ${id} && scriptorium run resume ${run}`);
});
