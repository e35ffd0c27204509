import { appendFileSync, chmodSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findSocket, identityOf, recordIn, socketFolder, socketIn } from "../src/kernel/agent-socket.ts";
import { unwrap } from "../src/kernel/result.ts";
import { version } from "../src/kernel/version.ts";
import { operations } from "../src/operation-list.ts";
import { type Ran, scribe, scribeProcess, serve, serveProcess } from "./support/commands.ts";
import { openTopic, pageText } from "./support/jobs.ts";
import { agent, newWorkspace, person, temporaryFolder } from "./support/workspace.ts";

const listEntries = ["list-entries", "--role", "planner"];
const fetchVision = ["fetch-entry", "--role", "planner", "--id", "vision"];
const stateOf = (root: string) => join(root, ".scriptorium");
const mode = (path: string) => statSync(path).mode & 0o777;

/** A server that says what the test wants, where the workspace's own would listen. */
async function fakeServer(root: string, answer: (socket: Socket) => void): Promise<Server> {
  const folder = socketFolder(stateOf(root));
  mkdirSync(folder, { mode: 0o700 });
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    answer(socket);
  });
  await new Promise<void>((done) => server.listen(socketIn(folder), done));
  chmodSync(socketIn(folder), 0o600);
  onTestFinished(() => void server.close());
  return server;
}

const greet = (root: string, changed: object = {}) =>
  `${JSON.stringify({ version, identity: identityOf(join(root, "scriptorium.yaml"), undefined), ...changed })}\n`;

/** Sends a line to the server's socket as no `scribe` would. */
function ask(path: string, line: object): Promise<{ result: { ok: boolean; problem?: { code: string } } }> {
  return new Promise((done, fail) => {
    let text = "";
    const socket = connect(path);
    socket
      .setEncoding("utf8")
      .on("data", (chunk: string) => (text += chunk))
      .on("error", fail)
      .on("close", () => done(JSON.parse(text.split("\n")[1] ?? "null")));
    socket.write(`${JSON.stringify(line)}\n`);
  });
}

describe("P9: a running server answers scribe", () => {
  test("scribe does not open the store then, and prints what it would have printed", async () => {
    const { root, app } = await newWorkspace();
    const alone = await scribeProcess(fetchVision, { cwd: root });
    await app.close();
    await serveProcess(root);
    const database = join(stateOf(root), "scriptorium.db");
    const asked = await scribeProcess(fetchVision, { cwd: root });
    expect(asked).toMatchObject({ code: 0, stdout: alone.stdout, stderr: "" });
    // The server has it open. A scribe that opened the store would make another; a write of the server would save it.
    renameSync(database, `${database}.moved`);
    expect(await scribeProcess(listEntries, { cwd: root })).toMatchObject({ code: 0, stderr: "" });
    expect(existsSync(database)).toBe(false);
  });

  test("writes keep their role, run, version and trailers", async () => {
    const { root, git } = await newWorkspace();
    const server = await serve(root);
    const commit = ["commit-entry", "--role", "planner", "--id", "vision", "--version", "1", "--run", "r-7"];
    expect((await scribe(commit, { cwd: root, input: "# Far\n" })).json()).toEqual({ status: "success", version: 2 });
    const late = await scribe(commit, { cwd: root, input: "# Late\n" });
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining("scribe: ") });
    expect(late.json()).toMatchObject({ status: "conflict", latestContent: "# Far\n", latestVersion: 2 });
    await server.stop();
    expect(git("log", "-1", "--format=%(trailers:key=Role,valueonly)%(trailers:key=Run,valueonly)")).toBe(
      "planner\nr-7",
    );
  });

  test("the rules are those of an open store: role, section, epoch, job", async () => {
    const { root, app } = await newWorkspace({ files: { "docs/deploy.md": pageText } });
    const id = await openTopic(app);
    const task = unwrap(await operations.create_todo.perform(app, { title: "Do it" }, person()));
    const calls: [args: string[], env?: Record<string, string>][] = [
      [["fetch-entry", "--role", "plannr", "--id", "vision"]],
      [["fetch-entry", "--id", "vision"]],
      [["append-log", "--role", "planner", "--id", "vision", "--line", "x"]],
      [["fetch-entry", "--role", "planner", "--id", "nothing"]],
      [["append-log", "--role", "engineer", "--id", "decisions", "--line", "x", "--task", task.id, "--epoch", "3"]],
      [["reply-topic", "--id", id, "--content", "x"], { SCRIPTORIUM_JOB: "j-none" }],
    ];
    const run = async () => {
      const all: Ran[] = [];
      for (const [args, env = {}] of calls) all.push(await scribe(args, { cwd: root, env }));
      return all.map(({ code, stdout, stderr }) => ({ code, stdout, stderr }));
    };
    const alone = await run();
    expect(alone.map(({ code }) => code)).toEqual([1, 1, 1, 1, 1, 1]);
    await serve(root);
    expect(await run()).toEqual(alone);
  });

  test("T5, T11: the socket is the user's alone, and nobody becomes a person by it", async () => {
    const { root, app } = await newWorkspace();
    const section = { id: "risks", title: "Risks", mode: "log", writable_by: ["planner"], description: "Risks." };
    const { proposal_id } = unwrap(await operations.create_section.perform(app, section, person()));
    const { stop } = await serve(root);
    const path = findSocket(stateOf(root)) ?? "";
    expect([mode(path), mode(socketFolder(stateOf(root)))]).toEqual([0o600, 0o700]);

    const asPerson = { kind: "person", name: "Ada", rank: "admin", caller: { kind: "person", rank: "admin" } };
    for (const [operation, input] of [
      ["approve_proposal", { id: proposal_id }],
      ["create_token", { kind: "person", rank: "admin", name: "Eve" }],
      ["list_tokens", {}],
      ["__proto__", {}],
      ["constructor", {}],
    ] as const) {
      const { result } = await ask(path, { operation, input, role: "planner", ...asPerson });
      expect(result, operation).toMatchObject({
        ok: false,
        problem: { code: expect.stringMatching(/denied|not_found/) },
      });
    }
    expect(await app.proposals.find(proposal_id)).toMatchObject({ status: "open" });
    await stop();
    expect(existsSync(path)).toBe(false);
  });

  test("the socket of a killed server is no obstacle, and the next server takes its place", async () => {
    const { root } = await newWorkspace();
    const killed = await serveProcess(root);
    await killed.stop("SIGKILL");
    expect(findSocket(stateOf(root))).toBeDefined();
    expect(await scribe(fetchVision, { cwd: root })).toMatchObject({ code: 0 });
    await serve(root);
    const { result } = await ask(findSocket(stateOf(root)) ?? "", {
      operation: "fetch_entry",
      input: { id: "vision" },
      role: "planner",
    });
    expect(result.ok).toBe(true);
  });

  test("a path that is too long for a socket is replaced by a short one, which is removed at the end", async () => {
    const { root: short } = await newWorkspace();
    const root = join(temporaryFolder(), "a-folder-with-a-long-name".repeat(4), "workspace");
    mkdirSync(join(root, ".."), { recursive: true });
    renameSync(short, root);
    const { stop } = await serve(root);
    const path = findSocket(stateOf(root)) ?? "";
    expect(path.startsWith(root)).toBe(false);
    expect([mode(path), mode(join(path, ".."))]).toEqual([0o600, 0o700]);
    expect(await scribe(fetchVision, { cwd: root })).toMatchObject({ code: 0 });
    await stop();
    expect([existsSync(join(path, "..")), existsSync(recordIn(socketFolder(stateOf(root))))]).toEqual([false, false]);
  });
});

