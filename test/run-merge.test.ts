import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium, serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, type Scene } from "./support/crew.ts";
import { ask } from "./support/requests.ts";
import { atTerminal } from "./support/terminal.ts";
import {
  agent,
  allEvents,
  gitIn,
  newWorkspace,
  person,
  read,
  temporaryFolder,
  testEnvironment,
} from "./support/workspace.ts";

const files = {
  "src/list.txt": "one\ntwo\nthree\n",
  "crlf.txt": "a\r\nb\r\n",
  ".gitattributes": "crlf.txt text eol=crlf\n",
  ".gitignore": "runs/\ngenerated-agents/\n.scriptorium/\n*.log\n",
};

const worker = async ({ number, use }: Scene) => {
  if (number === "1.1") {
    await use("write_file", { path: "out/1.1.txt", content: "1.1\n" });
    await use("write_file", { path: "src/list.txt", content: "one\nTWO\nthree\n" });
    await use("write_file", { path: "crlf.txt", content: "a\r\nB\r\n" });
  }
  await use("submit_output", { output: `made ${number}` });
  return undefined;
};

/** A run whose accepted work adds out/1.1.txt and changes two files. */
async function accepted() {
  const made = await newWorkspace({ config: "crew: { sandbox: none, reports: facts }\n", files });
  const run = await newRun(made.app, [planned("0"), planned("1.1", { title: "Make a list" })]);
  await executed(made.app, run, playing({ worker, qc: passes }));
  return { ...made, run };
}

