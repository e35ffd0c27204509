import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { unwrap } from "../src/kernel/result.ts";
import { scribe, scriptorium } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { gitIn, temporaryFolder, testEnvironment } from "./support/workspace.ts";

/** A repository with a workspace in each of the folders, "." for the top. */
async function repositoryWith(folders: string[], ...options: string[]) {
  const top = join(temporaryFolder(), "repo");
  mkdirSync(top);
  const git = gitIn(top);
  git("init", "-q", "-b", "trunk");
  git("config", "user.name", "Ada Lovelace");
  git("config", "user.email", "ada@example.org");
  writeFileSync(join(top, "README.md"), "mine\n");
  git("add", "-A");
  git("commit", "-qm", "Begin");
  const roots = folders.map((folder) => join(top, folder));
  for (const root of roots) {
    mkdirSync(root, { recursive: true });
    await asPerson(root, "init", "--yes", "--nested", "--connect", "none", ...options);
  }
  return { top, git, roots: roots as [string, string] };
}

async function asPerson(cwd: string, ...args: string[]) {
  const ran = await scriptorium(args, { cwd });
  expect(ran, `${args.join(" ")}: ${ran.stderr}`).toMatchObject({ code: 0 });
  return ran;
}

async function write(cwd: string, text: string, version: number): Promise<void> {
  const ran = await scribe(["commit-entry", "--id", "status", "--version", String(version)], { cwd, input: text });
  expect(ran, ran.stdout).toMatchObject({ code: 0, stderr: "" });
}

const versions = async (cwd: string) =>
  (await asPerson(cwd, "entry", "history", "status", "--json"))
    .json<{ version: number }[]>()
    .map(({ version }) => version);
const text = async (cwd: string, version: number) =>
  (await asPerson(cwd, "entry", "read", "status", "--version", String(version), "--json")).json<{ content: string }>()
    .content;
const problems = async (cwd: string, ...options: string[]) =>
  (await scriptorium(["doctor", ...options, "--json"], { cwd }))
    .json<{ findings: { state: string; message: string }[] }>()
    .findings.filter(({ state }) => state === "problem")
    .map(({ message }) => message);
const refs = (git: ReturnType<typeof gitIn>, ...patterns: string[]) =>
  git("for-each-ref", "--format=%(refname)", ...patterns)
    .split("\n")
    .filter((ref) => ref !== "");

