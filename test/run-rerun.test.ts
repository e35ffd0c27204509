import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium } from "./support/commands.ts";
import { executed, newRun, type Play, passes, planned, playing, seenBy, verdictOf } from "./support/crew.ts";
import { recordEqualsRows } from "./support/replay.ts";
import { agent, allEvents, newWorkspace, person, sampledEngines } from "./support/workspace.ts";

const config = "crew: { sandbox: none, reports: facts }\n";
const tasks = [
  planned("0"),
  planned("1.1"),
  planned("1.2", { depends_on: ["1.1"] }),
  planned("1.3", { depends_on: ["1.2"] }),
  planned("1.4"),
];

/** Each worker writes a file of its own and says in it which files it found; the first attempt of 1.2 fails. */
function crew(made: Record<string, string[]> = {}, word = "first") {
  const worker: Play = async ({ number, retry, use }) => {
    if (number !== "0") {
      const { files = [] } = (await use("list_files")) as { files?: string[] };
      made[number] = files.filter((path) => path.startsWith("out/")).map((path) => path.slice(4, -4));
      await use("write_file", { path: `out/${number}.txt`, content: `${number} ${word}${retry ? " again" : ""}\n` });
      if (number === "1.2" && !retry) await use("write_file", { path: "out/draft.txt", content: "draft\n" });
      if (number === "1.2" && retry) await use("run_command", { run: ["rm", "-f", "out/draft.txt"] });
    } else made[number] = [];
    await use("submit_output", { output: `made ${number}` });
    return undefined;
  };
  let failed = word !== "first";
  const qc: Play = async (scene) => {
    if (scene.number !== "1.2" || failed) return passes(scene);
    failed = true;
    const evidence = await seenBy(scene, [1], false);
    await scene.use("submit_verdict", verdictOf(false, { evidence }));
    return undefined;
  };
  return playing({ worker, qc });
}

const rerun = (app: App, id: string, from: string, more: object = {}) =>
  operations.rerun_run.perform(app, { id, from, confirm: true, ...more }, person());
const statesOf = async (app: App, run: string) =>
  Object.fromEntries((await app.runs.tasks(run)).map(({ number, task }) => [number, task.state]));

describe.each(sampledEngines)("W7: rerun on %s", (engine) => {
  test("a task and all that depends on it are repeated from the files of an attempt; everything else stays accepted", async () => {
    const { app, git } = await newWorkspace({ engine, config });
    const run = await newRun(app, tasks);
    expect(await executed(app, run, crew(), { workers: 1 })).toMatchObject({ state: "completed" });
    const before = git("rev-parse", acceptedBranch(run));
    const file = (path: string) => git("show", `${acceptedBranch(run)}:out/${path}.txt`);
    expect(file("1.2")).toBe("1.2 first again");

    const preview = unwrap(await rerun(app, run, "1.2@1", { confirm: false }));
    expect(preview).toMatchObject({ rerun: false, number: "1.2", attempt: 1, kept: ["0", "1.1", "1.4"] });
    expect(preview.repeated.map(({ number }) => number)).toEqual(["1.2", "1.3"]);
    expect(git("rev-parse", acceptedBranch(run))).toBe(before);

    unwrap(await rerun(app, run, "1.2@1", { message: "Use the draft." }));
    expect(await statesOf(app, run)).toEqual({
      ...{ "0": "completed", "1.1": "completed", "1.2": "pending", "1.3": "pending", "1.4": "completed" },
    });
    expect(git("ls-tree", "-r", "--name-only", acceptedBranch(run), "out/").split("\n")).toEqual([
      ...["out/1.1.txt", "out/1.4.txt"],
    ]);
    expect(git("branch", "--list", "*before-rerun*", "--format=%(objectname)")).toBe(before);
    await recordEqualsRows(app);

    const made: Record<string, string[]> = {};
    expect(await executed(app, run, crew(made, "second"), { workers: 1 })).toMatchObject({ state: "completed" });
    // The first attempt's files are there, draft included; what came after it is not.
    expect(Object.keys(made).sort()).toEqual(["1.2", "1.3"]);
    expect(made["1.2"]?.sort()).toEqual(["1.1", "1.2", "1.4", "draft"]);
    expect(file("1.2")).toMatch(/^1\.2 second/);
    expect([file("1.1"), file("1.4"), file("1.3")]).toEqual(["1.1 first", "1.4 first", "1.3 second"]);
    await recordEqualsRows(app);
    expect((await allEvents(app)).filter(({ kind }) => kind === "run-rerun")).toMatchObject([
      { actor: "Ada Lovelace", data: { attempt: 1, message: "Use the draft." } },
    ]);
  });

  test("without an attempt it starts from the accepted work alone", async () => {
    const { app } = await newWorkspace({ engine, config });
    const run = await newRun(app, tasks);
    await executed(app, run, crew(), { workers: 1 });
    unwrap(await rerun(app, run, "1.2"));
    const made: Record<string, string[]> = {};
    expect(await executed(app, run, crew(made, "second"), { workers: 1 })).toMatchObject({ state: "completed" });
    expect(made["1.2"]?.sort()).toEqual(["1.1", "1.4"]);
  });
});

test("W7: run rerun asks for proof, shows what it repeats, and refuses what was never tried or is held", async () => {
  const { app, root } = await newWorkspace({ config });
  const run = await newRun(app, tasks);
  const refused = async (from: string, message: string) =>
    expect(await rerun(app, run, from)).toMatchObject({ problem: { message: expect.stringContaining(message) } });
  await refused("1.2", `run ${run} is planned`);
  await executed(app, run, crew(), { workers: 1 });
  await refused("1.9", `run ${run} has no task 1.9; it has 0, 1.1, 1.2, 1.3, 1.4`);
  await refused("1.2@9", "task 1.2 has no attempt 9; it has 1.2@1-");
  await refused("1.2@x", "is not a task; expected 1.2, or 1.2@1");
  const { proof: _, ...unproven } = person() as { proof?: string };
  for (const caller of [agent("engineer"), unproven as never])
    expect(await operations.rerun_run.perform(app, { id: run, from: "1.2", confirm: true }, caller)).toMatchObject({
      problem: { code: "denied" },
    });
  const preview = await scriptorium(["run", "rerun", run, "--from", "1.2@2", "--dry-run"], { cwd: root });
  expect(preview.stdout).toBe(
    `would repeat ${run} from task 1.2, with the files of attempt 2\n  1.2: Do 1.2\n  1.3: Do 1.3\nkept: 0, 1.1, 1.4\n`,
  );
  const done = await scriptorium(["run", "rerun", run, "--from", "1.3", "--no-start", "--json"], { cwd: root });
  expect(done.json()).toMatchObject({ rerun: true, number: "1.3", attempt: null });
  expect(await statesOf(app, run)).toMatchObject({ "1.2": "completed", "1.3": "pending" });
});
