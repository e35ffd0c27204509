import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import type { PlanTask } from "../src/crew/rules/plan.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium, serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, type Scene } from "./support/crew.ts";
import { ask } from "./support/requests.ts";
import { allEvents, engines, gitIn, newWorkspace, person, read, temporaryFolder } from "./support/workspace.ts";

const files = {
  "src/list.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven\n",
  "crlf.txt": "a\r\nb\r\n",
  "gone.txt": "gone\n",
  ".gitattributes": "crlf.txt text eol=crlf\n",
  ".gitignore": "runs/\ngenerated-agents/\n.scriptorium/\n",
};

const worker = async ({ number, use }: Scene) => {
  if (number === "1.1") {
    await use("write_file", { path: "out/1.1.txt", content: "1.1\n" });
    await use("write_file", { path: "src/list.txt", content: files["src/list.txt"].replace("two", "TWO") });
    await use("write_file", { path: "crlf.txt", content: "a\r\nB\r\n" });
    await use("run_command", { run: ["rm", "gone.txt"] });
  } else if (number !== "0") await use("write_file", { path: `out/${number}.txt`, content: `${number}\n` });
  await use("submit_output", { output: `made ${number}` });
  return undefined;
};
const agents = playing({ worker, qc: passes });

/** A run whose accepted work adds two files, changes two and deletes one. */
async function accepted(engine: (typeof engines)[number] = "sqlite", more: PlanTask[] = []) {
  const made = await newWorkspace({ engine, config: "crew: { sandbox: none, reports: facts }\n", files });
  const tasks = [
    planned("0"),
    planned("1.1", { title: "Make a list" }),
    planned("1.2", { depends_on: ["1.1"] }),
    ...more,
  ];
  const run = await newRun(made.app, tasks);
  expect(await executed(made.app, run, agents)).toMatchObject({ state: "completed" });
  return { ...made, run };
}

const revert = async (app: App, input: object) => unwrap(await operations.revert_run.perform(app, input, person()));
const merge = async (app: App, id: string, more: object = {}) =>
  unwrap(await operations.merge_run.perform(app, { id, confirm: true, ...more }, person()));
/** Every file but those of Scriptorium, as git has it. */
const filesAt = (git: (...args: string[]) => string, commit: string) =>
  git("ls-tree", "-r", commit, "--", "src", "out", "crlf.txt", "gone.txt");

describe.each(engines)("T2: a run that is reverted (%s)", (engine) => {
  test("T2: loses its accepted files by a commit on its branch and on the person's, and its tasks are overturned", async () => {
    const { app, root, git, run } = await accepted(engine);
    const before = filesAt(git, "HEAD");
    await merge(app, run);
    writeFileSync(join(root, "own.txt"), "untracked\n");
    writeFileSync(join(root, "staged.txt"), "staged\n");
    git("add", "staged.txt");
    const status = git("status", "--porcelain");
    const head = git("rev-parse", "HEAD");

    const preview = await revert(app, { run });
    expect(preview.tasks.map(({ number }) => number)).toEqual(["0", "1.1", "1.2"]);
    expect(preview.branches.map(({ branch }) => branch)).toEqual([acceptedBranch(run), "main"]);
    for (const { files } of preview.branches)
      expect(files).toEqual([
        { path: "crlf.txt", status: "changed" },
        { path: "gone.txt", status: "added" },
        { path: "out/1.1.txt", status: "deleted" },
        { path: "out/1.2.txt", status: "deleted" },
        { path: "src/list.txt", status: "changed" },
      ]);
    expect([git("rev-parse", "HEAD"), git("status", "--porcelain")]).toEqual([head, status]);
    expect((await app.runs.find(run))?.state).toBe("completed");

    const done = await revert(app, { run, confirm: true });
    const commit = git("rev-parse", "HEAD");
    expect(done.branches.at(-1)).toMatchObject({ branch: "main", commit, folder: root });
    expect([git("rev-parse", "HEAD^1"), git("status", "--porcelain")]).toEqual([head, status]);
    expect(git("log", "-1", "--format=%an %(trailers:key=Run,valueonly)")).toBe(`Ada Lovelace ${run}`);
    expect([filesAt(git, "HEAD"), filesAt(git, acceptedBranch(run))]).toEqual([before, before]);
    expect([read(join(root, "crlf.txt")), read(join(root, "gone.txt"))]).toEqual(["a\r\nb\r\n", "gone\n"]);
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
    expect((await app.runs.find(run))?.state).toBe("failed");
    const states = (await app.runs.tasks(run)).map(({ task }) => task.state);
    expect(states).toEqual(["failed", "failed", "failed"]);
    expect((await allEvents(app)).filter(({ kind }) => kind === "run-reverted")).toMatchObject([
      { data: { tasks: done.tasks.map(({ id }) => id) } },
    ]);
    expect((await allEvents(app)).filter(({ kind }) => kind === "run-files-reverted")).toMatchObject([
      { data: { branch: "main", commit, files: 5 } },
    ]);
    expect(await revert(app, { run, confirm: true })).toMatchObject({ tasks: [], branches: [] });
    expect(git("rev-parse", "HEAD")).toBe(commit);
  });

  test("T2: can be done again afterwards, merged again, and reverted again", async () => {
    const { app, git, run } = await accepted(engine);
    const before = filesAt(git, "HEAD");
    await merge(app, run);
    const after = filesAt(git, "HEAD");
    await revert(app, { run, confirm: true });
    const again = { id: run, from: "1.1@1", confirm: true };
    const failed = (await app.runs.tasks(run)).map(({ task_id }) => task_id);
    expect(await executed(app, run, agents, { retry: failed.slice(0, 1) })).toMatchObject({ state: "completed" });
    expect(filesAt(git, acceptedBranch(run))).toBe(after);
    await merge(app, run);
    expect(filesAt(git, "HEAD")).toBe(after);
    unwrap(await operations.rerun_run.perform(app, again, person()));
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    expect(filesAt(git, acceptedBranch(run))).toBe(after);
    const done = await revert(app, { run, confirm: true });
    expect(done.needs_person).toEqual([]);
    expect([filesAt(git, "HEAD"), filesAt(git, acceptedBranch(run))]).toEqual([before, before]);
  });
});

