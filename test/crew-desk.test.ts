import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runBounded } from "../src/agents/bounded.ts";
import type { Sandbox } from "../src/agents/sandbox/access.ts";
import { findSandbox } from "../src/agents/sandbox.ts";
import type { App } from "../src/app.ts";
import type { Desk } from "../src/crew/agent/desk/place.ts";
import { deskTools } from "../src/crew/agent/desk.ts";
import { runChecks } from "../src/crew/attempt/checks.ts";
import type { Criterion } from "../src/crew/rules/plan.ts";
import { silent } from "../src/kernel/log.ts";
import { unwrap } from "../src/kernel/result.ts";
import { openThreads } from "../src/kernel/threads/threads.ts";
import { defaultLimits as limits } from "./support/limits.ts";
import { needs } from "./support/programs.ts";
import { swapping } from "./support/swap.ts";
import { agent, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const found = await findSandbox("auto", testEnvironment());
const without = unwrap(await findSandbox("none", testEnvironment()));
const env = { PATH: testEnvironment().PATH ?? "", LANG: "C.UTF-8" };
const never = new AbortController().signal;
const threads = openThreads(silent);
afterAll(() => threads.close());

const desk = (folder: string, write: boolean, sandbox: Sandbox = without): Desk => ({
  ...{ folder, write, sandbox, env, limits, run: "r", commandMs: 10_000, signal: never },
});

async function use(place: Desk, name: string, input: unknown) {
  const tool = deskTools(place).find((operation) => operation.name === name);
  if (!tool) throw new Error(`no tool ${name}`);
  return tool.perform({ threads } as App, input, agent("engineer"));
}

describe("a desk", () => {
  test("reads, lists, searches, writes and edits the files of its folder", async () => {
    const at = desk(temporaryFolder(), true);
    unwrap(await use(at, "write_file", { path: "src/a.ts", content: "one\ntwo\nthree\n" }));
    const edits = [{ old: "two", new: "2" }];
    expect(unwrap(await use(at, "edit_file", { path: "src/a.ts", edits }))).toMatchObject({ lines: [2] });
    expect(unwrap(await use(at, "read_file", { path: "src/a.ts", from: 2, lines: 1 }))).toEqual({
      content: "2",
      from: 2,
      of: 3,
    });
    expect(unwrap(await use(at, "list_files", {}))).toEqual({ files: ["src/a.ts"], total: 1 });
    expect(unwrap(await use(at, "search_files", { pattern: "thr", literal: true }))).toEqual({
      matches: "src/a.ts:3:three",
      found: "1 matching lines in 1 of 1 files",
      total: 1,
      complete: true,
    });
    expect(unwrap(await use(at, "run_command", { run: ["sh", "-c", "cat src/a.ts; exit 3"] }))).toMatchObject({
      exit: 3,
      ended: "exited with code 3",
      output: expect.stringContaining("three"),
    });
  });

  test("a desk for reading has no tool that changes anything", () => {
    const names = deskTools(desk("/", false)).map((operation) => operation.name);
    expect(names).toEqual(["read_file", "list_files", "search_files"]);
  });

  test("every tool says enough for an agent, and describes its input", () => {
    for (const { summary, guidance, name } of deskTools(desk("/", true))) {
      const length = `${summary} ${guidance ?? ""}`.length;
      expect([name, length >= 25 && length <= 800]).toEqual([name, true]);
    }
  });

  test.each(["../x", "/etc/passwd", "a/../../x", ".git/config", "C:\\x", "a\\b", "./a", "a//b", "", "a\u0000b", "~/x"])(
    "T12: %j is no path of a desk",
    async (path) => {
      const at = desk(temporaryFolder(), true);
      expect(await use(at, "read_file", { path })).toMatchObject({ ok: false, problem: { code: "invalid" } });
      expect(await use(at, "write_file", { path, content: "x" })).toMatchObject({
        ok: false,
        problem: { code: "invalid" },
      });
    },
  );

  test("T13: a link leads nowhere", async () => {
    const outside = temporaryFolder();
    writeFileSync(join(outside, "secret"), "s");
    const folder = temporaryFolder();
    symlinkSync(outside, join(folder, "dir"));
    symlinkSync(join(outside, "secret"), join(folder, "file"));
    const at = desk(folder, true);
    for (const path of ["dir/secret", "file"]) {
      expect(await use(at, "read_file", { path })).toMatchObject({ ok: false });
      expect(await use(at, "write_file", { path, content: "x" })).toMatchObject({ ok: false });
    }
    expect(unwrap(await use(at, "search_files", { pattern: "s" }))).toMatchObject({ matches: "" });
    expect(readFileSync(join(outside, "secret"), "utf8")).toBe("s");
  });
});

test("T13: a folder that becomes a link out, 100,000 times, while files are written and read, leads nowhere", async () => {
  const outside = temporaryFolder();
  writeFileSync(join(outside, "secret.txt"), "secret");
  const folder = temporaryFolder();
  const at = desk(folder, true);
  const swap = await swapping(join(folder, "dir"), outside, 100_000);
  while (!swap.isOver()) {
    await use(at, "write_file", { path: "dir/deep/new.txt", content: "mine" });
    await use(at, "write_file", { path: "dir/secret.txt", content: "mine" });
    const path = "dir/secret.txt";
    const patch = `--- a/${path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-secret\n\\ No newline at end of file\n`;
    const answers = [
      await use(at, "read_file", { path }),
      await use(at, "edit_file", { path, edits: [{ old: "secret", new: "mine" }] }),
      await use(at, "apply_patch", { patch }),
    ];
    expect(JSON.stringify(answers)).not.toContain('secret"');
    const found = await use(at, "search_files", { pattern: "secret", literal: true, under: "dir" });
    expect(JSON.stringify(found)).not.toContain("secret.txt:");
  }
  await swap.ended;
  expect(readdirSync(outside)).toEqual(["secret.txt"]);
  expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
  unwrap(await use(at, "write_file", { path: "dir/deep/new.txt", content: "after all" }));
});

describe("deterministic checks", () => {
  test("O8: programs and files are judged by the system", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "a.txt"), "alpha\nbeta\n");
    const checks: [Criterion["check"], boolean][] = [
      [{ run: ["sh", "-c", "echo fine"], exits: 0, prints: "fine" }, true],
      [{ run: ["sh", "-c", "echo fine"], exits: 0, prints: "well" }, false],
      [{ run: ["false"], exits: 0 }, false],
      [{ run: ["false"], exits: 1 }, true],
      [{ run: ["no-such-program"], exits: 0 }, false],
      [{ file: "a.txt", exists: true }, true],
      [{ file: "b.txt", exists: true }, false],
      [{ file: "b.txt", exists: false }, true],
      [{ file: "a.txt", contains: "beta" }, true],
      [{ file: "a.txt", lacks: "beta" }, false],
      [{ file: "b.txt", lacks: "beta" }, false],
      [undefined, true],
    ];
    const criteria = checks.map(([check], i) => ({ criterion: `c${i}`, ...(check ? { check } : {}) }));
    const deps = { folder, sandbox: without, env, limits, run: "r", checkMs: 5000, signal: never };
    const results = await runChecks(criteria, deps);
    expect(results.map((result) => [result.criterion, result.passed])).toEqual(
      checks.flatMap(([check, passed], i) => (check ? [[i + 1, passed]] : [])),
    );
    expect(results[8]?.detail).toBe('a.txt:2 contains "beta"');
  });

  test("one that never ends fails when its time is up, and leaves nothing behind", async () => {
    const folder = temporaryFolder();
    const criteria: Criterion[] = [{ criterion: "ends", check: { run: ["sh", "-c", "sleep 60 & wait"], exits: 0 } }];
    const [result] = await runChecks(criteria, {
      folder,
      sandbox: without,
      env,
      limits,
      run: "r-slow",
      checkMs: 200,
      signal: never,
    });
    expect(result).toMatchObject({ passed: false, detail: expect.stringContaining("took longer") });
  });
});

