import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { forAgents, forPeople } from "../src/cli/next-step.ts";
import { nextOperations } from "../src/kernel/next-step.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scribe, scriptorium, serve } from "./support/commands.ts";
import { overStdio } from "./support/mcp.ts";
import { planOf } from "./support/plans.ts";
import { needs } from "./support/programs.ts";
import { agent, newWorkspace, person } from "./support/workspace.ts";

describe("P7: a refusal names the next step in the words of the face that shows it", () => {
  const body = { content: "rewritten", version: 1 };

  test("MCP names the tool", async () => {
    const { root } = await newWorkspace();
    const { call } = await overStdio(root, "engineer");
    expect((await call("commit_entry", { id: "decisions", ...body })).error).toBe(
      'decisions is a log: lines can be appended but not changed; to add a line, call append_log {"id":"decisions"}',
    );
  });

  test("the CLI names the command", async () => {
    const { root } = await newWorkspace();
    const ran = await scriptorium(["entry", "commit", "decisions", "--version", "1"], { cwd: root, input: "x" });
    expect(ran).toMatchObject({ code: 1 });
    expect(ran.stderr).toContain("; to add a line, run: scriptorium entry append decisions <line>\n");
    expect(ran.stderr).not.toContain("append_log");
  });

  test("scribe names its own command, and itself", async () => {
    const { root } = await newWorkspace();
    const args = ["commit-entry", "--role", "engineer", "--id", "decisions", "--version", "1"];
    const ran = await scribe(args, { cwd: root, input: "x" });
    expect(ran.stderr).toMatch(/^scribe: .*; to add a line, run: scribe append-log --id decisions\n$/);
    expect(ran.json().error).toContain("run: scribe append-log --id decisions");
  });

  test("HTTP gives the route apart from the message, so that the browser can say which button", async () => {
    const { root } = await newWorkspace();
    const { url, token } = await serve(root);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetch(`${url}/api/entries/decisions`, { method: "PUT", headers, body: JSON.stringify(body) });
    expect(await answer.json()).toMatchObject({
      status: "denied",
      error: "decisions is a log: lines can be appended but not changed",
      next: [{ operation: "append_log", method: "POST", path: "/api/entries/{id}/log", input: { id: "decisions" } }],
    });
  });

  test("an agent is not sent to an operation that it may not call", async () => {
    const { root } = await newWorkspace();
    const { call } = await overStdio(root, "engineer");
    const refused = await call("get_topic", { id: "t-none" });
    const mayList = operations.list_topics.callers.some((kind) => kind === "agent");
    expect(refused.error).toBe(`topic t-none does not exist${mayList ? "; call list_topics" : ""}`);
  });

  test.each([...nextOperations])("%s is an operation, and its command exists with its options", async (operation) => {
    expect(operations[operation].name).toBe(operation);
    const isForAgents = operations[operation].callers.some((kind) => kind === "agent");
    expect(forAgents.wording({ operation }) !== undefined).toBe(isForAgents);
    const words = forPeople.wording({ operation })?.replace("run: scriptorium ", "").split(" ");
    if (!words) return;
    const command = words.slice(0, words.findIndex((word) => /^[<'-]/.test(word)) >>> 0 || words.length);
    const { root } = await newWorkspace();
    const help = await scriptorium([...command, "--help"], { cwd: root });
    expect(help.stdout).toContain(`Usage: scriptorium ${command.join(" ")}`);
    for (const option of words.filter((word) => word.startsWith("--"))) expect(help.stdout).toContain(option);
  });
});

describe("P7: a misspelt name is answered with the nearest one", () => {
  const refusal = async (root: string, ...args: string[]) => (await scriptorium(args, { cwd: root })).stderr;

  test("entries, tasks, personas, states, pages and commands on the command line", async () => {
    const { root, app } = await newWorkspace({
      config: "personas:\n  - { name: newcomer, description: Someone new }\n",
    });
    const { id } = unwrap(await operations.create_todo.perform(app, { title: "Find me" }, person()));
    expect(await refusal(root, "entry", "read", "visoin")).toContain(
      "section visoin does not exist; did you mean vision?",
    );
    expect(await refusal(root, "entry", "read", "errors")).toContain("did you mean api/errors?");
    expect(await refusal(root, "task", "show", id.slice(0, -3))).toContain(`did you mean ${id}?`);
    expect(await refusal(root, "task", "claim", `${id.slice(0, -2)}zz`, "--as", "me")).toContain(`did you mean ${id}?`);
    const persona = await refusal(root, "perspective", "show", "wiki/vision.md", "--persona", "newcommer");
    expect(persona).toContain("did you mean newcomer?");
    expect(await refusal(root, "task", "list", "--state", "completd")).toContain("did you mean completed?");
    expect(await refusal(root, "topic", "open", "wiki/visoin.md", "--message", "x")).toContain(
      "did you mean wiki/vision.md?",
    );
    expect(await refusal(root, "entri", "list")).toContain("Did you mean entry?");
    expect(await refusal(root, "search", "x", "--limt", "3")).toContain("Did you mean --limit?");
  });

  test("roles and fields over MCP", async () => {
    const { root } = await newWorkspace();
    const { call } = await overStdio(root, "planner");
    expect((await call("transfer_focus", { target: "architct", summary: "over" })).error).toContain(
      "did you mean architect?",
    );
    expect((await call("fetch_entry", { idd: "vision" })).error).toBe("idd: unknown field; did you mean id?");
    const misspelt = { id: "risks", title: "R", mode: "snapshot", writable_by: ["enginer"], description: "d" };
    expect((await call("create_section", misspelt)).error).toContain("did you mean engineer?");
  });

  test("a name that resembles none gets the way to list them", async () => {
    const { root } = await newWorkspace();
    expect(await refusal(root, "run", "show", "nothing")).toBe(
      "scriptorium: run nothing does not exist; run: scriptorium run list\n",
    );
  });
});

describe("P7: a mistake in a YAML file is named with file, line, key and what is expected", () => {
  test.each([
    ["agnet:\n  author_name: x\n", "scriptorium.yaml:1:1: unknown key agnet; did you mean agent?"],
    ["port: abc\n", 'scriptorium.yaml:1:1: port: expected a number, not "abc"'],
    [
      "\nstore: fiels\n",
      'scriptorium.yaml:2:1: store: expected files, database, or the path of a module such as ./my-store.js, not "fiels"',
    ],
    [
      "agent:\n  author_name: a\n  author_email: b\n  maxConcurrentJobs: 3\n",
      "scriptorium.yaml:4:3: agent: unknown key maxConcurrentJobs; did you mean max_concurrent_jobs?",
    ],
    ["claims: { lease_seconds: 0 }\n", "scriptorium.yaml:1:11: claims.lease_seconds: expected at least 1, not 0"],
  ])("%j", async (text, message) => {
    const { root } = await newWorkspace();
    writeFileSync(join(root, "scriptorium.yaml"), text);
    expect((await scriptorium(["status"], { cwd: root })).stderr).toContain(message);
  });

  test("in schema.yaml too, every mistake at once and in the order of lines", async () => {
    const { root } = await newWorkspace();
    const file = join(root, "wiki/schema.yaml");
    writeFileSync(
      file,
      readFileSync(file, "utf8").replace("writable_by", "writeable_by").replace("pipeline", "pipline"),
    );
    const { stderr } = await scriptorium(["entry", "list"], { cwd: root });
    expect(stderr).toMatch(
      /wiki\/schema\.yaml:\d+:\d+: schema\.sections\[0\]: unknown key writeable_by; did you mean writable_by\?/,
    );
    expect(stderr).toMatch(/unknown key pipline; did you mean pipeline\?/);
    const lines = [...stderr.matchAll(/schema\.yaml:(\d+):/g)].map(([, line]) => Number(line));
    expect(lines).toEqual(lines.toSorted((a, b) => a - b));
  });
});

describe("P7: states and races are told in words", () => {
  test("no name of a state machine reaches a person", async () => {
    const { root, app } = await newWorkspace();
    const { id } = unwrap(await operations.create_todo.perform(app, { title: "One" }, person()));
    const run = (...args: string[]) => scriptorium(["task", ...args], { cwd: root });
    expect((await run("release", id, "--force")).stderr).toContain(`task ${id} is not claimed; it is waiting`);
    await run("claim", id, "--as", "ada");
    expect((await run("list")).stdout).toContain("in progress");
    expect((await run("retry", id)).stderr).toContain("the task is in progress and cannot be reopened");
    expect((await run("list", "--state", "in progress", "--json")).json()).toHaveLength(1);
  });

  test("a plan that changed since it was read says how to read it again", async () => {
    const { root, app } = await newWorkspace();
    const plan = planOf([{ number: "0" }, { number: "1.1" }]);
    const { run } = unwrap(await operations.submit_plan.perform(app, { ...plan, request: "Do it" }, agent("planner")));
    const { content } = unwrap(await operations.show_plan.perform(app, { id: run }, person()));
    const { url, token } = await serve(root);
    const answer = await fetch(`${url}/api/runs/${run}/plan`, {
      method: "PUT",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ content, base_hash: "0".repeat(64) }),
    });
    expect(await answer.json()).toMatchObject({
      status: "conflict",
      message: `the plan of run ${run} changed since it was read; nothing was saved`,
      latestContent: content,
      next: [{ operation: "show_run", to: "read it again" }],
    });
  });
});

describe("P7: a stale commit says what can be merged", () => {
  const two = "# Vision\n\nOne.\n\n## More\n\nTwo.\n";
  const three = two.replace("Two", "Three");
  const stale = async (content: string) => {
    const { root } = await newWorkspace();
    const { call } = await overStdio(root, "planner");
    await call("commit_entry", { id: "vision", content: two, version: 1 });
    await call("commit_entry", { id: "vision", content: three, version: 2 });
    return call("commit_entry", { id: "vision", content, version: 2 });
  };

  test("an empty text is not merged: it would delete what its author has not read", async () => {
    const refused = await stale("");
    expect(refused).toMatchObject({ status: "conflict", latestVersion: 3 });
    expect(refused.message).toContain("your text is empty: to empty the entry, commit it again with version 3");
    expect(refused).not.toHaveProperty("merged");
  });

  test("a text without changes has nothing to merge, and one that is there already nothing to commit", async () => {
    expect((await stale(two)).message).toContain("the same as version 2, so there is nothing to merge");
    expect((await stale(three)).message).toContain("version 3 already has this text");
  });

  test("changes under different headings still come merged", async () => {
    const refused = await stale(two.replace("One", "Better"));
    expect(refused).toMatchObject({ status: "conflict", merged: three.replace("One", "Better") });
  });
});

test("P17: a read-only disk is named, whatever met it first", needs("bubblewrap"), async () => {
  const { root } = await newWorkspace();
  const bin = new URL("../dist/scriptorium.js", import.meta.url).pathname;
  const readOnly = (...args: string[]) => {
    try {
      const frozen = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--chdir", root];
      return execFileSync("bwrap", [...frozen, process.execPath, bin, ...args], { encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      return String((error as { stderr: string }).stderr);
    }
  };
  for (const args of [
    ["task", "add", "x"],
    ["entry", "append", "decisions", "x"],
  ]) {
    const said = readOnly(...args);
    expect(said).toMatch(/read-only/);
    expect(said).not.toMatch(/unexpected/);
  }
});