describe("O11: merging the accepted work of a run", () => {
  test("the branch, the index and the files follow as with git merge; what the person has staged and edited stays", async () => {
    const { app, root, git, run } = await accepted();
    writeFileSync(join(root, "staged.txt"), "staged\n");
    git("add", "staged.txt");
    writeFileSync(join(root, "own.txt"), "untracked\n");
    const before = git("status", "--porcelain");
    const preview = await scriptorium(["run", "merge", run, "--dry-run"], { cwd: root });
    expect(preview.stdout).toContain("added: out/1.1.txt");
    expect(existsSync(join(root, "out/1.1.txt"))).toBe(false);

    const head = git("rev-parse", "HEAD");
    const done = (await scriptorium(["run", "merge", run, "--json"], { cwd: root })).json<{ commit: string }>();
    expect(done).toMatchObject({ merged: true, into: "main", folder: root });
    expect(git("rev-parse", "HEAD")).toBe(done.commit);
    expect(git("log", "-1", "--format=%P").split(" ")).toEqual([head, git("rev-parse", acceptedBranch(run))]);
    expect(git("log", "-1", "--format=%an <%ae>")).toBe("Ada Lovelace <ada@example.org>");
    expect(git("log", "-1", "--format=%B")).toMatch(
      new RegExp(
        `^A run\n\n2 of 2 tasks accepted; 3 files changed\\.\n\n- 0: Do 0\n- 1\\.1: Make a list\n\nRun: ${run}\n`,
      ),
    );
    expect(git("log", "-1", "--format=%(trailers:key=Run,valueonly)")).toBe(run);
    expect(read(join(root, "crlf.txt"))).toBe("a\r\nB\r\n");
    expect(git("status", "--porcelain")).toBe(before);
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
    expect((await allEvents(app)).filter(({ kind }) => kind === "run-merged")).toMatchObject([
      { actor: "Ada Lovelace", data: { into: "main", commit: done.commit, squash: false } },
    ]);
    const again = await scriptorium(["run", "merge", run], { cwd: root });
    expect(again.stdout).toBe("main has the accepted work already\n");
  });

  test("uncommitted, untracked or ignored files in the way and conflicts are named, and nothing is changed", async () => {
    const { root, git, run } = await accepted();
    const refused = async (message: string) => {
      const before = [git("rev-parse", "HEAD"), git("status", "--porcelain", "--ignored"), git("diff")];
      const { code, stderr } = await scriptorium(["run", "merge", run], { cwd: root });
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
      expect([git("rev-parse", "HEAD"), git("status", "--porcelain", "--ignored"), git("diff")]).toEqual(before);
    };
    writeFileSync(join(root, "src/list.txt"), "one\ntwo\nthree\nfour\n");
    await refused("uncommitted changes in src/list.txt, which the merge would overwrite");
    git("checkout", "-q", "--", "src/list.txt");
    mkdirSync(join(root, "out"));
    writeFileSync(join(root, "out/1.1.txt"), "mine\n");
    await refused("uncommitted changes in out/1.1.txt");
    mkdirSync(join(root, ".git/info"), { recursive: true });
    writeFileSync(join(root, ".git/info/exclude"), "out/\n");
    await refused("uncommitted changes in out/");
    writeFileSync(join(root, ".git/info/exclude"), "");
    git("clean", "-qfd", "out");
    writeFileSync(join(root, "src/list.txt"), "one\nzwei\nthree\n");
    git("commit", "-qam", "Two");
    await refused("merge conflict in src/list.txt; nothing was changed");
  });

  test("a filter that fails half-way leaves the files as they were", async () => {
    const { root, git, run } = await accepted();
    mkdirSync(join(root, ".git/info"), { recursive: true });
    writeFileSync(join(root, ".git/info/attributes"), "src/list.txt filter=broken\n");
    const config = join(temporaryFolder(), "gitconfig");
    writeFileSync(config, '[filter "broken"]\n\tclean = cat\n\tsmudge = false\n\trequired = true\n');
    const { code, stderr } = await scriptorium(["run", "merge", run], {
      cwd: root,
      env: { GIT_CONFIG_GLOBAL: config },
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining("git could not update the files")]);
    writeFileSync(join(root, ".git/info/attributes"), "");
    expect(git("status", "--porcelain")).toBe("");
    expect(read(join(root, "src/list.txt"))).toBe(files["src/list.txt"]);
  });

  test("another branch moves alone, one in a linked worktree moves with its files, and a squash is one commit", async () => {
    const { root, git, run } = await accepted();
    const head = git("rev-parse", "HEAD");
    git("branch", "release");
    const linked = join(temporaryFolder(), "linked");
    git("worktree", "add", "-q", "-b", "next", linked);

    const moved = await scriptorium(["run", "merge", run, "--into", "release", "--squash", "--json"], { cwd: root });
    expect(moved.json()).toMatchObject({ merged: true, folder: null, into: "release" });
    expect(git("log", "-1", "--format=%P", "release")).toBe(head);
    expect(git("show", "release:out/1.1.txt")).toBe("1.1");
    expect([git("rev-parse", "HEAD"), git("status", "--porcelain")]).toEqual([head, ""]);

    const followed = await scriptorium(["run", "merge", run, "--into", "next", "--json"], { cwd: root });
    expect(followed.json()).toMatchObject({ folder: linked });
    expect(read(join(linked, "out/1.1.txt"))).toBe("1.1\n");
    expect(gitIn(linked)("status", "--porcelain")).toBe("");
    expect(git("status", "--porcelain")).toBe("");

    expect((await scriptorium(["run", "clean", run, "--dry-run"], { cwd: root })).stdout).toContain("not merged");
    await scriptorium(["run", "merge", run, "--squash"], { cwd: root });
    expect((await scriptorium(["run", "clean", run], { cwd: root })).stdout).toContain(
      `deleted branch ${acceptedBranch(run)}`,
    );
    for (const [into, message] of [
      ["nowhere", "branch nowhere does not exist"],
      [`scriptorium/${run}/accepted`, "is a branch of a run"],
    ] as const) {
      const other = await accepted();
      const { stderr } = await scriptorium(["run", "merge", other.run, "--into", into], { cwd: other.root });
      expect(stderr).toContain(message);
    }
  });

  test("C8: no agent and no process without a person's proof merges or pushes; a terminal and a browser session do", async () => {
    const { app, root, git, run } = await accepted();
    const head = git("rev-parse", "HEAD");
    const { proof: _, ...unproven } = person() as { proof?: string };
    for (const operation of [operations.merge_run, operations.open_pull_request])
      for (const caller of [agent("engineer"), unproven as never])
        expect(await operation.perform(app, { id: run, confirm: true }, caller)).toMatchObject({
          problem: { code: "denied" },
        });
    const silent = await scriptorium(["run", "merge", run], { cwd: root, env: { SCRIPTORIUM_TOKEN: "" } });
    expect([silent.code, silent.stderr]).toEqual([1, expect.stringContaining("a person must confirm this")]);
    expect(git("rev-parse", "HEAD")).toBe(head);

    const terminal = atTerminal(["run", "merge", run], { cwd: root });
    await terminal.answer("changed: src/list.txt");
    await terminal.answer("Type merge to confirm: ", "no\r");
    expect((await terminal.end()).screen).toContain("nothing was changed");
    const server = await serve(root);
    const asked = { method: "POST", token: server.token, body: { confirm: true } };
    expect((await ask(server.url, `/api/runs/${run}/merge`, asked)).json()).toMatchObject({ merged: true });
    expect(git("show", "HEAD:out/1.1.txt")).toBe("1.1");
  });
});

test("B9: a fast-forward by hand is not recorded as a merge by a later caller", async () => {
  const { app, root, git, run } = await accepted();
  git("merge", "-q", "--ff-only", acceptedBranch(run));
  const { stdout } = await scriptorium(["run", "merge", run], { cwd: root });
  expect(stdout).toBe("main has the accepted work already\n");
  expect((await allEvents(app)).filter(({ kind }) => kind === "run-merged")).toEqual([]);
});