describe("T2: the files of a run that is reverted", () => {
  test.each([
    ["a squash", "squash"],
    ["a squash, after the branch of the run was deleted and its commits are gone", "pruned"],
    ["a fast-forward by hand", "forward"],
    ["a merge by hand", "merge"],
    ["a merge, after the branch of the run was deleted", "deleted"],
    ["a merge into a branch of a linked worktree", "linked"],
  ])("leave the person's branch after %s", async (_, how) => {
    const { app, root, git, run } = await accepted();
    const before = filesAt(git, "HEAD");
    const linked = join(temporaryFolder(), "linked");
    if (how === "linked") git("worktree", "add", "-q", "-b", "next", linked);
    if (how === "forward") git("merge", "-q", "--ff-only", acceptedBranch(run));
    else if (how === "merge") {
      writeFileSync(join(root, "src/other.txt"), "other\n");
      git("add", "src/other.txt");
      git("commit", "-qm", "Other");
      git("merge", "-q", "--no-ff", "-m", "Work of the agents (#7)", acceptedBranch(run));
    } else
      await merge(app, run, {
        squash: how === "squash" || how === "pruned",
        ...(how === "linked" ? { into: "next" } : {}),
      });
    if (how === "deleted" || how === "pruned")
      git("branch", "-qD", ...git("branch", "--list", `scriptorium/${run}/*`, "--format=%(refname:short)").split("\n"));
    if (how === "pruned") {
      git("reflog", "expire", "--expire=now", "--all");
      git("prune", "--expire=now");
    }
    const branch = how === "linked" ? "next" : "main";
    const folder = how === "linked" ? linked : root;
    const commits = git("rev-list", "--count", "--first-parent", branch);
    const done = await revert(app, { run, confirm: true });
    expect(done.branches.at(-1)).toMatchObject({ branch, folder });
    expect(done.needs_person).toEqual([]);
    expect(Number(git("rev-list", "--count", "--first-parent", branch))).toBe(Number(commits) + 1);
    expect(
      filesAt(git, branch)
        .split("\n")
        .filter((line) => !line.endsWith("src/other.txt"))
        .join("\n"),
    ).toBe(before);
    expect(gitIn(folder)("status", "--porcelain")).toBe("");
    expect([read(join(folder, "crlf.txt")), read(join(folder, "gone.txt"))]).toEqual(["a\r\nb\r\n", "gone\n"]);
    expect(await revert(app, { run, confirm: true })).toMatchObject({ branches: [], needs_person: [] });
  });

  test("are taken out between later commits to the same files, which the preview lists with the runs on top", async () => {
    const { app, root, git, run } = await accepted();
    await merge(app, run);
    writeFileSync(join(root, "src/list.txt"), read(join(root, "src/list.txt")).replace("seven", "SEVEN"));
    git("commit", "-qam", "Shout seven");
    const later = git("rev-parse", "HEAD");
    const top = await newRun(app, [planned("0"), planned("1.1", { title: "Build on it" })]);
    await executed(app, top, agents);
    const preview = await revert(app, { run });
    expect(preview.depends).toContainEqual({
      what: `commit:${later}`,
      why: "Ada Lovelace: Shout seven (on main; src/list.txt)",
    });
    expect(preview.depends).toContainEqual({ what: `run:${top}`, why: "started from its accepted files" });
    await revert(app, { run, confirm: true });
    expect(read(join(root, "src/list.txt"))).toBe(files["src/list.txt"].replace("seven", "SEVEN"));
  });

  test("stay on a branch where someone changed the same lines; the files are named and nothing of it is half done", async () => {
    const { app, root, git, run } = await accepted();
    await merge(app, run);
    writeFileSync(join(root, "src/list.txt"), read(join(root, "src/list.txt")).replace("TWO", "deux"));
    git("commit", "-qam", "In French");
    const head = git("rev-parse", "HEAD");
    const done = await revert(app, { run, confirm: true });
    expect(done.needs_person).toEqual([
      { what: "branch:main", why: expect.stringContaining("changed since in the same places: src/list.txt") },
    ]);
    expect([git("rev-parse", "HEAD"), git("status", "--porcelain")]).toEqual([head, ""]);
    expect(done.tasks).toHaveLength(3);
  });

  test("are not reverted while uncommitted changes are in the way; nothing else is then", async () => {
    const { app, root, git, run } = await accepted();
    await merge(app, run);
    writeFileSync(join(root, "src/list.txt"), "mine\n");
    const state = () => [git("rev-parse", "HEAD"), git("rev-parse", acceptedBranch(run)), git("status", "--porcelain")];
    const before = state();
    const refused = await operations.revert_run.perform(app, { run, confirm: true }, person());
    expect(refused).toMatchObject({
      problem: { code: "conflict", message: expect.stringContaining("main: uncommitted changes in src/list.txt") },
    });
    expect([state(), (await app.runs.find(run))?.state]).toEqual([before, "completed"]);
    expect(read(join(root, "src/list.txt"))).toBe("mine\n");
    const shown = await scriptorium(["revert", "--run", run], { cwd: root });
    expect(shown.stdout).toContain("branch:main: needs your decision; uncommitted changes in src/list.txt");
    const kept = await revert(app, { run, files: "keep", confirm: true });
    expect(kept.depends).toContainEqual({ what: "branch:main", why: "has the accepted files, which stay" });
    expect([git("rev-parse", "HEAD"), read(join(root, "src/list.txt"))]).toEqual([before[0], "mine\n"]);
  });

  test("leave by a branch that the person merges, from the shell and over HTTP", async () => {
    const { app, root, git, run } = await accepted();
    const before = filesAt(git, "HEAD");
    await merge(app, run);
    git("branch", "release");
    const head = git("rev-parse", "HEAD");
    await app.close();
    const preview = await scriptorium(["revert", "--run", run, "--files", "branch"], { cwd: root });
    const name = `scriptorium/revert-${run}/main`;
    expect(preview.stdout).toContain(`main: ${name} would take 5 files back`);
    expect(preview.stdout).toContain("  deleted: out/1.1.txt");
    expect(preview.stdout).toContain("depends on it: branch:release: has the accepted files too");
    const server = await serve(root);
    const body = { run, files: "branch", confirm: true };
    const answer = await (await ask(server.url, "/api/revert", { method: "POST", token: server.token, body })).json();
    expect(answer.branches.at(-1)).toMatchObject({ branch: "main", revert_branch: name, folder: null });
    expect(git("rev-parse", "HEAD")).toBe(head);
    git("merge", "-q", "--no-ff", "-m", "Take it back", name);
    expect(filesAt(git, "HEAD")).toBe(before);
    const again = await scriptorium(["revert", "--run", run], { cwd: root });
    expect(again.stdout).toContain("nothing to revert");
  });

  test("tasks of other runs that used an output are named, and become stale", async () => {
    const { app, run } = await accepted();
    const [first] = await app.runs.tasks(run);
    const other = unwrap(
      await app.tasks.create(
        { title: "Send it", description: "", priority: 0, run: null, maxRetries: 2, dependsOn: [first?.task_id ?? ""] },
        "pm",
      ),
    ).id;
    const claim = unwrap(await app.tasks.lock(other, "w"));
    if (!("epoch" in claim)) throw new Error("held");
    unwrap(await app.tasks.step(other, { type: "finish", output: "sent" }, "w", claim));
    const why = "Send it is completed with its output and becomes stale";
    expect((await revert(app, { run })).depends).toContainEqual({ what: `task:${other}`, why });
    expect((await revert(app, { run, confirm: true })).depends).toContainEqual({ what: `task:${other}`, why });
  });
});
