import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { executed, newRun, type Play, passes, planned, playing, writes } from "./support/crew.ts";
import { recordEqualsRows } from "./support/replay.ts";
import { newWorkspace, person, sampledEngines, temporaryFolder } from "./support/workspace.ts";

const config = "crew: { sandbox: none, reports: facts }\n";

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 4800; tries++) {
    if (await isSo()) return;
    await sleep(25);
  }
  throw new Error("it did not happen within two minutes");
}

/** A check of task 1.1 that holds the merges of independent tasks from `close` until `open`. */
function barrier() {
  const folder = temporaryFolder();
  const [closed, reached] = ["closed", "reached"].map((name) => join(folder, name)) as [string, string];
  const script = `[ -e ${closed} ] || exit 0; touch ${reached}; while [ ! -e ${folder}/open ]; do sleep 0.05; done`;
  return {
    verification: [{ criterion: "it is made", check: { run: ["sh", "-c", script], exits: 0 } }],
    close: () => writeFileSync(closed, ""),
    reached: () => until(() => existsSync(reached)),
    open: () => writeFileSync(join(folder, "open"), ""),
  };
}

const behind = planned("1.3", { depends_on: ["1.2"] });
const statesOf = async (app: App, run: string) =>
  Object.fromEntries((await app.runs.tasks(run)).map(({ number, task }) => [number, task.state]));
const taskOf = async (app: App, run: string, number: string) =>
  (await app.runs.tasks(run)).find((task) => task.number === number)?.task_id ?? "";

/** A run whose task `held` passed and waits in its merge checks; `end` lets them pass. */
async function mergingOf(engine: "sqlite" | "postgres", held: string, before: string[]) {
  const gate = barrier();
  const { app, git } = await newWorkspace({ engine, config });
  const run = await newRun(app, [
    planned("0"),
    planned("1.1", { verification: gate.verification }),
    planned("1.2"),
    ...(held === "1.4" ? [planned("1.4")] : held === "1.3" ? [behind] : []),
  ]);
  const areAccepted = async () => {
    const states = await statesOf(app, run);
    return before.every((number) => states[number] === "completed");
  };
  const worker: Play = async (scene) => {
    // Its files are checked out with the first call, and so from the work accepted by then.
    if (scene.number === held) await until(areAccepted);
    return writes()(scene);
  };
  const qc: Play = async (scene) => {
    if (scene.number === held) gate.close();
    return passes(scene);
  };
  const ended = executed(app, run, playing({ worker, qc }), { workers: 3 });
  await gate.reached();
  expect((await statesOf(app, run))[held]).toBe("qc_passed");
  const files = () => git("ls-tree", "-r", "--name-only", acceptedBranch(run), "out/").split("\n");
  const end = async () => {
    gate.open();
    return ended;
  };
  return { app, git, run, end, files, task: await taskOf(app, run, held) };
}

describe.each(sampledEngines)("B3: a merge in progress is fenced on %s", (engine) => {
  test("B3: a task that is cancelled during its merge checks is not on the accepted branch", async () => {
    const { app, run, end, files, task } = await mergingOf(engine, "1.2", ["1.1"]);
    unwrap(await operations.update_todo.perform(app, { id: task, status: "cancelled" }, person()));
    await end();
    expect(await statesOf(app, run)).toMatchObject({ "1.1": "completed", "1.2": "cancelled" });
    expect(files()).toEqual(["out/1.1.txt"]);
    await recordEqualsRows(app);
  });

  test("B3: a task that a person takes over during its merge checks is not on the accepted branch", async () => {
    const { app, run, end, files, task } = await mergingOf(engine, "1.2", ["1.1"]);
    const { folder } = unwrap(await operations.take_task.perform(app, { id: task }, person()));
    expect(existsSync(join(folder, "out/1.2.txt"))).toBe(true);
    await end();
    expect((await statesOf(app, run))["1.2"]).toBe("worker_executing");
    expect(files()).toEqual(["out/1.1.txt"]);
    await recordEqualsRows(app);
  });

  test("B3: a task whose input is overturned during its merge checks is not on the accepted branch", async () => {
    const { app, run, end, files } = await mergingOf(engine, "1.3", ["1.1", "1.2"]);
    const id = await taskOf(app, run, "1.2");
    unwrap(await operations.overturn_task.perform(app, { id, reason: "wrong", confirm: true }, person()));
    await end();
    expect(await statesOf(app, run)).toMatchObject({ "1.2": "failed", "1.3": "pending" });
    expect(files()).toEqual(["out/1.1.txt", "out/1.2.txt"]);
    await recordEqualsRows(app);
  });

  test("B3: files that a rerun repeats do not come back with a merge that was in progress", async () => {
    const { app, git, run, end, files } = await mergingOf(engine, "1.3", ["1.1", "1.2"]);
    unwrap(await operations.pause_run.perform(app, { id: run }, person()));
    unwrap(await operations.rerun_run.perform(app, { id: run, from: "1.2", confirm: true }, person()));
    await end();
    expect(await statesOf(app, run)).toMatchObject({ "1.1": "completed", "1.2": "pending", "1.3": "pending" });
    expect(files()).toEqual(["out/1.1.txt"]);
    const again = playing({ worker: writes((number) => `${number} again\n`), qc: passes });
    expect(await executed(app, run, again)).toMatchObject({ state: "completed" });
    expect(git("show", `${acceptedBranch(run)}:out/1.2.txt`)).toBe("1.2 again");
    await recordEqualsRows(app);
  });

  test("B3: a kept task that was built on repeated files and merges after the rerun brings only its own files", async () => {
    const { app, run, end, files } = await mergingOf(engine, "1.4", ["1.1", "1.2"]);
    unwrap(await operations.pause_run.perform(app, { id: run }, person()));
    unwrap(await operations.rerun_run.perform(app, { id: run, from: "1.2", confirm: true }, person()));
    await end();
    expect(await statesOf(app, run)).toMatchObject({ "1.2": "pending", "1.4": "completed" });
    expect(files()).toEqual(["out/1.1.txt", "out/1.4.txt"]);
    await recordEqualsRows(app);
  });
});
