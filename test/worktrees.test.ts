import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scribe, scriptorium } from "./support/commands.ts";
import { gitIn, temporaryFolder } from "./support/workspace.ts";

/** A workspace with a committed wiki, and a linked worktree on a branch of its own. */
async function twoWorktrees() {
  const home = temporaryFolder();
  const main = join(home, "main");
  const side = join(home, "side");
  gitIn(home)("init", "-q", "-b", "trunk", "main");
  const git = gitIn(main);
  git("config", "user.name", "Ada Lovelace");
  git("config", "user.email", "ada@example.org");
  writeFileSync(join(main, "README.md"), "mine\n");
  git("add", "-A");
  git("commit", "-qm", "Begin");
  expect((await scriptorium(["init", "--yes", "--connect", "none"], { cwd: main })).code).toBe(0);
  git("worktree", "add", "-q", "-b", "side", side);
  return { home, main, side, git };
}

async function write(cwd: string, text: string, version: number): Promise<void> {
  const ran = await scribe(["commit-entry", "--id", "status", "--version", String(version)], { cwd, input: text });
  expect(ran).toMatchObject({ code: 0, stderr: "" });
}

type Version = { version: number; author: string };
const versions = async (cwd: string) =>
  (await scriptorium(["entry", "history", "status", "--json"], { cwd }))
    .json<Version[]>()
    .map(({ version }) => version);
const text = async (cwd: string, version: number) =>
  (await scriptorium(["entry", "read", "status", "--version", String(version), "--json"], { cwd })).json<{
    content: string;
  }>().content;
const problems = async (cwd: string) =>
  (await scriptorium(["doctor", "--rebuild", "--json"], { cwd }))
    .json<{ findings: { state: string }[] }>()
    .findings.filter(({ state }) => state === "problem");
const refs = (git: ReturnType<typeof gitIn>) =>
  git("for-each-ref", "--format=%(refname)", "refs/scriptorium").split("\n");

describe("N2: two worktrees of one repository", () => {
  test("N2: each keeps its own versions through gc, move and rebuild, and leaves git clean", async () => {
    const { home, main, side, git } = await twoWorktrees();
    await write(main, "main two\n", 1);
    await write(side, "side two\n", 1);
    await write(main, "main three\n", 2);
    await write(side, "side three\n", 2);
    expect(refs(git)).toEqual([
      "refs/scriptorium/history",
      expect.stringMatching(/^refs\/scriptorium\/workspaces\/side-[0-9a-f]{8}$/),
    ]);
    // A person's edit that nobody commits is in no branch, only in the history of its work tree.
    writeFileSync(join(side, "wiki/status.md"), "side by hand\n");
    expect(await versions(side)).toEqual([4, 3, 2, 1]);
    await write(side, "side five\n", 4);
    for (const folder of [main, side]) {
      expect(gitIn(folder)("status", "--porcelain")).toBe("");
      expect(gitIn(folder)("log", "-1", "--format=%an")).toBe("agent");
    }
    git("reflog", "expire", "--expire=now", "--all");
    git("gc", "-q", "--prune=now");
    const moved = join(home, "moved");
    git("worktree", "move", side, moved);
    expect(await problems(main)).toEqual([]);
    expect(await problems(moved)).toEqual([]);
    expect(await versions(main)).toEqual([3, 2, 1]);
    expect(await versions(moved)).toEqual([5, 4, 3, 2, 1]);
    expect(await text(main, 2)).toBe("main two\n");
    expect(await text(moved, 2)).toBe("side two\n");
    expect(await text(moved, 4)).toBe("side by hand\n");
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
  });

  test("N2: a new worktree in the place of a removed one starts from its branch", async () => {
    const { main, side, git } = await twoWorktrees();
    await write(side, "side two\n", 1);
    git("worktree", "remove", "--force", side);
    git("worktree", "add", "-q", "-b", "fresh", side, "trunk");
    expect(await versions(side)).toEqual([1]);
    await write(side, "fresh two\n", 1);
    expect(await text(side, 2)).toBe("fresh two\n");
    expect(await problems(side)).toEqual([]);
    expect(await versions(main)).toEqual([1]);
  });

  test("N2: remove takes out the history of its own work tree and of removed ones, and leaves others", async () => {
    const { main, side, git } = await twoWorktrees();
    await write(main, "main two\n", 1);
    await write(side, "side two\n", 1);
    expect(await scriptorium(["remove", "--yes"], { cwd: side })).toMatchObject({ code: 0 });
    expect(refs(git)).toEqual(["refs/scriptorium/history"]);
    expect(existsSync(join(main, "scriptorium.yaml"))).toBe(true);
    expect(await text(main, 2)).toBe("main two\n");

    const other = join(temporaryFolder(), "other");
    git("worktree", "add", "-q", "-b", "other", other, "trunk");
    await write(other, "other\n", 2);
    expect(await scriptorium(["remove", "--yes"], { cwd: main })).toMatchObject({ code: 0 });
    expect(refs(git)).toEqual([expect.stringMatching(/workspaces\/other-/)]);
    expect(await text(other, 3)).toBe("other\n");
    git("worktree", "remove", "--force", other);
  });
});

test("V2: a sparse checkout without the wiki refuses reads and writes with the command to run, and keeps every text", async () => {
  const { main, git } = await twoWorktrees();
  await write(main, "kept\n", 1);
  const clone = join(temporaryFolder(), "clone");
  git("clone", "-q", "--sparse", main, clone);
  expect(existsSync(join(clone, "wiki"))).toBe(false);
  const refusal = /not in this sparse checkout.*git sparse-checkout add wiki/;
  const commit = { cwd: clone, input: "new\n" };
  const written = await scribe(["commit-entry", "--id", "overview", "--version", "1"], commit);
  expect(written.code).not.toBe(0);
  expect((await scriptorium(["doctor"], { cwd: clone })).stdout).toMatch(/wiki\/schema\.yaml is missing|sparse/);
  gitIn(clone)("sparse-checkout", "set", "--no-cone", "/*", "!/wiki/*.md");
  const refused = await scribe(["commit-entry", "--id", "overview", "--version", "1"], commit);
  expect(refused.stdout + refused.stderr).toMatch(refusal);
  expect((await scriptorium(["doctor"], { cwd: clone })).stdout).toMatch(refusal);
  gitIn(clone)("sparse-checkout", "disable");
  expect(await text(clone, 2)).toBe("kept\n");
  expect(await versions(clone)).toEqual([2, 1]);
});