describe("P9: scribe opens the store itself", () => {
  const canned = `${JSON.stringify({ result: { ok: true, value: { from: "socket" } } })}\n`;
  const answering = (greeting: string) => (socket: Socket) => {
    socket.write(greeting);
    socket.on("data", () => socket.end(canned));
  };

  test("unless the server is of its own version and serves the same configuration and database", async () => {
    const { root } = await newWorkspace();
    let greeting = greet(root);
    await fakeServer(root, (socket) => answering(greeting)(socket));
    expect((await scribe(fetchVision, { cwd: root })).json()).toEqual({ from: "socket" });
    greeting = greet(root, { version: "0.0.1" });
    expect((await scribe(fetchVision, { cwd: root })).json()).toMatchObject({ id: "vision" });
    greeting = greet(root);
    appendFileSync(join(root, "scriptorium.yaml"), "# edited\n");
    expect((await scribe(fetchVision, { cwd: root })).json()).toMatchObject({ id: "vision" });
    greeting = greet(root);
    const env = { SCRIPTORIUM_DATABASE_URL: "postgres://127.0.0.1:1/none" };
    expect((await scribe(fetchVision, { cwd: root, env })).json()).not.toEqual({ from: "socket" });
  });

  test("if the server says nothing, says nonsense, or others can write to its socket", async () => {
    const { root } = await newWorkspace();
    let answer: (socket: Socket) => void = () => undefined;
    await fakeServer(root, (socket) => answer(socket));
    for (const bad of [
      () => undefined,
      (socket: Socket) => socket.end(),
      (socket: Socket) => socket.end("HTTP/1.1 400 Bad Request\n"),
      (socket: Socket) => socket.write("null\n"),
    ]) {
      answer = bad;
      expect((await scribe(fetchVision, { cwd: root })).json()).toMatchObject({ id: "vision" });
    }
    answer = answering(greet(root));
    chmodSync(socketIn(socketFolder(stateOf(root))), 0o666);
    expect((await scribe(fetchVision, { cwd: root })).json()).toMatchObject({ id: "vision" });
  });

  test("for a call that a server took and did not answer, with a key, so that it is done once", async () => {
    const { root, app } = await newWorkspace();
    let taken = "";
    await fakeServer(root, (socket) => {
      socket.write(greet(root));
      socket.on("data", (chunk) => {
        taken = String(chunk);
        socket.destroy();
      });
    });
    const append = ["append-log", "--role", "planner", "--id", "decisions", "--line", "once"];
    expect((await scribe(append, { cwd: root })).json()).toMatchObject({ status: "success" });
    const { idempotencyKey } = JSON.parse(taken);
    const input = { id: "decisions", line: "once" };
    const again = await operations.append_log.perform(
      app,
      input,
      agent("planner"),
      app.idempotency.once(idempotencyKey),
    );
    expect(again).toMatchObject({ ok: true, value: { status: "success" } });
    expect((await app.entries.fetch("decisions")).content.match(/once/g)).toHaveLength(1);
  });

  test("and a record that a repository brings along leads nowhere", async () => {
    const { root } = await newWorkspace();
    const folder = socketFolder(stateOf(root));
    mkdirSync(folder);
    writeFileSync(recordIn(folder), "/tmp/other.sock");
    expect(findSocket(stateOf(root))).toBeUndefined();
    rmSync(folder, { recursive: true });
    expect(await scribe(fetchVision, { cwd: root })).toMatchObject({ code: 0 });
  });
});
