import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { refusalFor } from "../src/kernel/result.ts";
import { type Inputs, openWorkspace } from "../src/library.ts";
import { operationNamed, operations } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { type Ran, scribe, scribeProcess, scriptorium, scriptoriumProcess, serve } from "./support/commands.ts";
import { overHttp, overStdio } from "./support/mcp.ts";
import { needs } from "./support/programs.ts";
import { libraryNames, wireNames } from "./support/wire-names.ts";
import {
  agent,
  newWorkspace,
  person,
  read,
  sampleSchema,
  temporaryFolder,
  testEnvironment,
} from "./support/workspace.ts";

type Fields = Record<string, unknown>;
type Call = (name: OperationName, input: Fields) => Promise<unknown>;

const run = "r-shared";

/** What an agent does in a turn, and what it does wrong: the same through every face. */
const agentSteps: [OperationName, Fields, expected: object][] = [
  ["list_entries", {}, { handoff: null }],
  ["list_entries", { under: "api" }, { entries: [{ id: "api/errors", may_write: false }] }],
  ["fetch_entry", { id: "vision" }, { id: "vision", content: "", version: 1 }],
  ["fetch_entry", { id: "api/errors" }, { id: "api/errors", metadata: { title: "Errors" } }],
  ["fetch_entry", { id: "nothing" }, { status: "not_found" }],
  ["fetch_entry", { id: "No Such Id" }, { status: "invalid" }],
  [
    "commit_entry",
    { id: "vision", content: "# Vision\n\nÆsop's 狐 \u{1f98a}\n", version: 1 },
    { status: "success", version: 2 },
  ],
  [
    "commit_entry",
    { id: "vision", content: "# Vision\n\nmine\n", version: 1 },
    { status: "conflict", latestVersion: 2 },
  ],
  ["commit_entry", { id: "api/errors", content: "no", version: 1 }, { status: "denied", role: "planner" }],
  ["commit_entry", { id: "vision", content: "", version: -1 }, { status: "invalid" }],
  [
    "append_log",
    { id: "decisions", line: "chose --flags over 'quotes'; $HOME stays" },
    { status: "success", version: 2 },
  ],
  ["append_log", { id: "decisions", line: "two\nlines" }, { status: "invalid" }],
  ["append_log", { id: "vision", line: "a line" }, { status: "denied" }],
  ["search_entries", { query: "狐 aesop vision", limit: 2 }, { results: [{ id: "vision" }] }],
  [
    "create_section",
    {
      id: "risks",
      title: "Risks",
      mode: "snapshot",
      writable_by: ["planner", "engineer"],
      description: "What could go wrong",
    },
    { status: "pending" },
  ],
  [
    "create_section",
    { id: "vision", title: "V", mode: "log", writable_by: ["planner"], description: "twice" },
    { status: "conflict" },
  ],
  ["transfer_focus", { target: "planner", summary: "my turn is over" }, { target: "architect", forced: true, step: 1 }],
];

const agentFaces: Record<string, (root: string) => Promise<Call>> = {
  scribe: async (root) => async (name, input) => {
    const { content, ...rest } = input;
    const flags = Object.entries(rest).flatMap(([field, value]) => [
      `--${field.replaceAll("_", "-")}`,
      ...[value].flat().map(String),
    ]);
    const args = [name.replaceAll("_", "-"), "--role", "planner", "--run", run, ...flags];
    const ran = await scribe(args, { cwd: root, ...(content === undefined ? {} : { input: String(content) }) });
    return oneValue(ran);
  },
  "MCP over stdio": async (root) => (await overStdio(root, "planner", { args: ["--run", run] })).call,
  "MCP over HTTP": async (root) => {
    const { url } = await serve(root);
    return (await overHttp(url, await agentToken(root), "2026-07-28")).call;
  },
  HTTP: async (root) => {
    const { url } = await serve(root);
    return overApi(url, await agentToken(root));
  },
};

