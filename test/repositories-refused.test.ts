import { chownSync, existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scribe, scriptorium } from "./support/commands.ts";
import { skipNow } from "./support/programs.ts";
import { layouts, put, type Repository, repositoryOf } from "./support/repositories.ts";

const init = ["init", "--yes", "--connect", "none"];

const plainRepository = () => repositoryOf({ name: "plain" });

function giveAway(folder: string): void {
  for (const path of ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })])
    chownSync(join(folder, path), 12_345, 12_345);
}

const everything = ({ root }: Repository) => readdirSync(root, { recursive: true, encoding: "utf8" }).sort();

test("V2: in a repository of another user every command says the command to run, and changes nothing", async () => {
  if (process.geteuid?.() !== 0) return skipNow("only root can give a folder away");
  for (const isWorkspace of [false, true]) {
    const repository = plainRepository();
    const { root, env, git } = repository;
    const how = { cwd: root, env };
    if (isWorkspace) expect(await scriptorium(init, how)).toMatchObject({ code: 0 });
    giveAway(root);
    const before = everything(repository);
    const refusal = `belongs to another user; if you trust it, run: git config --global --add safe.directory ${root}`;
    const commands = isWorkspace ? [["entry", "list"], ["doctor"], ["remove", "--yes", "--force"]] : [init];
    for (const args of commands) {
      const ran = await scriptorium(args, how);
      expect(ran.code, args.join(" ")).toBe(1);
      expect(ran.stderr).toContain(refusal);
    }
    const commit = ["commit-entry", "--id", "status", "--version", "1"];
    if (isWorkspace) expect((await scribe(commit, { ...how, input: "new\n" })).stderr).toContain(refusal);
    expect(everything(repository)).toEqual(before);
    git("config", "--global", "--add", "safe.directory", root);
    expect(git("log", "--format=%s")).toContain("Begin");
    expect(await scriptorium(isWorkspace ? ["entry", "list"] : init, how)).toMatchObject({ code: 0 });
  }
});

test("V2: init leaves a .git alone that git cannot use", async () => {
  const { root, env } = plainRepository();
  renameSync(join(root, ".git/HEAD"), join(root, ".git/HEAD.lost"));
  const ran = await scriptorium(init, { cwd: root, env });
  expect(ran.code).toBe(1);
  expect(ran.stderr).toMatch(/git cannot use .*\.git \(.*\); restore it from a backup or a clone/);
  expect(existsSync(join(root, ".git/HEAD.lost"))).toBe(true);
  expect(existsSync(join(root, "scriptorium.yaml"))).toBe(false);
});

test("V2: a worktree that git has pruned is named, with the way to attach it again", async () => {
  const { root, env, gitAt } = repositoryOf(
    layouts.find(({ name }) => name === "linked worktree") ?? { name: "plain" },
  );
  expect(await scriptorium(init, { cwd: root, env })).toMatchObject({ code: 0 });
  const main = join(root, "../main");
  rmSync(join(main, ".git/worktrees/side"), { recursive: true });
  const ran = await scriptorium(["doctor"], { cwd: root, env });
  expect(ran.stdout + ran.stderr).toMatch(/if the worktree was pruned, add it again in another folder/);
  // The name of the history is in .scriptorium/, so that it continues where the folder is copied to.
  const again = join(root, "../again");
  gitAt(main, "worktree", "add", "-q", again, "side");
  renameSync(join(root, ".scriptorium"), join(again, ".scriptorium"));
  const history = await scriptorium(["entry", "history", "status", "--json"], { cwd: again, env });
  expect(history.json<unknown[]>()).toHaveLength(1);
  const found = (await scriptorium(["doctor", "--json"], { cwd: again, env })).json<{
    findings: { state: string }[];
  }>();
  expect(found.findings.filter(({ state }) => state === "problem")).toEqual([]);
});

/** A workspace with four versions of an entry, of which clones with a filter may be made. */
async function origin() {
  const repository = plainRepository();
  const { root, env, git } = repository;
  expect(await scriptorium(init, { cwd: root, env })).toMatchObject({ code: 0 });
  for (const version of [1, 2, 3]) {
    const commit = ["commit-entry", "--id", "status", "--version", String(version)];
    expect(await scribe(commit, { cwd: root, env, input: `text ${version + 1}\n` })).toMatchObject({ code: 0 });
  }
  git("config", "uploadpack.allowFilter", "true");
  return repository;
}

const everyObject = "to get all of them, run: git fetch --refetch --no-filter";

test("V2: in a clone without trees every command says the command that completes it, and leaves nothing behind", async () => {
  const { root, env, gitAt } = await origin();
  const clone = join(root, "../clone");
  gitAt(join(root, ".."), "clone", "-q", "--filter=tree:0", `file://${root}`, clone);
  const listed = await scriptorium(["entry", "list"], { cwd: clone, env });
  expect([listed.code, listed.stderr]).toEqual([1, expect.stringContaining(everyObject)]);
  const doctor = await scriptorium(["doctor"], { cwd: clone, env });
  expect(doctor.stdout + doctor.stderr).toContain(everyObject);
  gitAt(clone, "fetch", "-q", "--refetch", "--no-filter");
  const history = await scriptorium(["entry", "history", "status", "--json"], { cwd: clone, env });
  expect(history.json<unknown[]>()).toHaveLength(4);

  // Before there is a workspace, init finds it out.
  const bare = repositoryOf({ name: "plain" });
  put(bare.root, { "src/code.txt": "later\n" });
  bare.git("commit", "-qam", "Later");
  bare.git("config", "uploadpack.allowFilter", "true");
  const work = join(bare.root, "../treeless");
  gitAt(join(bare.root, ".."), "clone", "-q", "--filter=tree:0", `file://${bare.root}`, work);
  const before = readdirSync(work);
  const refused = await scriptorium(init, { cwd: work, env });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(everyObject)]);
  expect(readdirSync(work)).toEqual(before);
  gitAt(work, "fetch", "-q", "--refetch", "--no-filter");
  expect(await scriptorium(init, { cwd: work, env })).toMatchObject({ code: 0 });
});

test("V2: a clone without blobs works, and says which texts are not here, with its remote and without it", async () => {
  const { root, env, gitAt } = await origin();
  const clone = join(root, "../clone");
  gitAt(join(root, ".."), "clone", "-q", "--filter=blob:none", `file://${root}`, clone);
  const how = { cwd: clone, env };
  const old = ["entry", "read", "status", "--version", "2"];
  const write = async (version: number) => {
    const commit = ["commit-entry", "--id", "status", "--version", String(version)];
    expect(await scribe(commit, { ...how, input: `clone ${version}\n` })).toMatchObject({ code: 0, stderr: "" });
    expect(gitAt(clone, "status", "--porcelain")).toBe("");
  };
  await write(4);
  renameSync(root, `${root}.away`);
  await write(5);
  const refused = await scriptorium(old, how);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(everyObject)]);
  const doctor = (await scriptorium(["doctor"], how)).stdout;
  expect(doctor).toMatch(/this is a partial clone: \d+ earlier versions have no text here/);
  expect(doctor).toContain("git fetch --refetch --no-filter");
  renameSync(`${root}.away`, root);
  gitAt(clone, "fetch", "-q", "--refetch", "--no-filter");
  expect((await scriptorium(old, how)).stdout).toContain("text 2");
  const after = await scriptorium(["doctor", "--json"], how);
  expect(after.stdout).not.toMatch(/partial clone|"problem"/);
  expect(gitAt(clone, "fsck", "--strict", "--no-dangling")).toBe("");
});
