import { spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scribe, scriptorium, serveProcess } from "./support/commands.ts";
import { put, type Repository, repositoryOf } from "./support/repositories.ts";

const scribeFile = new URL("../dist/scribe.js", import.meta.url).pathname;

/** A workspace whose hook appends a line to a log and keeps what the command printed. */
async function hooked(hook: string): Promise<Repository & { said(): string }> {
  const repository = repositoryOf({ name: "plain" });
  const { root, env, git } = repository;
  expect(await scriptorium(["init", "--yes", "--connect", "none"], { cwd: root, env })).toMatchObject({ code: 0 });
  const said = join(root, ".git/said");
  const line = `"${process.execPath}" "${scribeFile}" append-log --id decisions --line "from a hook" --dir "${root}"`;
  const file = join(root, ".git/hooks", hook);
  put(join(root, ".git/hooks"), { [hook]: `#!/bin/sh\n${line} >>"${said}" 2>&1\necho "exit $?" >>"${said}"\n` });
  chmodSync(file, 0o755);
  git("config", "receive.denyCurrentBranch", "updateInstead");
  return { ...repository, said: () => (existsSync(said) ? readFileSync(said, "utf8") : "") };
}

/** Runs git as a person does, without waiting for its end on this thread. */
const gitProcess = ({ root, env }: Repository, ...args: string[]) =>
  new Promise<{ code: number | null; stderr: string }>((done, fail) => {
    const child = spawn("git", args, { cwd: root, env, stdio: ["ignore", "ignore", "pipe"] });
    let stderr = "";
    child.stderr.on("data", (chunk) => (stderr += chunk));
    child.on("error", fail);
    child.on("close", (code) => done({ code, stderr }));
  });

const linesIn = (text: string) => text.split("\n").filter((line) => line.includes("from a hook")).length;

/** After the next command the branch has every line, and nothing is left to commit. */
async function settled({ root, env, git }: Repository, lines: number): Promise<void> {
  expect(await scriptorium(["entry", "list"], { cwd: root, env })).toMatchObject({ code: 0 });
  expect(linesIn(readFileSync(join(root, "wiki/decisions.md"), "utf8"))).toBe(lines);
  await expect.poll(() => linesIn(git("show", "HEAD:wiki/decisions.md"))).toBe(lines);
  expect(git("status", "--porcelain")).toBe("");
  expect(git("fsck", "--strict", "--no-dangling")).toBe("");
}

const ways = [
  { way: "git commit", args: ["commit", "-qm", "Theirs"] },
  { way: "git commit -a", args: ["commit", "-qam", "Theirs"] },
  { way: "git commit with paths", args: ["commit", "-qm", "Theirs", "src/code.txt"] },
  { way: "git commit --amend", args: ["commit", "-q", "--amend", "-m", "Theirs"] },
];

describe("V2: scribe in a git hook", () => {
  test.each(ways)("V2: a pre-commit hook that writes to the wiki leaves $way as it was", async ({ args }) => {
    const repository = await hooked("pre-commit");
    const { root, git, said } = repository;
    put(root, { "src/code.txt": "changed\n" });
    git("add", "src/code.txt");
    expect(await gitProcess(repository, ...args)).toMatchObject({ code: 0, stderr: "" });
    expect(said()).toMatch(/"status":\s*"success"[\s\S]*exit 0/);
    expect(git("log", "-1", "--format=%s by %an")).toBe("Theirs by Ada Lovelace");
    expect(git("show", "HEAD:src/code.txt")).toBe("changed");
    expect(git("show", "HEAD:wiki/decisions.md")).not.toContain("from a hook");
    await settled(repository, 1);
    expect(git("log", "--format=%s", "-2").split("\n")).toEqual(["Append to decisions (version 2)", "Theirs"]);
  });

  test("V2: so does a hook while a server runs, which performs the write", async () => {
    const repository = await hooked("pre-commit");
    const { root, env, git, said } = repository;
    const server = await serveProcess(root, env);
    put(root, { "src/code.txt": "changed\n" });
    expect(await gitProcess(repository, "commit", "-qam", "Theirs")).toMatchObject({ code: 0, stderr: "" });
    git("commit", "-q", "--allow-empty", "-m", "Again");
    expect(said().match(/exit 0/g)).toHaveLength(2);
    expect(git("log", "--format=%s", "--author=Ada", "-2").split("\n")).toEqual(["Again", "Theirs"]);
    await server.stop();
    await settled(repository, 2);
  });

  test("V2: an agent that writes while a person's commit waits for the editor does not void that commit", async () => {
    const repository = await hooked("none");
    const { root, env, git } = repository;
    put(root, { "src/code.txt": "changed\n" });
    git("add", "src/code.txt");
    const go = join(root, ".git/go");
    const editor = join(root, ".git/editor.sh");
    writeFileSync(
      editor,
      `#!/bin/sh\ntouch "${go}.open"\nwhile [ ! -e "${go}" ]; do sleep 0.05; done\necho Theirs >"$1"\n`,
    );
    chmodSync(editor, 0o755);
    const committing = gitProcess(repository, "-c", `core.editor=${editor}`, "commit", "-q");
    await expect.poll(() => existsSync(`${go}.open`)).toBe(true);
    const append = ["append-log", "--id", "decisions", "--line", "from a hook"];
    expect(await scribe(append, { cwd: root, env })).toMatchObject({ code: 0 });
    const doctor = await scriptorium(["doctor"], { cwd: root, env });
    expect(doctor.stdout).toContain("a git commit is in progress; commits of agents wait until it has ended");
    writeFileSync(go, "");
    expect(await committing).toMatchObject({ code: 0 });
    expect(git("log", "-1", "--format=%s")).toBe("Theirs");
    await settled(repository, 1);
  });

  // Git itself refuses to update a work tree in which a hook before it has changed a file.
  const pushes = [
    { hook: "pre-receive", to: "other" },
    { hook: "update", to: "other" },
    { hook: "post-receive", to: "trunk" },
  ];
  test.each(pushes)("V2: the hook $hook that writes to the wiki leaves a push as it was", async ({ hook, to }) => {
    const repository = await hooked(hook);
    const { root, git, gitAt, said } = repository;
    const clone = join(root, "../clone");
    gitAt(join(root, ".."), "clone", "-q", root, clone);
    put(clone, { "src/code.txt": "pushed\n" });
    gitAt(clone, "commit", "-qam", "Pushed");
    const pushed = await gitProcess({ ...repository, root: clone }, "push", "-q", "origin", `HEAD:refs/heads/${to}`);
    expect(pushed).toMatchObject({ code: 0 });
    expect(said()).toContain("exit 0");
    expect(git("show", `${to}:src/code.txt`)).toBe("pushed");
    expect(readFileSync(join(root, "src/code.txt"), "utf8")).toBe(to === "trunk" ? "pushed\n" : "one\ntwo\n");
    await settled(repository, 1);
  });
});