test.each(Object.entries(agentFaces))(
  "an agent gets the same answers through %s as through the library (K3, K6, K7, K8, K11)",
  async (_face, open) => {
    const answers = async (call: Call, root: string) => {
      const given: unknown[] = [];
      for (const [name, input, expected] of agentSteps) {
        const answer = await call(name, input);
        expect(answer, `${name} ${JSON.stringify(input)}`).toMatchObject(expected);
        given.push(settle(answer, root));
      }
      return given;
    };
    const [here, there] = [await newWorkspace(), await newWorkspace()];
    const planner = agent("planner", run);
    const library = await openLibrary(there.root);
    const byLibrary: Call = async (name, input) => {
      const result = await library.call(name, libraryNames(input) as Inputs[typeof name], planner);
      return wireNames(result.ok ? result.value : refusalFor(result.problem));
    };
    expect(await answers(await open(here.root), here.root)).toEqual(await answers(byLibrary, there.root));
    expect(read(here.file("vision.md"))).toBe(read(there.file("vision.md")));
  },
);

test("the library's protocol for one role has the five calls of K3 and the words of K6 and K7", async () => {
  const { root } = await newWorkspace();
  const planner = (await openLibrary(root)).as("planner");
  expect(await planner.listEntries()).toContainEqual(expect.objectContaining({ id: "vision", version: 1 }));
  expect(await planner.handoff()).toBeNull();
  expect(await planner.fetchEntry("vision")).toMatchObject({ id: "vision", version: 1 });
  expect(await planner.commitEntry("vision", "# One\n", 1)).toEqual({ status: "success", version: 2 });
  expect(await planner.commitEntry("vision", "# Two\n", 1)).toMatchObject({
    status: "conflict",
    latestContent: "# One\n",
    latestVersion: 2,
  });
  expect(await planner.commitEntry("api/errors", "x", 1)).toMatchObject({
    status: "denied",
    error: expect.any(String),
  });
  expect(await planner.appendLog("decisions", "done")).toMatchObject({ status: "success" });
  expect(await planner.transferFocus("architect", "your turn")).toMatchObject({
    status: "success",
    target: "architect",
  });
});

test("N10: the library's protocol checks its input as every other face does", async () => {
  const { root } = await newWorkspace();
  const library = await openLibrary(root);
  const planner = library.as("planner");
  // As a program without types may call it.
  const commit = planner.commitEntry as (...values: unknown[]) => Promise<unknown>;
  for (const version of [-1, 1.5, "2", Number.NaN, undefined, null])
    expect(await commit("vision", "text", version), String(version)).toMatchObject({ status: "invalid" });
  expect(await commit("vision", 7, 1)).toMatchObject({ status: "invalid" });
  expect(await planner.fetchEntry("../secret")).toMatchObject({ status: "invalid" });
  expect(await planner.transferFocus("architect", "")).toMatchObject({ status: "invalid" });
  expect(await planner.fetchEntry("vision")).toMatchObject({ version: 1, content: "" });
  expect(() => library.as("not a role")).toThrow("is not a role name");
});

type PersonStep = {
  cli: string[];
  input?: string;
  name: OperationName;
  with: Fields;
  json?: (value: never) => unknown;
};

