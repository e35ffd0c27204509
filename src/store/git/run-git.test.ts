import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { failedGit, GitError, gitEnvironment, runGit } from "./run-git.ts";

let folder: string;

/** Runs a shell script under the name of git. */
async function fakeGit(script: string, options: { timeoutMs?: number; maxBytes?: number; input?: string } = {}) {
  const file = join(folder, "git");
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  const env = gitEnvironment({ PATH: `${folder}${delimiter}${process.env.PATH}`, GIT_DIR: "/elsewhere" });
  return runGit(["log"], { cwd: folder, env, ...options });
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "run-git-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("git that does not end is killed, and the error names the command", async () => {
  await expect(fakeGit("exec sleep 60", { timeoutMs: 100 })).rejects.toThrow("git log timed out after 0.1 s");
});

test("git that prints without end is killed at the limit", async () => {
  await expect(fakeGit("exec yes", { maxBytes: 10_000 })).rejects.toThrow("git log printed more than 10000 bytes");
});

test("git that exits without reading its input reports its exit code", async () => {
  const output = await fakeGit("echo no >&2; exit 3", { input: "x".repeat(1_000_000) });
  expect(output).toMatchObject({ code: 3, stderr: "no\n" });
  expect(failedGit(["-c", "user.name=Ada", "-C", "docs", "log", "-1"], output)).toMatchObject({
    message: "git log failed (3): no",
    code: 3,
  });
});

test("inherited GIT_* variables do not reach git", async () => {
  expect((await fakeGit('echo "dir:$GIT_DIR"')).stdout.toString()).toBe("dir:\n");
});

test("a missing git is a GitError", async () => {
  const env = gitEnvironment({ PATH: "/nowhere" });
  await expect(runGit(["log"], { cwd: folder, env })).rejects.toBeInstanceOf(GitError);
});
