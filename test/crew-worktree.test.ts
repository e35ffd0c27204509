import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Worktree, worktrees } from "../src/crew/attempt/worktree.ts";
import { acceptedBranch, attemptBranch } from "../src/crew/rules/branches.ts";
import { unwrap } from "../src/kernel/result.ts";
import { gitAt } from "../src/store/git/git.ts";
import { gitIn, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const run = "run-1";

function repository() {
  const root = temporaryFolder();
  const git = gitIn(root);
  git("init", "-q", "-b", "main");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.org");
  writeFileSync(join(root, "a.txt"), "one\ntwo\nthree\n");
  writeFileSync(join(root, "b.txt"), "b\n");
  writeFileSync(join(root, ".gitignore"), "ignored/\n.scriptorium/\n");
  git("add", "-A");
  git("commit", "-qm", "Begin");
  const author = { name: "Crew", email: "crew@example.org" };
  const folder = join(root, ".scriptorium/worktrees");
  const trees = worktrees({
    git: gitAt(root, testEnvironment()),
    folder,
    guarded: ["wiki", "scriptorium.yaml"],
    author,
  });
  const attempt = async (name: string, from?: string) =>
    trees.open(name, from ?? (await trees.accepted(run)), { branch: attemptBranch(run, name, 1, 1) });
  const write = (tree: Worktree, path: string, text: string) => {
    mkdirSync(join(tree.folder, path, ".."), { recursive: true });
    writeFileSync(join(tree.folder, path), text);
  };
  return { root, git, trees, attempt, write };
}

describe("worktrees", () => {
  test("an attempt's changes are what git sees, on a branch of its own, and the person's files stay as they are", async () => {
    const { root, git, trees, attempt, write } = repository();
    const tree = await attempt("1.1");
    write(tree, "a.txt", "one\n2\nthree\n");
    write(tree, "src/new file.ts", "export {};\n");
    write(tree, "ignored/junk", "x");
    rmSync(join(tree.folder, "b.txt"));
    writeFileSync(join(tree.folder, "run.sh"), "#!/bin/sh\n");
    chmodSync(join(tree.folder, "run.sh"), 0o755);
    const got = unwrap(await trees.collect(tree, tree.base, "Work\n\nTask: 1.1\n"));
    expect(got.files).toEqual([
      { path: "a.txt", status: "changed" },
      { path: "b.txt", status: "deleted" },
      { path: "run.sh", status: "added" },
      { path: "src/new file.ts", status: "added" },
    ]);
    expect(git("log", "-1", "--format=%an %(trailers:key=Task,valueonly)", got.commit)).toContain("Crew 1.1");
    expect(git("ls-tree", got.commit, "run.sh")).toMatch(/^100755/);
    expect(git("status", "--porcelain")).toBe("");
    await trees.remove(tree);
    expect(git("worktree", "list").split("\n")).toHaveLength(1);
    expect(git("fsck", "--strict")).toBe("");
    expect(root).toBeTruthy();
  });

  test("work on different lines is joined; a contradiction is named and changes nothing", async () => {
    const { git, trees, attempt, write } = repository();
    const [first, second, third] = [await attempt("1.1"), await attempt("1.2"), await attempt("1.3")];
    write(first, "a.txt", "ONE\ntwo\nthree\n");
    write(second, "a.txt", "one\ntwo\nTHREE\n");
    write(third, "a.txt", "uno\ntwo\nthree\n");
    const commits = [];
    for (const tree of [first, second, third]) commits.push(unwrap(await trees.collect(tree, tree.base, "w")).commit);
    const [one = "", two = "", three = ""] = commits;
    unwrap(await trees.merge(run, [{ commit: one, message: "merge 1.1" }]));
    const merged = unwrap(await trees.merge(run, [{ commit: two, message: "merge 1.2" }]));
    expect(git("show", `${merged.commit}:a.txt`)).toBe("ONE\ntwo\nTHREE");
    expect(unwrap(await trees.merge(run, [{ commit: two, message: "again" }]))).toEqual({
      commit: merged.commit,
      already: true,
    });
    expect(await trees.merge(run, [{ commit: three, message: "merge 1.3" }])).toMatchObject({
      ok: false,
      problem: { code: "conflict", details: { files: ["a.txt"] } },
    });
    expect(git("rev-parse", acceptedBranch(run))).toBe(merged.commit);
    expect(git("rev-parse", "main")).toBe(first.base);
  });

  test("a retry goes on from the attempt before, unless that contradicts what was accepted meanwhile", async () => {
    const { git, trees, attempt, write } = repository();
    const tree = await attempt("1.1");
    write(tree, "half.txt", "half\n");
    const { commit } = unwrap(await trees.collect(tree, tree.base, "half"));
    const again = await trees.startFor(run, commit);
    expect(again.kept).toBe(true);
    expect(git("show", `${again.commit}:half.txt`)).toBe("half");

    const other = await attempt("1.2");
    write(other, "half.txt", "another half\n");
    const delivered = unwrap(await trees.collect(other, other.base, "other"));
    unwrap(await trees.merge(run, [{ commit: delivered.commit, message: "m" }]));
    const base = await trees.accepted(run);
    expect(await trees.startFor(run, commit)).toEqual({ base, commit: base, kept: false });
  });

  const refused: [string, (folder: string) => void, RegExp][] = [
    ["a link", (folder) => symlinkSync("/etc/passwd", join(folder, "link")), /link is a symbolic link/],
    [
      "a folder that was made a link",
      (folder) => {
        mkdirSync(join(folder, "d"));
        rmSync(join(folder, "b.txt"));
        rmSync(join(folder, "d"), { recursive: true });
        symlinkSync("/etc", join(folder, "d"));
      },
      /d is a symbolic link/,
    ],
    [
      "an entry",
      (folder) => mkdirSync(join(folder, "wiki")) ?? writeFileSync(join(folder, "wiki/x.md"), "x"),
      /wiki\/x\.md was added/,
    ],
    ["the settings", (folder) => writeFileSync(join(folder, "scriptorium.yaml"), "x"), /scriptorium\.yaml was added/],
    [
      "a folder of our own",
      (folder) => mkdirSync(join(folder, ".scriptorium-x")) ?? writeFileSync(join(folder, ".scriptorium-x/y"), "x"),
      /\.scriptorium-x\/y was added/,
    ],
  ];
  test.each(refused)("T13, T32: %s is not a deliverable", async (_name, plant, why) => {
    const { trees, attempt } = repository();
    const tree = await attempt("1.1");
    plant(tree.folder);
    const got = await trees.collect(tree, tree.base, "w");
    expect(got).toMatchObject({ ok: false, problem: { message: expect.stringMatching(why) } });
  });

  test("T14: what an agent does to git in its folder neither runs nor counts", async () => {
    const { root, git, trees, attempt, write } = repository();
    const tree = await attempt("1.1");
    git("config", "filter.evil.clean", `touch ${join(root, "pwned")}; cat`);
    write(tree, ".gitattributes", "* filter=evil\n");
    write(tree, "a.txt", "changed\n");
    gitIn(tree.folder)("reset", "--soft", "HEAD");
    writeFileSync(join(tree.folder, ".git"), `gitdir: ${join(root, ".git")}\n`);
    const got = unwrap(await trees.collect(tree, tree.base, "w"));
    expect(got.files.map((file) => file.path)).toEqual([".gitattributes", "a.txt"]);
    expect(() => gitIn(root)("cat-file", "-e", "HEAD:pwned")).toThrow();
    expect(git("status", "--porcelain")).not.toContain("pwned");
    await trees.remove(tree);
    await trees.sweep(async () => () => false);
    expect(git("worktree", "list").split("\n")).toHaveLength(1);
  });

  test("what a killed process left behind is swept, what is in use stays", async () => {
    const { git, trees, attempt } = repository();
    await attempt("dead");
    await attempt("live");
    await trees.sweep(async () => {
      await attempt("new");
      return (name) => name === "live";
    });
    expect(git("worktree", "list")).toContain("worktrees/new");
    expect(git("worktree", "list")).toContain("worktrees/live");
    expect(git("worktree", "list")).not.toContain("worktrees/dead");
  });
});