/** What a person does: `json` is the part of the answer that --json prints. */
const personSteps: PersonStep[] = [
  { cli: ["entry", "list"], name: "list_entries", with: { all: true }, json: (v: { entries: [] }) => v.entries },
  { cli: ["entry", "read", "api/errors"], name: "fetch_entry", with: { id: "api/errors" } },
  { cli: ["entry", "read", "nothing"], name: "fetch_entry", with: { id: "nothing" } },
  {
    cli: ["entry", "commit", "vision", "--version", "1"],
    input: "# Hello\n",
    name: "commit_entry",
    with: { id: "vision", content: "# Hello\n", version: 1 },
  },
  {
    cli: ["entry", "commit", "vision", "--version", "1"],
    input: "# Again\n",
    name: "commit_entry",
    with: { id: "vision", content: "# Again\n", version: 1 },
  },
  {
    cli: ["entry", "append", "decisions", "by", "a", "person"],
    name: "append_log",
    with: { id: "decisions", line: "by a person" },
  },
  { cli: ["entry", "read", "vision", "--version", "1"], name: "fetch_entry", with: { id: "vision", version: 1 } },
  { cli: ["entry", "read", "vision", "--version", "9"], name: "fetch_entry", with: { id: "vision", version: 9 } },
  {
    cli: ["entry", "history", "vision", "--diff"],
    name: "entry_history",
    with: { id: "vision", diff: true },
    json: (v: { versions: [] }) => v.versions,
  },
  {
    cli: ["search", "hello", "--limit", "3"],
    name: "search",
    with: { query: "hello", limit: 3 },
    json: (v: { results: [] }) => v.results,
  },
  {
    cli: ["source", "add", "-", "--name", "in/raw.txt"],
    input: "raw",
    name: "add_source",
    with: { name: "in/raw.txt", content: "raw" },
  },
  { cli: ["source", "list"], name: "list_sources", with: {}, json: (v: { sources: [] }) => v.sources },
  { cli: ["source", "read", "in/raw.txt"], name: "read_source", with: { path: "in/raw.txt" } },
  { cli: ["source", "verify"], name: "verify_sources", with: {} },
  { cli: ["inbox"], name: "inbox", with: {} },
  { cli: ["run", "usage", "run-none"], name: "run_usage", with: { id: "run-none" } },
  {
    cli: ["proposal", "list", "--status", "open"],
    name: "list_proposals",
    with: { status: "open" },
    json: (v: { proposals: [] }) => v.proposals,
  },
  { cli: ["proposal", "list", "--status", "done"], name: "list_proposals", with: { status: "done" } },
  { cli: ["proposal", "show", "p-none"], name: "show_proposal", with: { id: "p-none" } },
  { cli: ["proposal", "approve", "p-none"], name: "approve_proposal", with: { id: "p-none" } },
  { cli: ["token", "create", "--agent", "emperor"], name: "create_token", with: { kind: "agent", role: "emperor" } },
  {
    cli: ["user", "add", "Ada", "--rank", "emperor"],
    name: "add_user",
    with: { name: "Ada", rank: "emperor" },
  },
  { cli: ["user", "list"], name: "list_users", with: {}, json: (v: { users: [] }) => v.users },
  { cli: ["user", "rank", "Nobody", "reader"], name: "change_user", with: { name: "Nobody", rank: "reader" } },
  { cli: ["user", "remove", "Nobody"], name: "remove_user", with: { name: "Nobody" } },
  { cli: ["task", "limit", "r", "0"], name: "limit_run", with: { run: "r", most: 0 } },
  { cli: ["token", "list"], name: "list_tokens", with: {}, json: (v: { tokens: [] }) => v.tokens },
  { cli: ["token", "revoke", "t-none"], name: "revoke_token", with: { id: "t-none" } },
];

const personFaces: Record<string, (root: string) => Promise<(step: PersonStep) => Promise<unknown>>> = {
  "scriptorium --json": async (root) => async (step) =>
    oneValue(
      await scriptorium([...step.cli, "--json"], {
        cwd: root,
        ...(step.input === undefined ? {} : { input: step.input }),
      }),
    ),
  HTTP: async (root) => {
    const { url, token } = await serve(root);
    const call = overApi(url, token);
    return async (step) => shown(step, await call(step.name, step.with));
  },
  "MCP over HTTP": async (root) => {
    const { url, token } = await serve(root);
    const { call } = await overHttp(url, token);
    return async (step) => shown(step, await call(step.name, step.with));
  },
};

test.each(Object.entries(personFaces))(
  "a person gets the same answers through %s as through the library",
  async (face, open) => {
    const [here, there] = [await newWorkspace(), await newWorkspace()];
    const library = await openLibrary(there.root);
    const perform = await open(here.root);
    for (const step of personSteps) {
      // The person of these faces has proof; the library's needs `signIn`, and over MCP nobody has one.
      const isProven = operationNamed(step.name).decision && face !== "MCP over HTTP";
      const result = isProven
        ? await operationNamed(step.name).perform(there.app, step.with, person())
        : await library.call(step.name, libraryNames(step.with) as Inputs[typeof step.name]);
      const expected = result.ok ? shown(step, wireNames(result.value)) : wireNames(refusalFor(result.problem));
      const answer = await perform(step);
      expect(settle(answer, here.root), step.cli.join(" ")).toEqual(settle(expected, there.root));
    }
  },
);

