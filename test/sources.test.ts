import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { scriptorium, scriptoriumProcess } from "./support/commands.ts";
import { backends, newWorkspace, read } from "./support/workspace.ts";

const ada = { name: "Ada" };

describe.each(backends.slice(0, 2))("K1: sources ($engine)", (backend) => {
  test("are copied, hashed and recorded in git, and the same bytes again are no news", async () => {
    const { app, root, git } = await newWorkspace(backend);
    const bytes = Buffer.from([0, 1, 2, 255, 10]);
    const added = unwrap(await app.sources.add("logs/a.bin", bytes, ada));
    expect(added).toMatchObject({ path: "logs/a.bin", size: 5, addedBy: "Ada", added: true });
    expect(added.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(unwrap(await app.sources.add("logs/a.bin", bytes, ada)).added).toBe(false);
    await app.recorder.drain(5000);
    expect(git("log", "-1", "--format=%s|%(trailers:key=Sha256,valueonly)")).toContain(
      `Add source logs/a.bin|${added.sha256}`,
    );
    expect(git("status", "--porcelain")).toBe("");
    expect(read(join(root, "sources/logs/a.bin"))).toHaveLength(5);
  });

  test("never change: other bytes under the same name are refused", async () => {
    const { app, root } = await newWorkspace(backend);
    unwrap(await app.sources.add("a.txt", Buffer.from("one"), ada));
    expect(await app.sources.add("a.txt", Buffer.from("two"), ada)).toMatchObject({ problem: { code: "conflict" } });
    expect(read(join(root, "sources/a.txt"))).toBe("one");
  });

  test("a file that lies there already is not overwritten", async () => {
    const { app, root } = await newWorkspace(backend);
    writeFileSync(join(root, "sources/a.txt"), "mine");
    expect(await app.sources.add("a.txt", Buffer.from("other"), ada)).toMatchObject({ problem: { code: "conflict" } });
    expect(read(join(root, "sources/a.txt"))).toBe("mine");
    expect(unwrap(await app.sources.add("a.txt", Buffer.from("mine"), ada)).added).toBe(true);
  });

  test("changed, removed and unknown files are reported", async () => {
    const { app, root } = await newWorkspace(backend);
    for (const name of ["a.txt", "b.txt", "c.txt"]) unwrap(await app.sources.add(name, Buffer.from(name), ada));
    writeFileSync(join(root, "sources/a.txt"), "tampered");
    rmSync(join(root, "sources/b.txt"));
    writeFileSync(join(root, "sources/d.txt"), "new");
    const report = await app.sources.verify();
    expect(report).toMatchObject({
      intact: 1,
      changed: [{ path: "a.txt" }],
      missing: [{ path: "b.txt" }],
      unknown: ["d.txt"],
    });
  });
});

test("K1: the command line adds files and stdin, and verify fails when one was changed", async () => {
  const { root } = await newWorkspace();
  mkdirSync(join(root, "in"));
  writeFileSync(join(root, "in/mail.md"), "Dear all\n");
  expect((await scriptoriumProcess(["source", "add", "in/mail.md", "--json"], { cwd: root })).json()).toMatchObject({
    path: "mail.md",
  });
  const piped = await scriptorium(["source", "add", "-", "--name", "chat/today.txt", "--json"], {
    cwd: root,
    input: "hello",
  });
  expect(piped.json()).toMatchObject({ path: "chat/today.txt", size: 5 });
  expect(await scriptorium(["source", "add", "-"], { cwd: root, input: "x" })).toMatchObject({ code: 1 });
  expect(await scriptorium(["source", "add", "nowhere.txt"], { cwd: root })).toMatchObject({
    code: 1,
    stderr: "scriptorium: file nowhere.txt does not exist\n",
  });
  expect((await scriptorium(["source", "verify"], { cwd: root })).code).toBe(0);
  writeFileSync(join(root, "sources/mail.md"), "Dear nobody\n");
  expect(await scriptorium(["source", "verify"], { cwd: root })).toMatchObject({
    code: 1,
    stdout: "changed: mail.md\n1 source intact\n",
  });
});

const badNames = [
  ...[
    "",
    ".",
    "..",
    "../a",
    "a/../b",
    "a/..",
    "./a",
    "/a",
    "//a",
    "a//b",
    "a/",
    "/etc/passwd",
    "~/../a",
    ".hidden",
    "a/.git/config",
  ],
  ...[
    "\\a",
    "a\\b",
    "..\\a",
    "C:\\a",
    "C:a",
    "c:/a",
    "\\\\server\\share",
    "\\\\?\\C:\\a",
    "\\??\\a",
    "//?/a",
    "a:b",
    "a|b",
    "a<b",
    'a"b',
  ],
  ...[
    "a\0b",
    "a\nb",
    "a\rb",
    "\u0007",
    "a\u007fb",
    "%2e%2e/a",
    "..%2fa",
    "%2e%2e%2fa",
    "a%00b",
    "%5c..%5c",
    "..%c0%afa",
    "%252e%252e",
  ],
  ...["con", "CON", "nul.txt", "aux/x", "com1", "lpt9.log", "prn"],
  ...[
    "a.",
    "a ",
    " a",
    "dir./x",
    "dir /x",
    "x/ y",
    "e\u0301.txt",
    "a?",
    "a*",
    "*",
    "..\u0000",
    "...",
    "a/...",
    "x".repeat(300),
  ],
];

test(`T12: none of ${badNames.length} paths that mean something else is taken as a source's name`, async () => {
  expect(badNames.length).toBeGreaterThanOrEqual(60);
  const { app } = await newWorkspace();
  const taken: string[] = [];
  for (const name of badNames) if ((await app.sources.add(name, Buffer.from("x"), ada)).ok) taken.push(name);
  expect(taken).toEqual([]);
});