test("without bubblewrap nothing runs, and the refusal says what to do", async () => {
  const none = await findSandbox("auto", { PATH: "/nowhere" });
  expect(none).toMatchObject({
    ok: false,
    problem: { code: "refused", message: expect.stringMatching(/install it .*sandbox: none/) },
  });
});

describe("the sandbox", needs("bubblewrap"), () => {
  const sandbox = found.ok ? found.value : without;

  async function inside(folder: string, script: string, write = true) {
    const secret = { ANTHROPIC_API_KEY: "sk-canary" };
    Object.assign(process.env, secret);
    return runBounded(
      sandbox,
      ["sh", "-c", script],
      { folder, write, limits, env },
      { run: "r", wallMs: 10_000, signal: never },
    );
  }

  test("T19, T33: sees its folder and the machine's programs; no home, no secrets, no network, no other process", async () => {
    const folder = temporaryFolder();
    const neighbour = temporaryFolder();
    writeFileSync(join(neighbour, "mine"), "m");
    const script = [
      "echo here > made",
      "env",
      `ls ${neighbour} 2>&1`,
      "ls -A /root /home 2>&1",
      "cat /proc/net/dev | wc -l",
      "ls /proc | grep -c '^[0-9]'",
      `rm -rf ${neighbour} / 2>/dev/null`,
      "echo still there",
    ].join("; ");
    const ran = await inside(folder, script);
    expect(ran.output).toContain("still there");
    expect(ran.output).not.toContain("sk-canary");
    expect(ran.output).toMatch(/HOME=\/tmp\/home/);
    expect(ran.output).toMatch(/cannot access .*No such file/);
    expect(existsSync(join(neighbour, "mine"))).toBe(true);
    expect(existsSync("/usr/bin/env")).toBe(true);
  });

  test("T32: its link to the repository cannot be bent, and a folder to be read stays as it is", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, ".git"), "gitdir: /somewhere\n");
    mkdirSync(join(folder, "d"));
    const bent = await inside(folder, "echo x > .git; mv .git y; rm -rf .git; touch d/ok; cat .git");
    expect(readFileSync(join(folder, ".git"), "utf8")).toBe("gitdir: /somewhere\n");
    expect(existsSync(join(folder, "d/ok"))).toBe(true);
    expect(bent.output).toContain("gitdir");
    const read = await inside(folder, "touch d/no; echo done", false);
    expect(read.output).toContain("Read-only");
    expect(existsSync(join(folder, "d/no"))).toBe(false);
  });

  test("T26: arguments are arguments, whatever is in them", async () => {
    const folder = temporaryFolder();
    const hostile = ["$(touch x)", "; touch x", "`touch x`", "| touch x", "--", "-n", "\n touch x", "*"];
    const place = { folder, write: true, limits, env };
    const ran = await runBounded(sandbox, ["printf", "[%s]", ...hostile], place, {
      run: "r",
      wallMs: 5000,
      signal: never,
    });
    expect(ran.output.trim()).toBe(hostile.map((word) => `[${word}]`).join(""));
    expect(existsSync(join(folder, "x"))).toBe(false);
  });
});