describe("a script that runs scriptorium", () => {
  const calls: [code: number, args: string[], input?: string][] = [
    [0, ["status"]],
    [0, ["doctor"]],
    [0, ["entry", "read", "vision"]],
    [0, ["search", "nothing here"]],
    [0, ["token", "create", "--agent", "engineer", "--days", "1"]],
    [1, ["entry", "read", "nothing"]],
    [1, ["entry", "read", "vision", "--version", "abc"]],
    [1, ["entry", "commit", "vision", "--version", "7"], "text"],
    [1, ["entry", "commit", "vision", "--version", "1", "--file", "missing.md"]],
    [1, ["source", "add", "missing.txt"]],
    [1, ["source", "add", "-"]],
    [1, ["token", "create"]],
    [1, ["proposal", "approve", "p-none"]],
    [1, ["init", "scriptorium.yaml"]],
    [1, ["mcp"]],
  ];
  test("finds exactly one JSON value on stdout, problems on stderr, and 0 or 1 as exit code", async () => {
    const { root } = await newWorkspace();
    for (const [code, args, input] of calls) {
      const ran = await scriptorium([...args, "--json"], { cwd: root, ...(input === undefined ? {} : { input }) });
      const what = args.join(" ");
      expect(ran.code, `${what}: ${ran.stderr}`).toBe(code);
      expect(ran.stdout, what).toMatch(/^[[{].*[\]}]\n$/);
      expect(() => ran.json(), what).not.toThrow();
      if (code === 0) expect(ran.stderr, what).toBe("");
      else expect(ran.stderr, what).toMatch(/^scriptorium: [^\n]+\n$/);
      if (code === 1) expect(ran.json(), what).toMatchObject({ status: expect.any(String) });
    }
  });

  test("may put --json and --dir before or after the command", async () => {
    const { root } = await newWorkspace();
    const cwd = temporaryFolder();
    const after = await scriptorium(["entry", "read", "vision", "--dir", root, "--json"], { cwd });
    const before = await scriptorium(["--json", "--dir", root, "entry", "read", "vision"], { cwd });
    expect(after.json()).toEqual(before.json());
    const outside = await scriptorium(["entry", "list", "--json"], { cwd });
    expect(outside).toMatchObject({ code: 1, stderr: expect.stringContaining("scriptorium init") });
    expect(outside.json()).toMatchObject({ status: "not_found" });
  });

  test("is told by exit code 2 that a call makes no sense, with a hint on stderr and nothing on stdout", async () => {
    const { root } = await newWorkspace();
    const wrong = [
      ["frobnicate"],
      ["entry", "frobnicate"],
      ["entry", "commit", "vision"],
      ["entry", "read"],
      ["entry", "list", "--colour"],
      ["completion", "tcsh"],
      [],
    ];
    for (const args of wrong) {
      const { code, stdout, stderr } = await scriptorium(args, { cwd: root });
      expect({ code, stdout }, args.join(" ")).toEqual({ code: 2, stdout: "" });
      expect(stderr, args.join(" ")).not.toBe("");
    }
    for (const args of [
      ["append-log"],
      ["append-log", "--role", "planner"],
      ["frobnicate"],
      ["fetch-entry", "--role", "planner", "--id", "vision", "--x"],
    ]) {
      const { code, stdout } = await scribe(args, { cwd: root });
      expect({ code, stdout }, args.join(" ")).toEqual({ code: 2, stdout: "" });
    }
  });
});