describe("N2: two workspaces in one repository", () => {
  test.each([
    ["two packages", ["packages/a", "packages/b"]],
    ["one at the top and one nested in it", [".", "packages/b"]],
  ])("N2: %s keep their own versions through a deleted ref, a repair and a rebuild", async (_name, folders) => {
    const { git, roots } = await repositoryWith(folders);
    const [one, two] = roots;
    for (const version of [1, 2]) {
      await write(one, `one ${version + 1}\n`, version);
      await write(two, `two ${version + 1}\n`, version);
    }
    const [first = "", second = ""] = refs(git, "refs/scriptorium");
    expect(refs(git, "refs/scriptorium")).toHaveLength(2);
    // The repair of one finds no version of the other, and leaves its ref alone.
    const mine = refs(git, "refs/scriptorium").find((ref) => /\/b-/.test(ref)) ?? "";
    const other = first === mine ? second : first;
    const before = git("rev-parse", other);
    git("update-ref", "-d", mine);
    expect((await problems(two)).join()).toMatch(/was deleted/);
    await asPerson(two, "doctor", "--fix");
    expect(git("rev-parse", other)).toBe(before);
    for (const [root, name] of [
      [one, "one"],
      [two, "two"],
    ] as const) {
      expect(await problems(root, "--rebuild")).toEqual([]);
      expect(await versions(root)).toEqual([3, 2, 1]);
      expect(await text(root, 2)).toBe(`${name} 2\n`);
    }
    expect(git("status", "--porcelain")).toBe("");
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
  });

  test("N2: a moved folder keeps its history, a new one in its place and a copy begin their own", async () => {
    const { top, git, roots } = await repositoryWith(["packages/a", "packages/b"]);
    const [one] = roots;
    await write(one, "one 2\n", 1);
    writeFileSync(join(one, "wiki/status.md"), "by hand\n");
    expect(await versions(one)).toEqual([3, 2, 1]);
    const moved = join(top, "moved");
    renameSync(one, moved);
    git("add", "-A");
    git("commit", "-qm", "Move a package");
    // Before the moved one is opened: nothing may take its history for that of a deleted workspace, or continue it.
    await asPerson(roots[1], "remove", "--yes", "--force");
    mkdirSync(one, { recursive: true });
    await asPerson(one, "init", "--yes", "--nested", "--connect", "none");
    expect(await problems(moved, "--rebuild")).toEqual([]);
    expect(await versions(moved)).toEqual([3, 2, 1]);
    expect(await text(moved, 2)).toBe("one 2\n");
    await write(moved, "one 4\n", 3);
    expect(await problems(moved, "--rebuild")).toEqual([]);
    expect(refs(git, "refs/scriptorium")).toHaveLength(2);

    const [newest = 0] = await versions(one);
    await write(one, "begun again\n", newest);
    expect(await versions(moved)).toEqual([4, 3, 2, 1]);
    const copy = join(top, "copy");
    cpSync(moved, copy, { recursive: true });
    await write(copy, "copy 5\n", 4);
    await write(moved, "one 5\n", 4);
    expect(refs(git, "refs/scriptorium")).toHaveLength(3);
    expect(await text(copy, 5)).toBe("copy 5\n");
    expect(await text(moved, 5)).toBe("one 5\n");
    expect(await problems(moved, "--rebuild")).toEqual([]);
    rmSync(join(moved, ".scriptorium"), { recursive: true });
    expect(await versions(moved)).toEqual([5, 4, 3, 2, 1]);
    expect(await text(moved, 3)).toBe("by hand\n");
  });

  test("N2: a workspace below the top continues the history that it shared before", async () => {
    const { top, git, roots } = await repositoryWith(["packages/a"]);
    const [one] = roots;
    await write(one, "one 2\n", 1);
    writeFileSync(join(one, "wiki/status.md"), "by hand\n");
    expect(await versions(one)).toEqual([3, 2, 1]);
    // As 0.1 left it: one ref for all workspaces, and no name.
    const [own = ""] = refs(git, "refs/scriptorium");
    git("update-ref", "refs/scriptorium/history", own);
    git("update-ref", "-d", own);
    rmSync(join(one, ".scriptorium/history"));
    const named = readdirSync(join(top, ".git")).filter((file) => file.startsWith("scriptorium-history"));
    expect(named).toHaveLength(1);
    for (const file of named) rmSync(join(top, ".git", file));
    expect(await problems(one, "--rebuild")).toEqual([]);
    expect(await text(one, 3)).toBe("by hand\n");
  });

  test("N2: remove leaves the refs, the branches and the runs of the other workspaces and worktrees", async () => {
    const { top, git, roots } = await repositoryWith(["packages/a", "packages/b"], "--book-branch", "book/wiki");
    const side = join(temporaryFolder(), "side");
    git("worktree", "add", "-q", "-b", "side", side);
    const places = [...roots, join(side, "packages/a")];
    const runs: string[] = [];
    for (const root of places) {
      appendFileSync(
        join(root, "scriptorium.yaml"),
        "crew: {sandbox: none}\nagent: {author_name: S, author_email: s@e.org}\n",
      );
      const [newest = 0] = await versions(root);
      await write(root, `text of ${root}\n`, newest);
      const app = await openApp(unwrap(loadConfig(root, testEnvironment())));
      const run = await newRun(app, [planned("0"), planned("1.1")]);
      await executed(app, run, playing({ worker: writes(), qc: passes }));
      runs.push(run);
      await app.close();
    }
    const branches = (run: string) => refs(git, `refs/heads/scriptorium/${run}`);
    expect(runs.every((run) => branches(run).length > 0)).toBe(true);
    expect(refs(git, "refs/scriptorium")).toHaveLength(3);
    const removed = await asPerson(roots[0], "remove", "--yes", "--force");
    expect(removed.stdout).toContain("book/wiki, which has files of another workspace");
    expect(runs.map((run) => branches(run).length > 0)).toEqual([false, true, true]);
    expect(refs(git, "refs/scriptorium")).toHaveLength(2);
    expect(git("show", "book/wiki:packages/b/wiki/status.md")).toContain("text of");
    expect(git("ls-tree", "-r", "--name-only", "book/wiki")).toContain("packages/b/wiki/schema.yaml");
    for (const root of places.slice(1)) {
      expect(await problems(root)).toEqual([]);
      expect(await text(root, (await versions(root))[0] ?? 0)).toBe(`text of ${root}\n`);
    }
    await asPerson(join(side, "packages/a"), "remove", "--yes", "--force");
    expect(runs.map((run) => branches(run).length > 0)).toEqual([false, true, false]);
    await asPerson(roots[1], "remove", "--yes", "--force");
    expect(refs(git, "refs/scriptorium", "refs/heads/scriptorium")).toEqual([]);
    expect(existsSync(join(top, "README.md"))).toBe(true);
  });

  test("N2: two workspaces with a database store mirror to branches of their own", async () => {
    const { git, roots } = await repositoryWith([".", "packages/b"]);
    for (const root of roots) {
      await asPerson(root, "store", "move", "database");
      await write(root, "two\n", 1);
      const app = await openApp(unwrap(loadConfig(root, testEnvironment())));
      while ((await app.mirror?.record())?.more);
      await app.close();
      expect(await problems(root)).toEqual([]);
    }
    expect(refs(git, "refs/heads/scriptorium")).toEqual([
      "refs/heads/scriptorium/book",
      expect.stringMatching(/^refs\/heads\/scriptorium\/book-b-[0-9a-f]{8}$/),
    ]);
    expect(git("ls-tree", "-r", "--name-only", "scriptorium/book")).not.toContain("packages/");
  });
});
