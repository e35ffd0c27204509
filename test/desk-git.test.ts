import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { runBounded } from "../src/agents/bounded.ts";
import { findSandbox } from "../src/agents/sandbox.ts";
import { worktrees } from "../src/crew/attempt/worktree.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { unwrap } from "../src/kernel/result.ts";
import { gitAt } from "../src/store/git/git.ts";
import { executed, newRun, passes, planned, playing } from "./support/crew.ts";
import { defaultLimits as limits } from "./support/limits.ts";
import { needs } from "./support/programs.ts";
import { gitIn, newWorkspace, temporaryFolder, testEnvironment } from "./support/workspace.ts";

type Workspace = Awaited<ReturnType<typeof newWorkspace>>;

/** Runs a worker that executes a shell script in its folder; returns what it printed. */
async function inWorktree({ app }: Pick<Workspace, "app">, script: string) {
  let printed = "";
  const agents = playing({
    async worker({ number, use }) {
      if (number !== "0") printed = String((await use("run_command", { run: ["sh", "-c", script] })).output);
      await use("submit_output", { output: `made ${number}` });
    },
    qc: passes,
  });
  const run = await newRun(app, [planned("0"), planned("1.1", { max_retries: 0 })]);
  const outcome = await executed(app, run, agents, { workers: 1 });
  return { printed, outcome, run };
}

describe("W16: git inside a worktree", needs("bubblewrap"), () => {
  test("W16: status, diff, log, show, stash and commit work, and the files are what is delivered", async () => {
    const made = await newWorkspace({ files: { "src/a.txt": "one\n" } });
    const before = made.git("rev-parse", "HEAD");
    const { printed, run, outcome } = await inWorktree(
      made,
      [
        "git status --porcelain; echo two >> src/a.txt; git diff --stat; git stash -q; cat src/a.txt; git stash pop -q",
        "git log --oneline | wc -l; git show --stat HEAD | head -1; git commit -qam 'Mine'; git log -1 --format=%s",
        "git status --porcelain; git reset -q --soft HEAD~1; git checkout -q -b other; echo three > src/b.txt; git add src/b.txt; git commit -qm 'More'; git branch",
      ].join("; "),
    );
    expect(printed.split("\n").map((line) => line.trim())).toEqual([
      "src/a.txt | 1 +",
      "1 file changed, 1 insertion(+)",
      "one",
      expect.stringMatching(/^\d+$/),
      `commit ${before}`,
      "Mine",
      "* other",
      "work",
    ]);
    expect(outcome.state).toBe("completed");
    const show = (path: string) => made.git("show", `${acceptedBranch(run)}:${path}`);
    expect([show("src/a.txt"), show("src/b.txt")]).toEqual(["one\ntwo", "three"]);
    // Its commits are its own: the record has one commit of the crew.
    expect(made.git("log", "--all", "--format=%s")).not.toMatch(/Mine|More/);
  });

  test("T14, T32: reaches neither objects of other branches, nor refs, hooks and settings of the person's repository", async () => {
    const made = await newWorkspace({ files: { "src/a.txt": "one\n" } });
    made.git("checkout", "-q", "-b", "secret");
    writeFileSync(made.file("secret.txt"), "PLANTED-SECRET\n");
    made.git("add", "secret.txt");
    made.git("commit", "-qm", "Secret");
    const [secret, blob] = [made.git("rev-parse", "HEAD"), made.git("rev-parse", "HEAD:secret.txt")];
    made.git("checkout", "-q", "-");
    const config = readFileSync(made.file(".git/config"), "utf8");
    mkdirSync(made.file(".git/hooks"), { recursive: true });
    const { printed, outcome } = await inWorktree(
      made,
      [
        `git cat-file -p ${blob}; git show ${secret} 2>&1; git cat-file --batch-all-objects --batch-check | grep -c ${blob}`,
        "git for-each-ref --format='%(refname)'",
        "git config core.fsmonitor 'touch /tmp/x'; git config core.hooksPath /tmp/hooks; mkdir -p $(git rev-parse --git-dir)/hooks; printf '#!/bin/sh\\ntouch pwned\\n' > $(git rev-parse --git-dir)/hooks/pre-commit",
        "git update-ref refs/heads/planted HEAD; git gc -q 2>&1; rm -rf .git; echo 'gitdir: /elsewhere' > .git",
        `ls ${made.root} 2>&1; ls ${made.file(".git")} 2>&1; cat ${made.file(".git/config")} 2>&1`,
        "echo done > out.txt",
      ].join("; "),
    );
    expect(outcome.state).toBe("completed");
    expect(printed).not.toContain("PLANTED-SECRET");
    expect(printed).toMatch(/^0$/m);
    expect(printed).toMatch(/^refs\/heads\/work$/m);
    expect(printed).not.toMatch(/refs\/heads\/(main|master|secret)/);
    expect(readFileSync(made.file(".git/config"), "utf8")).toBe(config);
    expect(readdirSync(made.file(".git/hooks"))).toEqual([]);
    expect(made.git("for-each-ref")).not.toContain("planted");
    expect(made.git("fsck", "--strict")).not.toMatch(/error|missing/);
    expect(existsSync(made.file("pwned"))).toBe(false);
    for (const folder of ["desks", "worktrees"])
      expect(readdirSync(join(made.root, ".scriptorium", folder))).toEqual([]);
  });

  test("W16: in a workspace that is a folder of its repository, the files beside it do not count as deleted", async () => {
    const root = temporaryFolder();
    const git = gitIn(root);
    git("init", "-q", "-b", "main");
    for (const path of ["root.txt", "inner/a.txt"]) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), "one\n");
    }
    git("add", "-A");
    git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "Begin");
    const author = { name: 'A "quoted" \\ name', email: "" };
    const folder = join(temporaryFolder(), "worktrees");
    const trees = worktrees({ git: gitAt(join(root, "inner"), testEnvironment()), folder, guarded: [], author });
    const tree = await trees.open("t-1", git("rev-parse", "HEAD"));
    const { repository } = trees.beside(tree.cwd) ?? {};
    const env = { PATH: testEnvironment().PATH ?? "" };
    const access = { folder: tree.cwd, write: true, limits, env, ...(repository ? { repository } : {}) };
    const script =
      "git status --porcelain; echo two > b.txt; git add -A; git commit -qm More; git show --stat --format=%an";
    const ran = await runBounded(unwrap(await findSandbox("auto", testEnvironment())), ["sh", "-c", script], access, {
      run: "r",
      wallMs: 20_000,
      signal: new AbortController().signal,
    });
    expect(ran.output.trim().split("\n")).toEqual([
      author.name,
      "",
      expect.stringContaining("inner/b.txt | 1 +"),
      expect.stringContaining("1 file changed"),
    ]);
    await trees.remove(tree);
    expect(existsSync(repository?.gitDir ?? "")).toBe(false);
  });
});