describe("the commands as they ship", () => {
  test("scriptorium reads stdin, prints one JSON value, and exits with 0, 1 or 2", async () => {
    const { root: cwd } = await newWorkspace();
    const done = await scriptoriumProcess(["entry", "commit", "vision", "--version", "1", "--json"], {
      cwd,
      input: "# Hello\n",
    });
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(oneValue(done)).toMatchObject({ status: "success", version: 2 });
    const again = await scriptoriumProcess(["entry", "read", "nothing", "--json"], { cwd });
    expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/^scriptorium: [^\n]+\n$/) });
    expect(oneValue(again)).toMatchObject({ status: "not_found" });
    const wrong = await scriptoriumProcess(["entry", "read"], { cwd });
    expect(wrong).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(/^error: missing/) });
  });

  test("scribe reads stdin, prints one JSON value, and exits with 0, 1 or 2", async () => {
    const { root: cwd } = await newWorkspace();
    const commit = ["commit-entry", "--role", "planner", "--id", "vision", "--version", "1"];
    const done = await scribeProcess(commit, { cwd, input: "# Hello\n" });
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(oneValue(done)).toMatchObject({ status: "success", version: 2 });
    const late = await scribeProcess(commit, { cwd, input: "# Late\n" });
    expect(late.code).toBe(1);
    expect(oneValue(late)).toMatchObject({ status: "conflict" });
    expect(await scribeProcess(["append-log"], { cwd })).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("help", () => {
  test("P1: scriptorium --help lists the commands under the headings of what people do, each once", async () => {
    const { stdout } = await scriptorium(["--help"], { cwd: temporaryFolder() });
    const list = /\nCommands:\n([\s\S]*?)\n\n/.exec(stdout)?.[1] ?? "";
    expect([...list.matchAll(/^ (\S.*)$/gm)].map(([, heading]) => heading).slice(0, 4)).toEqual([
      "Set up",
      "Read and write",
      "Review",
      "Run a crew",
    ]);
    expect(list.indexOf("\n Review\n")).toBeLessThan(list.indexOf("\n  proposal "));
    expect(list.indexOf("\n  proposal ")).toBeLessThan(list.indexOf("\n Run a crew\n"));
    const names = [...list.matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(list).not.toContain("[options]");
  });

  test("explains every command of scriptorium and of scribe", async () => {
    const cwd = temporaryFolder();
    const explain = async (run: typeof scriptorium, path: string[]): Promise<string[]> => {
      const { code, stdout } = await run([...path, "--help"], { cwd });
      expect(code, path.join(" ")).toBe(0);
      const [usage, , about] = stdout.split("\n");
      expect(usage).toMatch(/^Usage: (scriptorium|scribe)/);
      expect(about?.length, path.join(" ")).toBeGreaterThan(10);
      const commands = /\nCommands:\n([\s\S]*?)(\n\n|$)/.exec(stdout)?.[1] ?? "";
      const names = [...commands.matchAll(/^ {2}([a-z-]+)/gm)]
        .map((match) => match[1] ?? "")
        .filter((name) => name !== "help");
      const below: string[] = [];
      for (const name of names) below.push(...(await explain(run, [...path, name])));
      return names.length > 0 ? below : [path.join(" ")];
    };
    const commands = await explain(scriptorium, []);
    expect(commands).toEqual(
      expect.arrayContaining([
        "init",
        "serve",
        "mcp",
        "entry read",
        "source verify",
        "proposal approve",
        "token revoke",
        "completion",
      ]),
    );
    const forAgents = await explain(scribe, []);
    expect(forAgents).toEqual([
      "list-entries",
      "fetch-entry",
      "commit-entry",
      "append-log",
      "transfer-focus",
      "search-entries",
      "create-section",
      "list-sources",
      "read-source",
      "memory-search-nodes",
      "memory-query-nodes",
      "memory-get-node",
      "memory-get-neighbors",
      "memory-get-subgraph",
      "memory-find-path",
      "memory-get-edge",
      "list-backlinks",
      "memory-add-node",
      "memory-update-node",
      "memory-delete-node",
      "memory-add-edge",
      "memory-delete-edge",
      "insert-proposal",
      "get-persona",
      "put-perspective",
      "get-topic",
      "list-open-topics",
      "reply-topic",
      "reanchor-topic",
      "get-trust",
      "list-trust",
      "dispute-passage",
      "get-passage",
      "read-evidence",
      "search-evidence",
      "report-recheck",
      "create-todo",
      "list-todos",
      "update-todo",
      "lock-todo",
      "unlock-todo",
      "get-task-context",
      "submit-plan",
      "submit-output",
      "submit-verdict",
      "ask",
      "search",
      "recall",
    ]);
  });

  test("--version says the version of the package", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    for (const run of [scriptorium, scribe]) {
      expect((await run(["--version"], { cwd: temporaryFolder() })).stdout).toBe(`${version}\n`);
    }
  });
});

describe("completion", () => {
  test("offers commands, options and the entries of this workspace", async () => {
    const { root } = await newWorkspace();
    const offers = async (...words: string[]) => {
      const { code, stdout } = await scriptorium(["__complete", "--", ...words], { cwd: root });
      expect(code).toBe(0);
      return stdout.split("\n").filter(Boolean);
    };
    expect(await offers("")).toEqual(expect.arrayContaining(["init", "serve", "entry", "token"]));
    expect(await offers("")).not.toContain("__complete");
    expect(await offers("en")).toEqual(["entry"]);
    expect(await offers("entry", "")).toEqual(["list", "read", "commit", "append", "history"]);
    expect(await offers("entry", "read", "")).toEqual([
      "vision",
      "design",
      "api/errors",
      "notes",
      "glossary",
      "decisions",
    ]);
    expect(await offers("entry", "read", "d")).toEqual(["design", "decisions"]);
    expect(await offers("entry", "read", "--v")).toContain("--version");
    expect(await offers("--js")).toContain("--json");
    expect(await offers("nonsense", "x")).toEqual([]);
    const outside = await scriptorium(["__complete", "--", "entry", "read", ""], { cwd: temporaryFolder() });
    expect(outside).toMatchObject({ code: 0, stdout: "", stderr: "" });
  });

  const inShell = async (shell: string, lines: string[]) => {
    const { root } = await newWorkspace();
    const bin = temporaryFolder();
    symlinkSync(new URL("../dist/scriptorium.js", import.meta.url).pathname, join(bin, "scriptorium"));
    const env = { ...testEnvironment(), PATH: `${bin}:${process.env.PATH}` };
    return execFileSync(shell, ["-c", lines.join("\n")], { cwd: root, env, encoding: "utf8" })
      .trim()
      .split("\n");
  };

  test("works in bash", needs("bash"), async () => {
    const asked = async (...words: string[]) =>
      inShell("bash", [
        "set -eu",
        "source <(scriptorium completion bash)",
        `COMP_WORDS=(scriptorium ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}`,
        "_scriptorium",
        'printf "%s\\n" "${COMPREPLY[@]}"',
      ]);
    expect(await asked("entry", "re")).toEqual(["read"]);
    expect(await asked("entry", "read", "de")).toEqual(["design", "decisions"]);
    expect(await asked("pro")).toEqual(["proposal"]);
  });

  test("is a script that zsh takes", needs("zsh"), async () => {
    expect(
      await inShell("zsh", [
        "autoload -U compinit; compinit -u -D",
        "source <(scriptorium completion zsh)",
        "print $_comps[scriptorium]",
      ]),
    ).toEqual(["_scriptorium"]);
  });

  test("works in fish", needs("fish"), async () => {
    expect(
      await inShell("fish", ["scriptorium completion fish | source", 'complete -C "scriptorium entry re"']),
    ).toEqual(["read"]);
  });

  test("exists for bash, zsh and fish", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, stdout } = await scriptorium(["completion", shell], { cwd: temporaryFolder() });
      expect({ code, calls: stdout.includes("scriptorium __complete") }).toEqual({ code: 0, calls: true });
    }
  });
});

