import { describe, expect, onTestFinished, test } from "vitest";
import { type App, openApp } from "../src/app.ts";
import { ok, unwrap } from "../src/kernel/result.ts";
import { openWorkspace } from "../src/library.ts";
import { operations } from "../src/operation-list.ts";
import { scribe, scribeProcess, scriptorium, serve, serveProcess } from "./support/commands.ts";
import { overHttp } from "./support/mcp.ts";
import { ask } from "./support/requests.ts";
import { agent, engines, newWorkspace, person, read } from "./support/workspace.ts";

const appendAs = (app: App, line: string, key?: string) =>
  operations.append_log.perform(app, { id: "decisions", line }, agent("engineer"), app.idempotency.once(key));

const lines = (text: string, part: string) => text.split("\n").filter((line) => line.includes(part)).length;

describe.each(engines)("idempotency keys (%s)", (engine) => {
  test("K6: over HTTP a repeat gets the first answer, and the line is there once", async () => {
    const { root, file } = await newWorkspace({ engine });
    const { url, token } = await serve(root);
    const append = (line: string, key?: string) => {
      const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
      return ask(url, "/api/entries/decisions/log", { method: "POST", token, headers, body: { line } });
    };
    const first = await append("by key", "k-1");
    expect(first.status).toBe(200);
    expect((await append("by key", "k-1")).text).toBe(first.text);
    expect(lines(read(file("decisions.md")), "by key")).toBe(1);

    const other = await append("another line", "k-1");
    expect([other.status, other.json().error]).toEqual([
      400,
      expect.stringMatching(/with another input; use a new key/),
    ]);
    const bad = await append("by key", "k 1");
    expect([bad.status, bad.json().error]).toEqual([400, expect.stringMatching(/1 to 200 visible ASCII/)]);
    expect((await append("by key")).status, "without a key it is another line").toBe(200);
    expect(lines(read(file("decisions.md")), "by key")).toBe(2);

    const all = await Promise.all(Array.from({ length: 20 }, () => append("at once", "k-2")));
    expect(new Set(all.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(lines(read(file("decisions.md")), "at once")).toBe(1);
  });

  test("K6: repeats in several processes take effect once", async () => {
    const { app, file, open } = await newWorkspace({ engine });
    const apps = [app, await open(), await open(), await open()];
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => appendAs(apps[n % 4] as App, "once", "k")));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ ok: true });
    expect(lines(read(file("decisions.md")), "once")).toBe(1);
  });

  test("K6: the key belongs to its caller and operation, and a refusal is not kept", async () => {
    const { app, file } = await newWorkspace({ engine });
    unwrap(await appendAs(app, "mine", "k"));
    const asPlanner = { id: "decisions", line: "mine" };
    unwrap(await operations.append_log.perform(app, asPlanner, agent("planner"), app.idempotency.once("k")));
    expect(lines(read(file("decisions.md")), "mine"), "of two roles").toBe(2);

    const commit = { id: "vision", content: "text\n", version: 7 };
    const commitAs = () => operations.commit_entry.perform(app, commit, agent("planner"), app.idempotency.once("k"));
    expect(await commitAs()).toMatchObject({ ok: false, problem: { code: "conflict" } });
    await app.idempotency.idle();
    const kept = await app.db.read.selectFrom("idempotency").select("operation").execute();
    expect(kept.map(({ operation }) => operation)).toEqual(["append_log", "append_log"]);
    for (let version = 1; version < 7; version++)
      unwrap(
        await operations.commit_entry.perform(app, { ...commit, content: `${version}\n`, version }, agent("planner")),
      );
    expect(await commitAs(), "the same call, now that it can be done").toMatchObject({ ok: true });
  });

  test("K6: after kill -9 between effect and answer a repeat does nothing and says that it took effect", async () => {
    const { root, file } = await newWorkspace({ engine });
    const line = ["append-log", "--role", "engineer", "--id", "decisions", "--line", "kept", "--idempotency-key", "k"];
    const killed = await scribeProcess(line, { cwd: root, env: { SCRIPTORIUM_CRASH_AT: "call-performed" } });
    expect([killed.signal, lines(read(file("decisions.md")), "kept")]).toEqual(["SIGKILL", 1]);
    const again = await scribe(line, { cwd: root });
    expect([again.code, again.json()]).toEqual([
      1,
      {
        status: "conflict",
        message: expect.stringMatching(/append_log .*took effect at .*use a new key/),
        took_effect: true,
        at: expect.any(String),
      },
    ]);
    expect(lines(read(file("decisions.md")), "kept")).toBe(1);
  });

  test("K6: scribe repeats a call whose server was killed, without doing it twice", async () => {
    const { root, file } = await newWorkspace({ engine });
    const served = await serveProcess(root, { SCRIPTORIUM_CRASH_AT: "call-performed" });
    const line = ["append-log", "--role", "engineer", "--id", "decisions", "--line", "through a server"];
    const asked = await scribe(line, { cwd: root });
    await served.stop("SIGKILL");
    expect(asked.json()).toMatchObject({ status: "conflict", message: expect.stringMatching(/took effect/) });
    expect(lines(read(file("decisions.md")), "through a server")).toBe(1);
  });

  test("S3: a repeated claim gets its secret again, which the database does not have", async () => {
    const { app } = await newWorkspace({ engine });
    const task = unwrap(await operations.create_todo.perform(app, { title: "T" }, person()));
    const lock = () =>
      operations.lock_todo.perform(
        app,
        { id: task.id, agent_id: "a" },
        agent("engineer"),
        app.idempotency.once("claim-1"),
      );
    const first = unwrap(await lock());
    await app.idempotency.idle();
    expect(await lock()).toEqual(ok(first));
    const secret = first.status === "locked" ? (first.secret ?? "") : "";
    expect(secret).not.toBe("");
    const rows = await app.db.read.selectFrom("idempotency").selectAll().execute();
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(JSON.stringify(rows)).not.toContain("claim-1");
  });

  test("S10: a token is not shown again, and not created again", async () => {
    const { app } = await newWorkspace({ engine });
    const create = () =>
      operations.create_token.perform(
        app,
        { kind: "agent", role: "engineer" },
        person(),
        app.idempotency.once("token-1"),
      );
    unwrap(await create());
    await app.idempotency.idle();
    expect(await create()).toMatchObject({
      ok: false,
      problem: { code: "conflict", message: expect.stringMatching(/shown once.*Revoke/) },
    });
    expect(unwrap(await operations.list_tokens.perform(app, {}, person())).tokens).toHaveLength(1);
  });

  test("K6: steps of other callers that run at the same time are not part of a repeated call", async () => {
    const { app } = await newWorkspace({ engine });
    const wanted = Array.from({ length: 12 }, (_, n) => ({ title: `T${n}` }));
    const made = await Promise.all(wanted.map((todo) => operations.create_todo.perform(app, todo, person())));
    const ids = made.map((todo) => unwrap(todo).id);
    const locked = await Promise.all(
      ids.flatMap((id) => [
        operations.lock_todo.perform(
          app,
          { id, agent_id: "a" },
          agent("engineer"),
          app.idempotency.once(`claim-${id}`),
        ),
        operations.lock_todo.perform(
          app,
          { id, agent_id: "a" },
          agent("engineer"),
          app.idempotency.once(`claim-${id}`),
        ),
        operations.lock_todo.perform(app, { id: ids[0] ?? "", agent_id: "b" }, agent("planner")),
      ]),
    );
    expect(locked.every((answer) => answer.ok)).toBe(true);
    for (const [n] of ids.entries()) if (n > 0) expect(locked[3 * n]).toEqual(locked[3 * n + 1]);
  });

  test("K6: a call that another machine performs is still running for a machine whose clock is an hour ahead", async () => {
    const { app, file } = await newWorkspace({ engine });
    unwrap(await appendAs(app, "elsewhere", "k"));
    await app.idempotency.idle();
    const running = { state: "running" as const, answer: null, holder: "elsewhere:7:7:1a.2b.3c.4d" };
    await app.db.write((tx) => tx.updateTable("idempotency").set(running).execute());
    const ahead = await openApp(app.config, { now: () => new Date(Date.now() + 3_600_000) });
    onTestFinished(() => ahead.close());
    expect(await appendAs(ahead, "elsewhere", "k")).toMatchObject({
      problem: { code: "conflict", message: expect.stringContaining("is still running") },
    });
    expect(lines(read(file("decisions.md")), "elsewhere")).toBe(1);
  });

  test("K6: keys are forgotten after 24 hours", async () => {
    const { app, file, open } = await newWorkspace({ engine });
    unwrap(await appendAs(app, "old", "k-old"));
    await app.idempotency.idle();
    const yesterday = new Date(Date.now() - 25 * 3_600_000).toISOString();
    await app.db.write((tx) => tx.updateTable("idempotency").set({ at: yesterday }).execute());
    const later = await open();
    unwrap(await appendAs(later, "new", "k-new"));
    await later.idempotency.idle();
    const rows = await app.db.read.selectFrom("idempotency").select("at").execute();
    expect(rows).toHaveLength(1);
    expect(lines(read(file("decisions.md")), "old")).toBe(1);
  });
});

