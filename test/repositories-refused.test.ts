import { chownSync, existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scribe, scriptorium } from "./support/commands.ts";
import { skipNow } from "./support/programs.ts";
import { layouts, type Repository, repositoryOf } from "./support/repositories.ts";

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