describe("a terminal", () => {
  const hostile = "\u001b]0;owned\u0007\u001b[2J\u009b31mred\u007f\r\b";
  const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

  test("is never steered by what agents or files say (T36)", async () => {
    const title = JSON.stringify(`Vision ${hostile}`).replaceAll("\r", "").replaceAll("\\r", "");
    const { root, file, git } = await newWorkspace({
      schema: sampleSchema.replace("title: Vision", `title: ${title}`),
    });
    const body = `# Heading ${hostile}\n\nkingfisher ${hostile}\n`;
    const committed = await scribe(["commit-entry", "--role", "planner", "--id", "vision", "--version", "1"], {
      cwd: root,
      input: body,
    });
    expect(committed.json()).toMatchObject({ status: "success" });
    const section = [
      "--mode",
      "log",
      "--writable-by",
      "planner",
      "--title",
      `Risks \u001b[31m`,
      "--description",
      `d ${hostile}`,
    ];
    const proposed = await scribe(["create-section", "--role", "planner", "--id", "risks", ...section], { cwd: root });
    const { proposal_id: proposal } = proposed.json<{ proposal_id: string }>();
    writeFileSync(file("sources/raw.txt"), "planted");
    git("config", "user.name", `Mallory ${hostile}`.replaceAll(/[\r\n]/g, ""));

    const shown: Ran[] = [];
    const look = async (...args: string[]) => shown.push(await scriptorium(args, { cwd: root }));
    await look("entry", "list");
    await look("entry", "read", "vision");
    await look("entry", "history", "vision", "--diff");
    await look("search", "kingfisher");
    await look("proposal", "list");
    await look("proposal", "show", proposal);
    await look("proposal", "reject", proposal, "--note", `no ${hostile}`);
    await look("proposal", "show", proposal);
    await look("entry", "read", hostile);
    await look("entry", "append", "decisions", "by whom");
    await look("entry", "history", "decisions");
    await look("token", "create", "--person", `Eve ${hostile}`);
    await look("token", "list");
    await look("source", "verify");
    await look("status");
    await look("doctor");
    for (const { stdout, stderr } of [...shown, committed, proposed]) {
      expect(JSON.stringify(stdout)).not.toMatch(/\\u001b|\\u0007/);
      expect(stdout).not.toMatch(controls);
      expect(stderr).not.toMatch(controls);
    }
  });

  test("is silent when nobody reads on", async () => {
    const { root } = await newWorkspace();
    const command = `{ "${process.execPath}" dist/scriptorium.js graph export --whole --dir "${root}"; echo "ended with $?" >&2; } | true`;
    const home = new URL("..", import.meta.url).pathname;
    const said = spawnSync("sh", ["-c", command], { cwd: home, env: testEnvironment(), encoding: "utf8" }).stderr;
    expect(said).toBe("ended with 0\n");
  });

  test("is not steered by the name of a run either, and a run's name forges no line of a log (K2, T36)", async () => {
    const { root, file } = await newWorkspace();
    const forged = "r-1\n- 2026-01-01T00:00:00.000Z architect: forged";
    for (const name of [forged, `r-${hostile}`]) {
      await scribe(["append-log", "--role", "planner", "--id", "decisions", "--line", "honest", "--run", name], {
        cwd: root,
      });
    }
    expect(read(file("decisions.md"))).not.toMatch(/^- [^ ]+ architect/m);
    expect((await scriptorium(["entry", "history", "decisions"], { cwd: root })).stdout).not.toMatch(controls);
  });
});

