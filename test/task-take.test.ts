import { appendFileSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { attemptsOf } from "../src/store/queries/attempts.ts";
import { scriptorium } from "./support/commands.ts";
import { executed, newRun, type Play, passes, planned, playing, writes } from "./support/crew.ts";
import { recordEqualsRows } from "./support/replay.ts";
import { agent, engines, gitIn, newWorkspace, person, read, temporaryFolder } from "./support/workspace.ts";

const config = "claims: { lease_seconds: 3 }\ncrew: { sandbox: none, reports: facts }\n";
const idOf = async (app: App, run: string, number: string) =>
  (await app.runs.tasks(run)).find((task) => task.number === number)?.task_id ?? "";
const take = (app: App, id: string) => operations.take_task.perform(app, { id }, person());
const handBack = (app: App, id: string, more: object = {}) =>
  operations.hand_back_task.perform(app, { id, ...more }, person());

/** Task 1.1 has a check that the worker's file does not pass. */
const check = { file: "out/1.1.txt", contains: "by hand" };
const tasks = [
  planned("0"),
  planned("1.1", { max_retries: 0, verification: [{ criterion: "it says so", check }] }),
  planned("1.2", { depends_on: ["1.1"] }),
];
const crew = (worker: Play = writes()) => playing({ worker, qc: passes });

async function failed(engine: (typeof engines)[number] = "sqlite") {
  const made = await newWorkspace({ engine, config });
  const run = await newRun(made.app, tasks);
  await executed(made.app, run, crew());
  return { ...made, run, id: await idOf(made.app, run, "1.1") };
}

describe.each(engines)("W7: a task done by hand on %s", (engine) => {
  test("a person takes over a failed task with the files of its attempt, hands it back, and it is verified and accepted", async () => {
    const { app, git, run, id } = await failed(engine);
    const { folder, attempt, expires_at } = unwrap(await take(app, id));
    expect(attempt).toBe(1);
    expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(20 * 24 * 60 * 60_000);
    expect(read(join(folder, "out/1.1.txt"))).toBe("1.1\n");
    expect(await app.tasks.find(id)).toMatchObject({ state: "worker_executing", holder: "Ada Lovelace" });
    await recordEqualsRows(app);

    // The run goes on with what it can, and says whom it waits for.
    const waiting = await executed(app, run, crew());
    expect(waiting).toMatchObject({
      state: "stopped",
      reason: `Ada Lovelace took over task 1.1; hand it back with: scriptorium task hand-back ${id}`,
    });
    writeFileSync(join(folder, "out/1.1.txt"), "made by hand\n");
    const own = gitIn(folder);
    own("commit", "-qam", "Say so");
    writeFileSync(join(folder, "out/more.txt"), "more\n");
    const back = unwrap(await handBack(app, id, { note: "Wrote it myself." }));
    expect(back).toMatchObject({ run, state: "worker_completed", files: ["out/1.1.txt", "out/more.txt"] });
    expect([existsSync(folder), git("worktree", "list").split("\n").length]).toEqual([false, 1]);

    expect(await executed(app, run, crew())).toMatchObject({ state: "completed" });
    expect(git("show", `${acceptedBranch(run)}:out/1.1.txt`)).toBe("made by hand");
    expect(git("show", `${acceptedBranch(run)}:out/more.txt`)).toBe("more");
    const last = (await attemptsOf(app.db.read, { task: id })).at(-1);
    expect(last).toMatchObject({ worker: "Ada Lovelace", phase: "qc_passed", output: "Wrote it myself." });
    await recordEqualsRows(app);
  });

  test("an agent that works on the task is stopped, its files are in the checkout, and its late result is refused", async () => {
    const { app } = await newWorkspace({ engine, config });
    const run = await newRun(app, tasks);
    const id = await idOf(app, run, "1.1");
    let late: unknown;
    let folder = "";
    const running = executed(
      app,
      run,
      crew(async (scene) => {
        if (scene.number !== "1.1") return writes()(scene);
        await scene.use("write_file", { path: "out/half.txt", content: "half\n" });
        folder = unwrap(await take(app, id)).folder;
        late = await scene.use("submit_output", { output: "made 1.1" });
        await new Promise((done) => scene.signal.addEventListener("abort", done, { once: true }));
        return undefined;
      }),
    );
    expect(await running).toMatchObject({ state: "stopped", reason: expect.stringContaining("took over task 1.1") });
    expect(late).toMatchObject({ code: "conflict" });
    expect(read(join(folder, "out/half.txt"))).toBe("half\n");
    mkdirSync(join(folder, "out"), { recursive: true });
    writeFileSync(join(folder, "out/1.1.txt"), "by hand\n");
    unwrap(await handBack(app, id));
    expect(await executed(app, run, crew())).toMatchObject({ state: "completed" });
    await recordEqualsRows(app);
  });
});

describe("W7: handing back", () => {
  test("without changes, with a link or with files of the wiki is refused, and the claim stays", async () => {
    const { app, id } = await failed();
    const { folder } = unwrap(await take(app, id));
    const refused = async (message: string) =>
      expect(await handBack(app, id)).toMatchObject({ problem: { message: expect.stringContaining(message) } });
    symlinkSync("/etc/hosts", join(folder, "hosts"));
    await refused("hosts is a symbolic link; deliver regular files");
    const own = gitIn(folder);
    own("clean", "-qfd");
    writeFileSync(join(folder, "wiki/vision.md"), "Mine.\n");
    await refused("wiki/vision.md was changed; deliverables may not change it");
    own("reset", "-q", "--hard");
    own("clean", "-qfd");
    own("rm", "-q", "-r", "out");
    await refused("differs from the accepted work");
    expect(await app.tasks.find(id)).toMatchObject({ state: "worker_executing" });
    expect(await take(app, id)).toMatchObject({
      problem: { message: expect.stringContaining("Ada Lovelace has taken over task") },
    });
  });

  test("with --discard the task waits for agents again, and a claim that was broken keeps the person's files", async () => {
    const { app, root, git, run, id } = await failed();
    const first = unwrap(await take(app, id));
    writeFileSync(join(first.folder, "out/1.1.txt"), "by hand\n");
    const done = await scriptorium(["task", "hand-back", id, "--discard", "--json"], { cwd: root });
    expect(done.json()).toMatchObject({ state: "pending", files: [] });
    expect(git("branch", "--list", "*attempt*", "--format=%(refname:short)")).not.toContain(first.branch);

    const second = unwrap(await take(app, id));
    writeFileSync(join(second.folder, "out/1.1.txt"), "by hand\n");
    unwrap(await operations.release_task.perform(app, { id }, person()));
    expect(await handBack(app, id)).toMatchObject({
      problem: { message: expect.stringContaining(`Your files are still in ${second.folder}`) },
    });
    expect(read(join(second.folder, "out/1.1.txt"))).toBe("by hand\n");
    const byHand = writes(() => "by hand\n");
    expect(await executed(app, run, crew(byHand))).toMatchObject({ state: "completed" });
  });

  test("a text is the note; task take --here checks out in the current folder; agents cannot take a task", async () => {
    const { app, root } = await newWorkspace({ config });
    const run = await newRun(app, [planned("0"), planned("1.1", { deliverable: "text", max_retries: 0 })]);
    const id = await idOf(app, run, "1.1");
    expect(await take(app, id)).toMatchObject({
      problem: { message: expect.stringContaining(`run ${run} is planned`) },
    });
    await executed(
      app,
      run,
      crew(async ({ number, use }) => {
        if (number === "0") await use("submit_output", { output: "made 0" });
        return undefined;
      }),
    );
    const { proof: _, ...unproven } = person() as { proof?: string };
    for (const caller of [agent("engineer"), unproven as never])
      expect(await operations.take_task.perform(app, { id }, caller)).toMatchObject({ problem: { code: "denied" } });
    const cwd = temporaryFolder();
    const env = { SCRIPTORIUM_TOKEN: read(join(root, ".scriptorium/token")).trim() };
    const got = await scriptorium(["task", "take", id, "--here", "--dir", root], { cwd, env });
    expect([got.code, got.stderr, got.stdout]).toEqual([0, "", expect.stringContaining(join(cwd, id))]);
    expect(readdirSync(join(cwd, id))).toContain("wiki");
    appendFileSync(join(cwd, id, "notes.txt"), "x\n");
    expect((await scriptorium(["task", "hand-back", id], { cwd: root })).stderr).toContain("delivers a text");
    await scriptorium(["task", "hand-back", id, "--note", "The answer is 42."], { cwd: root });
    expect(await executed(app, run, crew())).toMatchObject({ state: "completed" });
    expect((await attemptsOf(app.db.read, { task: id })).at(-1)).toMatchObject({ output: "The answer is 42." });
  });
});
