import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createTwoFilesPatch } from "diff";
import fc from "fast-check";
import { encode } from "gpt-3-encoder";
import { afterAll, describe, expect, test } from "vitest";
import { toolOf } from "../src/agents/mcp-tool.ts";
import { findSandbox } from "../src/agents/sandbox.ts";
import type { App } from "../src/app.ts";
import { briefInput } from "../src/crew/agent/brief-input.ts";
import { ignoreRules } from "../src/crew/agent/desk/ignore-rules.ts";
import type { Desk } from "../src/crew/agent/desk/place.ts";
import { deskTools } from "../src/crew/agent/desk.ts";
import { operationsFor } from "../src/crew-tools.ts";
import { silent } from "../src/kernel/log.ts";
import { describeOperation } from "../src/kernel/operation.ts";
import { type Problem, type Result, unwrap } from "../src/kernel/result.ts";
import { openThreads } from "../src/kernel/threads/threads.ts";
import { defaultLimits as limits } from "./support/limits.ts";
import { agent, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const sandbox = unwrap(await findSandbox("none", testEnvironment()));
const env = { PATH: testEnvironment().PATH ?? "", LANG: "C.UTF-8" };
const threads = openThreads(silent);
afterAll(() => threads.close());

function deskWith(files: Record<string, string | Buffer>, more: Partial<Desk> = {}) {
  const folder = temporaryFolder();
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const scratch = temporaryFolder();
  const signal = new AbortController().signal;
  const base = { folder, write: true, sandbox, env, limits, run: "r", commandMs: 10_000, signal };
  const tools = deskTools({ ...base, beside: () => ({ scratch }), ...more });
  const use = async (name: string, input: unknown) => {
    const tool = tools.find((operation) => operation.name === name);
    if (!tool) throw new Error(`no tool ${name}`);
    // biome-ignore lint/suspicious/noExplicitAny: each tool answers in its own shape.
    return (await tool.perform({ threads } as App, input, agent("engineer"))) as { problem: Problem } & Result<any>;
  };
  const text = (path: string) => readFileSync(join(folder, path), "utf8");
  return { folder, use, text };
}

describe("W9: search_files", () => {
  test("W9: looks into every file, and says how many lines match when it shows fewer", async () => {
    const files = Object.fromEntries(Array.from({ length: 2600 }, (_, n) => [`d${n % 20}/f${n}.txt`, `number ${n}\n`]));
    const { use } = deskWith(files);
    expect(unwrap(await use("search_files", { pattern: "^number 2599$" })).matches).toBe("d19/f2599.txt:1:number 2599");
    const first = unwrap(await use("search_files", { pattern: "number" }));
    expect(first.found).toBe("2600 matching lines in 2600 of 2600 files; these are 1 to 100");
    const second = unwrap(await use("search_files", { pattern: "number", skip: first.next }));
    expect(second.matches.split("\n")).toHaveLength(100);
    expect(second.matches).not.toContain(first.matches.split("\n")[99]);
    const last = unwrap(await use("search_files", { pattern: "number", skip: 2550 }));
    expect([last.matches.split("\n").length, last.next]).toEqual([50, undefined]);
    const listed = unwrap(await use("list_files", { skip: 2500 }));
    expect([listed.files.length, listed.total, listed.next]).toEqual([100, 2600, undefined]);
  });

  test.each([
    [{ pattern: "fo+\\(" }, ["a.ts:1:foo(1)", "b/c.tsx:2:fooo(2)"]],
    [{ pattern: "FOO", ignore_case: true, glob: "*.tsx" }, ["b/c.tsx:2:fooo(2)"]],
    [{ pattern: "(?i)FO+\\(", glob: "*.{ts,tsx}", under: "b" }, ["b/c.tsx:2:fooo(2)"]],
    [{ pattern: "foo(", literal: true }, ["a.ts:1:foo(1)"]],
    [{ pattern: "foo", glob: "!*.tsx" }, ["a.ts:1:foo(1)"]],
    [{ pattern: "fooo", context: 1 }, ["b/c.tsx-1-before", "b/c.tsx:2:fooo(2)", "b/c.tsx-3-after"]],
    [{ pattern: "\\p{Lu}ber" }, ["d.md:1:Über \\-"]],
    [{ pattern: "\\-" }, ["d.md:1:Über \\-"]],
    [{ pattern: "return$" }, ["crlf.txt:1:return"]],
  ])("W16: %j finds %j", async (input, lines) => {
    const { use } = deskWith({
      "a.ts": "foo(1)\n",
      "b/c.tsx": "before\nfooo(2)\nafter\n",
      "d.md": "Über \\-\n",
      "crlf.txt": "return\r\n",
      "image.bin": Buffer.from("foo(\0fooo("),
      ".gitignore": "ignored/\n*.log\n!keep.log\n",
      "ignored/x.ts": "foo(3)\n",
      "deep/.gitignore": "/here.ts\n",
      "deep/here.ts": "foo(4)\n",
      "y.log": "foo(5)\n",
      "node_modules/m/i.ts": "foo(6)\n",
    });
    expect(unwrap(await use("search_files", input)).matches.split("\n")).toEqual(lines);
  });

  test("W9: a pattern of exponential time is stopped, and this process goes on meanwhile", async () => {
    const { use } = deskWith({ "a.txt": `${"a".repeat(40)}!\n` });
    let ticks = 0;
    const clock = setInterval(() => ticks++, 50);
    const slow = await use("search_files", { pattern: "^(a+)+$" });
    clearInterval(clock);
    expect(slow).toMatchObject({
      ok: false,
      problem: { message: expect.stringContaining("takes too long; use a simpler") },
    });
    expect(ticks).toBeGreaterThan(30);
    expect(await use("search_files", { pattern: "(" })).toMatchObject({
      problem: { code: "invalid", message: expect.stringContaining("literal: true") },
    });
  });

  test("W9: neither do patterns in ignore files and globs with many stars take long", async () => {
    const stars = `${"*a".repeat(40)}b`;
    const { use } = deskWith({ [`${"a".repeat(200)}`]: "x\n", ".gitignore": `${stars}\n` });
    const began = performance.now();
    unwrap(await use("search_files", { pattern: "x", glob: stars }));
    expect(performance.now() - began).toBeLessThan(6000);
  });

  test("W16: ignore rules decide as git does", () => {
    const folder = temporaryFolder();
    execFileSync("git", ["init", "-q"], { cwd: folder, env: testEnvironment() });
    const segment = fc.constantFrom("a", "b", "ab", "*", "a*", "?b", "**", "[ab]", "[!a]", "\\*", "*.c", "x.c");
    const pattern = fc
      .record({
        negated: fc.boolean(),
        start: fc.constantFrom("", "/"),
        segments: fc.array(segment, { minLength: 1, maxLength: 3 }),
        end: fc.constantFrom("", "/"),
      })
      .map(({ negated, start, segments, end }) => `${negated ? "!" : ""}${start}${segments.join("/")}${end}`);
    const name = fc.constantFrom("a", "b", "ab", "x.c", "bb");
    const paths = fc.array(
      fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/")),
      { minLength: 12, maxLength: 12 },
    );
    fc.assert(
      fc.property(fc.array(pattern, { minLength: 1, maxLength: 4 }), paths, (patterns, tried) => {
        writeFileSync(join(folder, ".gitignore"), `${patterns.join("\n")}\n`);
        const asked = tried.map((path) => `${path}\0`).join("");
        const options = { cwd: folder, env: testEnvironment(), input: asked, encoding: "utf8" as const };
        let said = "";
        try {
          said = execFileSync("git", ["check-ignore", "--no-index", "-z", "--stdin"], options);
        } catch {
          // Exit code 1: none is ignored.
        }
        const ignored = new Set(said.split("\0"));
        const rules = ignoreRules(patterns.join("\n"));
        const isIgnored = (path: string) => {
          const parts = path.split("/");
          return parts.some((_, i) => rules.test(parts.slice(0, i + 1).join("/"), i < parts.length - 1) === true);
        };
        for (const path of tried)
          expect([patterns, path, isIgnored(path)]).toEqual([patterns, path, ignored.has(path)]);
      }),
      { numRuns: 60 },
    );
  });
});

describe("W16: read_file", () => {
  const lines = Array.from({ length: 30 }, (_, n) => `line ${n + 1}`).join("\n");

  test("W16: reads ranges, the end, with numbers, and cuts long lines with a note", async () => {
    const { use } = deskWith({ "a.txt": `${lines}\n`, "min.js": `${"x".repeat(5000)}\nshort\n` });
    const read = async (input: object) => unwrap(await use("read_file", { path: "a.txt", ...input }));
    expect(await read({ from: 3, lines: 2, numbers: true })).toEqual({
      content: "3\tline 3\n4\tline 4",
      from: 3,
      of: 30,
    });
    expect(await read({ from: -2 })).toEqual({ content: "line 29\nline 30\n", from: 29, of: 30 });
    expect(await read({ from: 99 })).toEqual({ content: "", from: 99, of: 30 });
    const cut = unwrap(await use("read_file", { path: "min.js" }));
    expect(cut).toMatchObject({ of: 2, note: "1 lines are longer than 2000 characters and were cut" });
    expect(cut.content).toBe(`${"x".repeat(2000)}… (5000 characters)\nshort\n`);
  });

  test("W16: an image is an image, whatever its name, and other binary files are refused", async () => {
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    const { use } = deskWith({ "shot.txt": png, "fake.png": "not an image\n", "a.bin": Buffer.from("a\0b") });
    expect(unwrap(await use("read_file", { path: "shot.txt" })).image).toEqual({
      media_type: "image/png",
      data: png.toString("base64"),
    });
    expect(unwrap(await use("read_file", { path: "fake.png" })).content).toBe("not an image\n");
    expect(await use("read_file", { path: "a.bin" })).toMatchObject({
      problem: { message: expect.stringContaining("binary") },
    });
  });
});

describe("W16: edit_file and apply_patch", () => {
  test("W16: several replacements are made together or not at all", async () => {
    const { use, text } = deskWith({ "a.ts": "one\ntwo\ntwo\nthree\n" });
    const edits = [
      { old: "one", new: "1" },
      { old: "two", new: "$& 2", replace_all: true },
      { old: "1\n", new: "uno\n" },
    ];
    expect(unwrap(await use("edit_file", { path: "a.ts", edits })).lines).toEqual([1, 2, 1]);
    expect(text("a.ts")).toBe("uno\n$& 2\n$& 2\nthree\n");
    const failing = await use("edit_file", {
      path: "a.ts",
      edits: [
        { old: "three", new: "3" },
        { old: "$& 2", new: "" },
      ],
    });
    expect(failing.problem.message).toBe(
      "edit 2: the passage occurs more than once in a.ts, at lines 2 and 3; include more lines around it, or set replace_all",
    );
    expect(text("a.ts")).toContain("three");
  });

  test("W16: a passage that is not there is answered with the nearest one", async () => {
    const { use } = deskWith({ "a.ts": "function f() {\n\treturn 1;\n}\n\nconst value = compute(7);\n" });
    const message = async (old: string) =>
      (await use("edit_file", { path: "a.ts", edits: [{ old, new: "" }] })).problem.message;
    expect(await message("function f() {\n  return 1;\n}")).toBe(
      "the passage is not in a.ts; the nearest differs in white space only and is at lines 1 to 3 (- yours, + the file, · space, → tab):\n- ··return·1;\n+ →return·1;",
    );
    expect(await message("const value = compute(8);")).toContain("is at lines 5 to 5");
    expect(await message("nothing like it")).toContain("no line of it occurs there");
  });

  test("W16: a file that is not UTF-8 is not damaged", async () => {
    const { use } = deskWith({ "latin.txt": Buffer.from([0x61, 0xe9, 0x0a]) });
    expect(await use("edit_file", { path: "latin.txt", edits: [{ old: "a", new: "b" }] })).toMatchObject({ ok: false });
  });

  test("W16: a patch changes, creates, deletes and renames files, wherever its hunks have moved", async () => {
    const old = Array.from({ length: 40 }, (_, n) => `line ${n}`).join("\n");
    const { use, text } = deskWith({ "a.txt": `added before\n${old}\n`, "gone.txt": "bye\n", "was.txt": "x\ny\n" });
    const changed = old.replace("line 5\n", "line five\n").replace("line 33\n", "");
    const patch = [
      createTwoFilesPatch("a/a.txt", "b/a.txt", `${old}\n`, `${changed}\n`),
      createTwoFilesPatch("/dev/null", "b/new/b.txt", "", "fresh\n"),
      createTwoFilesPatch("a/gone.txt", "/dev/null", "bye\n", ""),
      createTwoFilesPatch("a/was.txt", "b/is.txt", "x\ny\n", "x\nz"),
    ].join("");
    expect(unwrap(await use("apply_patch", { patch }))).toEqual({
      files: ["a.txt", "new/b.txt", "gone.txt", "was.txt", "is.txt"],
      hunks: 5,
    });
    expect(text("a.txt")).toBe(`added before\n${changed}\n`);
    expect([text("new/b.txt"), text("is.txt")]).toEqual(["fresh\n", "x\nz"]);
    expect(unwrap(await use("list_files", {})).files).toEqual(["a.txt", "is.txt", "new/b.txt"]);
  });

  test("W16: one hunk that does not match is named, and no file is changed", async () => {
    const { use, text } = deskWith({ "a.txt": "1\n2\n3\n", "b.txt": "1\n2\n3\n" });
    const patch = [
      createTwoFilesPatch("a/a.txt", "b/a.txt", "1\n2\n3\n", "1\ntwo\n3\n"),
      createTwoFilesPatch("a/b.txt", "b/b.txt", "1\n2\n4\n", "1\ntwo\n4\n"),
    ].join("");
    expect((await use("apply_patch", { patch })).problem.message).toBe(
      'hunk 1 of 1 in b.txt (@@ -1,3 +1,3 @@) does not match: line 3 should be "4", the file has "3"; nothing was changed',
    );
    expect(text("a.txt")).toBe("1\n2\n3\n");
    for (const bad of [
      "no patch",
      "--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n",
      "--- a/.git/config\n+++ b/.git/config\n@@ -0,0 +1 @@\n+b\n",
    ])
      expect(await use("apply_patch", { patch: bad })).toMatchObject({ ok: false, problem: { code: "invalid" } });
  });

  test("W16: patches of git apply as git applies them", async () => {
    const line = fc.constantFrom("a", "b", "c", "", " d");
    const file = fc.record({ lines: fc.array(line, { minLength: 1, maxLength: 30 }), end: fc.constantFrom("", "\n") });
    await fc.assert(
      fc.asyncProperty(file, file, async (before, after) => {
        const [old, fresh] = [before, after].map(({ lines, end }) => lines.join("\n") + end) as [string, string];
        if (old === fresh || old === "" || fresh === "") return;
        const { use, text } = deskWith({ "f.txt": old });
        unwrap(
          await use("apply_patch", {
            patch: createTwoFilesPatch("a/f.txt", "b/f.txt", old, fresh, "", "", { context: 1 }),
          }),
        );
        expect(text("f.txt")).toBe(fresh);
      }),
      { numRuns: 100 },
    );
  });
});

describe("W16: run_command and read_output", () => {
  test("W16: a long output is shortened, said so, and read in parts", async () => {
    const { use } = deskWith({});
    const script =
      "for (let n = 1; n <= 5000; n++) console.log('row', n); console.error('at last'); process.exitCode = 4";
    const ran = unwrap(await use("run_command", { run: ["node", "-e", script], head: 2, tail: 2 }));
    expect(ran).toMatchObject({ exit: 4, ended: "exited with code 4", lines: 5001 });
    expect(ran.output).toMatch(/^row 1\nrow 2\n… \(4997 lines left out\)\n/);
    expect(ran.output).toContain("at last");
    const page = unwrap(await use("read_output", { id: ran.output_id, from: 2500, lines: 2 }));
    expect(page).toEqual({ content: expect.stringMatching(/^row 2\d{3}\nrow 2\d{3}$/), from: 2500, of: 5001 });
    expect(unwrap(await use("read_output", { id: ran.output_id, from: -1 }))).toMatchObject({ from: 5001, of: 5001 });
    expect(await use("read_output", { id: 99 })).toMatchObject({ ok: false, problem: { code: "not_found" } });
  });

  test("W16: takes variables and a shorter time limit, and says in words how it ended", async () => {
    const { use } = deskWith({});
    const set = unwrap(await use("run_command", { run: ["sh", "-c", "echo $GREETING"], env: ["GREETING=hello; x"] }));
    expect(set.output).toBe("hello; x");
    const slow = unwrap(await use("run_command", { run: ["sleep", "30"], seconds: 1 }));
    expect(slow).toMatchObject({ exit: null, ended: "stopped: it took longer than 1 s" });
    expect(await use("run_command", { run: ["true"], env: ["A B=x"] })).toMatchObject({ ok: false });
  });
});

test("W16: all tools of a worker take at most 2,500 tokens", () => {
  const signal = new AbortController().signal;
  const desk = { folder: "/", write: true, sandbox, env, limits, run: "r", commandMs: 1, signal };
  const tools = [...operationsFor("worker"), ...deskTools(desk)].map((one) => {
    const { annotations: _notForModels, ...tool } = toolOf(describeOperation({ ...one, input: briefInput(one) }));
    return tool;
  });
  const sizes = tools.map((tool) => `${tool.name} ${encode(JSON.stringify(tool)).length}`);
  const tokens = encode(JSON.stringify(tools)).length;
  process.stderr.write(`tools of a worker: ${tools.length}, ${tokens} tokens: ${sizes.join(", ")}\n`);
  expect(tokens).toBeLessThanOrEqual(2500);
});