async function openLibrary(root: string) {
  const workspace = await openWorkspace(root);
  onTestFinished(() => workspace.close());
  return workspace;
}

const agentToken = async (root: string): Promise<string> =>
  (await scriptorium(["token", "create", "--agent", "planner", "--json"], { cwd: root })).json<{ token: string }>()
    .token;

/** The REST face of an operation, by the method and path that it names itself. */
const overApi =
  (url: string, token: string): Call =>
  async (name, input) => {
    const { method, path } = operations[name].http ?? { method: "get", path: "/" };
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const filled = path.replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(String(input[field])));
    const rest = Object.fromEntries(Object.entries(input).filter(([field]) => !inPath.includes(field)));
    const hasBody = method === "post" || method === "put";
    const query = hasBody
      ? ""
      : `?${new URLSearchParams(Object.entries(rest).map(([field, value]): [string, string] => [field, String(value)]))}`;
    const answer = await fetch(`${url}/api${filled}${query}`, {
      method: method.toUpperCase(),
      headers: { authorization: `Bearer ${token}`, ...(hasBody ? { "content-type": "application/json" } : {}) },
      ...(hasBody ? { body: JSON.stringify(rest) } : {}),
    });
    const value = (await answer.json()) as { status?: string };
    const codes: Record<string, number> = { invalid: 400, denied: 403, not_found: 404, conflict: 409, refused: 422 };
    expect(answer.status, `${name} ${JSON.stringify(value)}`).toBe(codes[value.status ?? ""] ?? 200);
    return value;
  };

/** One JSON value on stdout; exit code 0 for an answer and 1, with a word on stderr, for a refusal. */
function oneValue(ran: Ran): unknown {
  const value = ran.json<{ status: string }>();
  const refused = ["invalid", "denied", "not_found", "conflict", "refused"].includes(value.status);
  expect({ code: ran.code, complains: ran.stderr !== "" }).toEqual({ code: refused ? 1 : 0, complains: refused });
  return value;
}

const shown = (step: PersonStep, value: unknown) => {
  const refused =
    typeof (value as { error?: string }).error === "string" || (value as { status?: string }).status === "conflict";
  return step.json && !refused ? step.json(value as never) : value;
};

/** What differs from one workspace to the next: its folder, the time, ids and the runs of unnamed turns. */
function settle(value: unknown, root: string): unknown {
  const text = JSON.stringify(value)
    .replaceAll(root, "ROOT")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replace(/\b([prth])-\w{6,}/g, "$1-ID")
    // Each face words the next step in its own language.
    .replace(/; (?:to [^,"]*, )?(?:call \w|run: scri)(?:[^"\\]|\\.)*/g, "");
  const { next: _, ...settled } = JSON.parse(text);
  return settled;
}