/** A folder with a program that records its arguments and input. */
function fakeProgram(name: string, answer: string) {
  const folder = temporaryFolder();
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$@" > ${folder}/args\ncat > ${folder}/input\n${answer}\n`);
  chmodSync(file, 0o755);
  const PATH = [
    folder,
    ...(testEnvironment()
      .PATH?.split(delimiter)
      .filter((one) => one !== "") ?? []),
  ].join(delimiter);
  return {
    folder,
    PATH,
    args: () => read(join(folder, "args")).trimEnd().split("\n"),
    input: () => read(join(folder, "input")),
  };
}

describe("O11: opening the accepted work as a pull request", () => {
  async function withRemote(address: string) {
    const made = await accepted();
    const bare = join(temporaryFolder(), "mail.git");
    made.git("init", "-q", "--bare", bare);
    made.git("remote", "add", "origin", address);
    const config = join(temporaryFolder(), "gitconfig");
    writeFileSync(config, `[user]\n\tname = Ada\n[url "${bare}"]\n\tpushInsteadOf = ${address}\n`);
    const hook = join(made.root, ".git/hooks/pre-push");
    mkdirSync(join(made.root, ".git/hooks"), { recursive: true });
    writeFileSync(hook, `#!/bin/sh\ntouch ${made.root}/hooked\n`);
    chmodSync(hook, 0o755);
    const run = (more: string[], env: Record<string, string>) =>
      scriptorium(["run", "pr", made.run, ...more], { cwd: made.root, env: { GIT_CONFIG_GLOBAL: config, ...env } });
    return { ...made, bare, pr: run };
  }

  test("gh gets the branch, the base, the title and the report; the address is printed and recorded", async () => {
    const { app, root, git, run, bare, pr } = await withRemote("https://ada:s3cret@github.example.org/acme/mail.git");
    const gh = fakeProgram("gh", "echo https://github.example.org/acme/mail/pull/7");
    const preview = await pr(["--dry-run"], { PATH: gh.PATH });
    expect(preview.stdout).toContain(`Push ${acceptedBranch(run)} to origin (${bare})`);
    expect(preview.stdout).not.toContain("s3cret");
    expect(gitIn(bare)("branch", "--list")).toBe("");

    const done = await pr(["--draft", "--base", "main", "--json"], { PATH: gh.PATH });
    expect(done.stderr).toContain(`Push ${acceptedBranch(run)} to origin`);
    expect(done.json()).toMatchObject({ pushed: true, pull_request: "https://github.example.org/acme/mail/pull/7" });
    expect(gh.args()).toEqual([
      ...["pr", "create", "--repo=github.example.org/acme/mail", `--head=${acceptedBranch(run)}`, "--base=main"],
      ...["--title=A run", "--body-file=-", "--draft"],
    ]);
    expect(gh.input()).toMatch(/^# Report: A run/);
    expect(gitIn(bare)("rev-parse", acceptedBranch(run))).toBe(git("rev-parse", acceptedBranch(run)));
    expect(existsSync(join(root, "hooked"))).toBe(false);
    const pushed = (await allEvents(app)).filter(({ kind }) => kind === "run-pushed");
    expect(pushed).toMatchObject([{ data: { remote: "origin", pull_request: expect.stringContaining("/pull/7") } }]);
    expect(JSON.stringify(pushed)).not.toContain("s3cret");
  });

  test("glab opens it on GitLab; a program that fails, or is missing, leaves the pushed branch and says so", async () => {
    const { run, bare, pr } = await withRemote("git@gitlab.example.org:acme/mail.git");
    const glab = fakeProgram("glab", "echo '!4 https://gitlab.example.org/acme/mail/-/merge_requests/4'");
    expect((await pr(["--json"], { PATH: glab.PATH })).json()).toMatchObject({
      pull_request: "https://gitlab.example.org/acme/mail/-/merge_requests/4",
    });
    expect(glab.args().slice(0, 4)).toEqual([
      ...["mr", "create", "--repo=gitlab.example.org/acme/mail", `--source-branch=${acceptedBranch(run)}`],
    ]);
    expect(gitIn(bare)("branch", "--list", "--format=%(refname:short)")).toBe(acceptedBranch(run));

    const broken = fakeProgram("gh", "echo 'not signed in' >&2; exit 4");
    const failed = await pr(["--forge", "github"], { PATH: broken.PATH });
    expect([failed.code, failed.stderr]).toEqual([
      1,
      expect.stringContaining(
        `${acceptedBranch(run)} is pushed to origin, but gh opened no pull request: not signed in`,
      ),
    ]);
    const without = await pr([], { PATH: testEnvironment().PATH ?? "" });
    expect(without.stdout).toContain("glab is not installed, so open the pull request on its website");
  });

  test.each([
    [
      ...["gh", "https://github.example.org/acme/mail.git", 'a pull request for branch "x" already exists:'],
      ["pr", "edit"],
    ],
    [
      ...["glab", "git@gitlab.example.org:acme/mail.git", "Another open merge request already exists for this branch"],
      ["mr", "update"],
    ],
  ] as const)("N11: %s updates the text of a pull request that is open already", async (name, remote, said, verb) => {
    const { app, run, pr } = await withRemote(remote);
    const answer = `case "$2" in create) echo '${said} https://forge.example.org/7' >&2; exit 1;; esac`;
    const forge = fakeProgram(name, answer);
    const done = await pr(["--json"], { PATH: forge.PATH });
    expect(done.json()).toMatchObject({ pull_request: "https://forge.example.org/7" });
    expect(done.json<{ message: string }>().message).toContain("its text was updated");
    const args = forge.args();
    expect(args.slice(0, 3)).toEqual([...verb, acceptedBranch(run)]);
    expect(name === "gh" ? forge.input() : args.join("\n")).toContain("# Report: A run");
    expect((await allEvents(app)).filter(({ kind }) => kind === "run-pushed")).toHaveLength(1);
  });

  test("B5: after a rerun the push shows what it would replace, and replaces it only with --force-with-lease", async () => {
    const { app, root, git, run, bare, pr } = await withRemote("https://github.example.org/acme/mail.git");
    const gh = fakeProgram("gh", "echo https://github.example.org/acme/mail/pull/7");
    await pr([], { PATH: gh.PATH });
    const before = git("rev-parse", acceptedBranch(run));
    await scriptorium(["run", "rerun", run, "--from", "1.1", "--no-start"], { cwd: root });
    await executed(app, run, playing({ worker, qc: passes }));
    expect(git("rev-parse", acceptedBranch(run))).not.toBe(before);

    const preview = await pr(["--dry-run"], { PATH: gh.PATH });
    expect(preview.stdout).toContain(`replaces ${before.slice(0, 12)} on origin`);
    expect(preview.stdout).toContain("- Accept task 1.1: Make a list");
    const refused = await pr([], { PATH: gh.PATH });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("as after a rerun; nothing was pushed"),
    ]);
    expect(refused.stderr).toContain("--force-with-lease");
    expect(gitIn(bare)("rev-parse", acceptedBranch(run))).toBe(before);

    const done = await pr(["--force-with-lease"], { PATH: gh.PATH });
    expect([done.code, done.stdout]).toEqual([0, expect.stringContaining("/pull/7")]);
    expect(gitIn(bare)("rev-parse", acceptedBranch(run))).toBe(git("rev-parse", acceptedBranch(run)));
    expect((await pr(["--dry-run"], { PATH: gh.PATH })).stdout).not.toContain("replaces");
  });

  test("T14: a program of the repository opens nothing, and settings of its own configuration stop the push", async () => {
    const { root, git, bare, pr } = await withRemote("https://github.example.org/acme/mail.git");
    mkdirSync(join(root, "node_modules/.bin"), { recursive: true });
    writeFileSync(join(root, "node_modules/.bin/gh"), `#!/bin/sh\ntouch ${root}/ran\n`);
    chmodSync(join(root, "node_modules/.bin/gh"), 0o755);
    const PATH = [join(root, "node_modules/.bin"), testEnvironment().PATH].join(delimiter);
    git("config", "core.sshCommand", `touch ${root}/ran`);
    const refused = await pr([], { PATH });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("own configuration sets core.sshcommand"),
    ]);
    expect(gitIn(bare)("branch", "--list")).toBe("");
    git("config", "--unset", "core.sshCommand");
    expect((await pr([], { PATH })).stdout).toContain("gh is not installed");
    expect(existsSync(join(root, "ran"))).toBe(false);
  });

  test("a workspace without a remote and a run without accepted files say so", async () => {
    const { app, root, run } = await accepted();
    expect((await scriptorium(["run", "pr", run], { cwd: root })).stderr).toContain("the repository has no remote");
    const unplanned = await newRun(app, [planned("0")]);
    expect((await scriptorium(["run", "merge", unplanned], { cwd: root })).stderr).toContain(
      "its work can be merged when it has stopped or ended",
    );
    const texts = playing({
      worker: async ({ use }) => {
        await use("submit_output", { output: "made 0" });
        return undefined;
      },
      qc: passes,
    });
    await executed(app, unplanned, texts);
    expect((await scriptorium(["run", "merge", unplanned], { cwd: root })).stderr).toContain("has no accepted files");
  });
});
