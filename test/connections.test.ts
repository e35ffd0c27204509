import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Database } from "../src/store/database.ts";
import { appendEvent, eventsAfter } from "../src/store/events.ts";
import { openDatabase } from "../src/store/open.ts";
import { scriptoriumProcess, serveProcess, start } from "./support/commands.ts";
import { cuttable } from "./support/cuttable.ts";
import { type Postgres, startPostgres } from "./support/postgres.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace, read } from "./support/workspace.ts";

/** Short, so that a test of an outage does not take half a minute. */
const quick = { connectMs: 1000, statementMs: 5000, retryMs: 1500, startMs: 20_000 };
const timeouts = "postgresql: { connect_timeout: 1s, statement_timeout: 5s, retry_timeout: 2s, start_timeout: 20s }\n";

const event = (subject: string) => ({
  at: "2026-01-01T00:00:00.000Z",
  actor: "test",
  kind: "task-edited" as const,
  subject,
  data: {},
});

const subjects = async (db: Database) => (await eventsAfter(db, undefined, 10_000)).map(({ subject }) => subject);

describe("connections", needs("postgresql"), () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres(["fsync=off"]);
  });
  afterAll(() => server?.stop());

  async function emptyDatabase(on = server): Promise<string> {
    const client = new pg.Client({ connectionString: `${on.url}/postgres` });
    await client.connect();
    const name = `connections_${process.hrtime.bigint()}`;
    await client.query(`CREATE DATABASE ${name}`);
    await client.end();
    return name;
  }

  async function workspaceOn(url: string) {
    const { root, app } = await newWorkspace({ store: "database" });
    await app.close();
    writeFileSync(join(root, "scriptorium.yaml"), `name: Test\nstore: database\ndatabase: ${url}\n${timeouts}`);
    return root;
  }

  test("M2: a process that only read has no connection left once it has closed the database", async () => {
    const name = await emptyDatabase();
    const db = await openDatabase({ engine: "postgres", url: `${server.url}/${name}` });
    expect(await subjects(db)).toEqual([]);
    await db.close();
    const client = new pg.Client({ connectionString: `${server.url}/postgres` });
    await client.connect();
    onTestFinished(() => client.end());
    const open = "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = $1";
    // An idle connection that is not closed ends by itself after ten seconds, and until then the process stays alive.
    const count = async () => (await client.query<{ n: number }>(open, [name])).rows[0]?.n;
    await expect.poll(count, { timeout: 5000 }).toBe(0);
  });

  test("M2, M8: while PostgreSQL restarts or crashes, the server lives, answers 503 with Retry-After, and loses or doubles nothing", async () => {
    const root = await workspaceOn(`${server.url}/${await emptyDatabase()}`);
    const { url, token, child } = await serveProcess(root);
    expect((await ask(url, "/readyz")).json()).toMatchObject({ status: "ready" });
    const acknowledged: string[] = [];
    const answers: { status: number; wait: unknown; text: string }[] = [];
    let stop = false;
    const writer = async (name: string) => {
      for (let n = 0; !stop; n++) {
        const line = `${name}-${n}`;
        const path = "/api/entries/decisions/log";
        const { status, headers, text } = await ask(url, path, { method: "POST", token, body: { line } });
        if (status === 200) acknowledged.push(line);
        answers.push({ status, wait: headers["retry-after"], text });
      }
    };
    const writers = ["a", "b", "c"].map(writer);
    for (const how of ["fast", "kill"] as const) {
      const before = acknowledged.length;
      await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(before + 5);
      await server.halt(how);
      await expect.poll(() => answers.at(-1)?.status, { timeout: 20_000 }).toBe(503);
      expect((await ask(url, "/healthz")).json()).toEqual({ status: "ok" });
      await expect.poll(async () => (await ask(url, "/readyz")).status, { timeout: 10_000 }).toBe(503);
      const ready = await ask(url, "/readyz");
      expect(ready.json()).toMatchObject({ status: "not_ready", reason: "the database does not answer" });
      await server.resume();
      const after = acknowledged.length;
      await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(after + 5);
      await expect.poll(async () => (await ask(url, "/readyz")).status, { timeout: 10_000 }).toBe(200);
    }
    stop = true;
    await Promise.all(writers);
    expect(child.exitCode).toBeNull();
    const failed = answers.filter(({ status }) => status !== 200);
    expect(failed.length).toBeGreaterThan(0);
    const isUnknown = (text: string) => JSON.parse(text).outcome === "unknown";
    for (const { status, wait, text } of failed) {
      expect(status, text).toBe(503);
      expect(JSON.parse(text)).toMatchObject({ status: "storage", reason: "unavailable" });
      if (!isUnknown(text)) expect(wait).toBe("2");
    }
    const entry = (await ask(url, "/api/entries/decisions", { token })).json().content as string;
    for (const line of acknowledged) expect(entry.split(new RegExp(`\\b${line}\\b`)).length - 1, line).toBe(1);
  });

  test("M2: a command and a server that start before PostgreSQL wait for it, and say so", async () => {
    const root = await workspaceOn(`${server.url}/${await emptyDatabase()}`);
    await server.halt("fast");
    const child = start("scriptorium.js", ["status", "--json"], root);
    let [stdout, stderr] = ["", ""];
    child.stdout?.on("data", (chunk) => (stdout += chunk));
    child.stderr?.on("data", (chunk) => (stderr += chunk));
    const ended = new Promise<number | null>((done) => child.once("close", done));
    onTestFinished(() => void child.kill("SIGKILL"));
    await expect
      .poll(() => stderr, { timeout: 20_000 })
      .toMatch(
        /waiting for the database postgres:\/\/127\.0\.0\.1:\d+\/connections_\d+ \(.*ECONNREFUSED.*\), up to \d+ s/,
      );
    await server.resume();
    expect(await ended, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ name: "Test" });
  });

  test("M2: a database that does not come up ends the wait with what to do, without the password", async () => {
    const address = server.url.replace("postgres@", "postgres:hunter2@").replace(/:\d+$/, ":1");
    const root = await workspaceOn(`${address}/nowhere`);
    writeFileSync(
      join(root, "scriptorium.yaml"),
      read(join(root, "scriptorium.yaml")).replace("start_timeout: 20s", "start_timeout: 1s"),
    );
    const { code, stderr } = await scriptoriumProcess(["status"], { cwd: root });
    expect(code).toBe(1);
    expect(stderr).toMatch(/cannot be reached: .*ECONNREFUSED.*waited 1 s\)\. Start it, or correct database:/);
    expect(stderr).not.toContain("hunter2");
  });

  test("M8: when packets are dropped, calls end with 503 and /readyz says so; afterwards everything goes on", async () => {
    const way = await cuttable(server.url);
    onTestFinished(way.stop);
    const root = await workspaceOn(`${way.url}/${await emptyDatabase()}`);
    const { url, token } = await serveProcess(root);
    const append = (line: string) => ask(url, "/api/entries/decisions/log", { method: "POST", token, body: { line } });
    expect((await append("before")).status).toBe(200);
    way.cut();
    const [written, listed] = await Promise.all([append("meanwhile"), ask(url, "/api/entries", { token })]);
    expect([written.status, listed.status]).toEqual([503, 503]);
    expect(listed.headers["retry-after"]).toBe("2");
    expect((await ask(url, "/readyz")).status).toBe(503);
    expect((await ask(url, "/healthz")).status).toBe(200);
    way.mend();
    await expect.poll(async () => (await append("after")).status, { timeout: 20_000 }).toBe(200);
    const { content } = (await ask(url, "/api/entries/decisions", { token })).json();
    expect(content.match(/before|meanwhile|after/g).filter((word: string) => word !== "meanwhile")).toEqual([
      "before",
      "after",
    ]);
  });

  test("M8: a statement that takes too long is cancelled and told as such; a transaction without limits is not", async () => {
    const limits = { ...quick, statementMs: 300 };
    const db = await openDatabase({ engine: "postgres", url: `${server.url}/${await emptyDatabase()}`, limits });
    onTestFinished(() => db.close());
    const { sql } = await import("kysely");
    const slow = sql`SELECT pg_sleep(1)`;
    await expect(slow.execute(db.read)).rejects.toThrow("the database did not answer in time");
    await expect(db.write((tx) => slow.execute(tx))).rejects.toThrow("the database did not answer in time");
    await db.write((tx) => slow.execute(tx), { isLong: true });
    await db.write((tx) => appendEvent(tx, event("after")));
    expect(await subjects(db)).toEqual(["after"]);
  });

  test("M2: a backend that is terminated in the middle of a transaction costs nothing but a repetition", async () => {
    const db = await openDatabase({ engine: "postgres", url: `${server.url}/${await emptyDatabase()}`, limits: quick });
    onTestFinished(() => db.close());
    const { sql } = await import("kysely");
    let attempts = 0;
    await db.write(async (tx) => {
      attempts++;
      await appendEvent(tx, event("once"));
      if (attempts === 1) await sql`SELECT pg_terminate_backend(pg_backend_pid())`.execute(tx);
    });
    expect(attempts).toBe(2);
    expect(await subjects(db)).toEqual(["once"]);
  });

  test("M8: of several hosts the writable one is used, and another one after it was demoted or died", async () => {
    const other = await startPostgres(["fsync=off", "default_transaction_read_only=on"]);
    onTestFinished(() => other.stop());
    const name = await emptyDatabase();
    const [here, there] = [new URL(server.url).host, new URL(other.url).host];
    const set = async (on: Postgres, readOnly: "on" | "off") => {
      const client = new pg.Client({ connectionString: `${on.url}/postgres` });
      await client.connect();
      await client.query("SET default_transaction_read_only = off");
      await client.query("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE");
      await client.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${readOnly}`);
      await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name]);
      await client.end();
    };
    const creator = new pg.Client({ connectionString: `${other.url}/postgres` });
    await creator.connect();
    await creator.query("SET default_transaction_read_only = off");
    await creator.query(`CREATE DATABASE ${name}`);
    await creator.query(`ALTER DATABASE ${name} SET default_transaction_read_only = off`);
    await creator.end();
    await (await openDatabase({ engine: "postgres", url: `${other.url}/${name}`, limits: quick })).close();
    await set(other, "on");

    const url = `postgres://postgres@${there},${here}/${name}?target_session_attrs=read-write`;
    const db = await openDatabase({ engine: "postgres", url, limits: quick });
    onTestFinished(() => db.close());
    await db.write((tx) => appendEvent(tx, event("first")));
    const at = async (on: Postgres) => {
      const only = await openDatabase({ engine: "postgres", url: `${on.url}/${name}`, limits: quick });
      return subjects(only).finally(() => only.close());
    };
    expect(await at(server)).toEqual(["first"]);
    await set(other, "off");
    await set(server, "on");
    await db.write((tx) => appendEvent(tx, event("second")));
    expect(await at(other)).toEqual(["second"]);
    await set(server, "off");
    await other.halt("kill");
    await db.write((tx) => appendEvent(tx, event("third")));
    expect(await at(server)).toEqual(["first", "third"]);
  });

  test("M12: a server whose database a newer version has migrated says so, as does doctor; commands refuse", async () => {
    const name = await emptyDatabase();
    const root = await workspaceOn(`${server.url}/${name}`);
    const { url, token } = await serveProcess(root);
    const client = new pg.Client({ connectionString: `${server.url}/${name}` });
    await client.connect();
    await client.query("INSERT INTO schema_migrations VALUES ('9999-later', '2027-01-01T00:00:00.000Z')");
    await client.end();
    await expect.poll(async () => (await ask(url, "/readyz")).json().status).toBe("upgrade_needed");
    const { findings } = (await ask(url, "/api/doctor", { token })).json();
    expect(findings).toContainEqual(
      expect.objectContaining({ state: "problem", message: expect.stringMatching(/newer version.*9999-later/) }),
    );
    for (const command of [["status"], ["entry", "list"], ["doctor"]]) {
      const { code, stdout, stderr } = await scriptoriumProcess(command, { cwd: root });
      expect(code, command.join(" ")).toBe(1);
      expect(stdout + stderr).toMatch(
        /written by a newer version of Scriptorium \(migration 9999-later\).*Install the newer version/s,
      );
    }
  });

  test("M3: doctor names the limits of the server: replication, connections and timeouts", async () => {
    const root = await workspaceOn(`${server.url}/${await emptyDatabase()}`);
    const { stdout } = await scriptoriumProcess(["doctor", "--json"], { cwd: root });
    const findings = JSON.parse(stdout).findings as { check: string; message: string }[];
    const about = (check: string) => findings.find((one) => one.check === check)?.message;
    expect(about("replication")).toBe("the server has no standby");
    expect(about("connections")).toMatch(
      /^\d+ of 297 connections in use, \d+ by Scriptorium; a server or worker needs up to 11, so 27 fit$/,
    );
    expect(about("timeouts")).toBe("connect 1 s, statement 5 s, retry 2 s, start 20 s");
  });
});