test("K6: MCP takes the key in _meta, the library as an option, scriptorium and scribe as an option", async () => {
  const { root, app, file } = await newWorkspace();
  const { url, token: owner } = await serve(root);
  const made = await ask(url, "/api/tokens", {
    method: "POST",
    token: owner,
    body: { kind: "agent", role: "engineer" },
  });
  const { client } = await overHttp(url, made.json().token);
  const call = () =>
    client.callTool({
      name: "append_log",
      arguments: { id: "decisions", line: "by MCP" },
      _meta: { "scriptorium/idempotency-key": "k" },
    });
  const first = await call();
  expect((await call()).structuredContent).toEqual(first.structuredContent);
  expect(lines(read(file("decisions.md")), "by MCP")).toBe(1);

  const library = await openWorkspace(root);
  onTestFinished(() => library.close());
  const add = () => library.call("create_todo", { title: "by library" }, undefined, { idempotencyKey: "k" });
  expect(await add()).toEqual(await add());

  const command = ["task", "add", "by command", "--json", "--idempotency-key", "c"];
  const ran = await scriptorium(command, { cwd: root });
  expect(ran).toMatchObject({ code: 0 });
  expect((await scriptorium(["--idempotency-key", "c", ...command.slice(0, -2)], { cwd: root })).stdout).toBe(
    ran.stdout,
  );

  const line = [
    "append-log",
    "--role",
    "engineer",
    "--id",
    "decisions",
    "--line",
    "by scribe",
    "--idempotency-key",
    "s",
  ];
  const once = await scribe(line, { cwd: root });
  expect(once).toMatchObject({ code: 0 });
  expect((await scribe(line, { cwd: root })).stdout).toBe(once.stdout);
  expect(lines(read(file("decisions.md")), "by scribe")).toBe(1);

  const { todos } = unwrap(await operations.list_todos.perform(app, {}, person()));
  expect(todos.map(({ title }) => title).sort()).toEqual(["by command", "by library"]);
});
