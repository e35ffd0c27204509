import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Database, UnknownOutcome } from "../src/store/database.ts";
import { appendEvent, eventsAfter } from "../src/store/events.ts";
import { openDatabase } from "../src/store/open.ts";
import { serveProcess } from "./support/commands.ts";
import { floatingAddress } from "./support/floating-address.ts";
import { type Postgres, startPostgres } from "./support/postgres.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { freshDatabase, newWorkspace } from "./support/workspace.ts";

const quick = { connectMs: 1000, statementMs: 5000, retryMs: 1500, startMs: 20_000 };

const event = (subject: string) => ({
  at: "2026-01-01T00:00:00.000Z",
  actor: "test",
  kind: "task-edited" as const,
  subject,
  data: {},
});

const note = (db: Database, subject: string) => db.write((tx) => appendEvent(tx, event(subject)));
const subjects = async (db: Database) => (await eventsAfter(db, undefined, 10_000)).map(({ subject }) => subject);

async function query(server: Postgres, sql: string, database = "postgres") {
  const client = new pg.Client({ connectionString: `${server.url}/${database}` });
  await client.connect();
  return (await client.query(sql).finally(() => client.end())).rows;
}

describe("lost commits", needs("postgresql"), () => {
  test("M3: a commit that a failover lost is not acknowledged, also after the address led to a standby for a while", async () => {
    const primary = await startPostgres(["fsync=off"]);
    onTestFinished(() => primary.stop());
    const open = (url: string) => openDatabase({ engine: "postgres", url: `${url}/postgres`, limits: quick });
    await (await open(primary.url)).close();
    await primary.halt("fast");
    const standby = await startPostgres(["fsync=off"], primary);
    onTestFinished(() => standby.stop());
    await primary.resume("answering");
    const address = await floatingAddress(primary.url);
    onTestFinished(address.stop);
    const db = await open(address.url);
    onTestFinished(() => db.close());
    await note(db, "first");

    address.leadTo(standby.url);
    await expect(note(db, "on a standby")).rejects.toThrow("not reachable");
    address.leadTo(primary.url);
    await expect.poll(() => note(db, "second").then(() => true)).toBe(true);

    // The standby lags behind: its transactions get the ids of those that are lost with the primary.
    await query(standby, "SELECT pg_promote()");
    await query(standby, "DO $$ BEGIN FOR n IN 1..500 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$");
    address.loseCommitOf("lost", () => address.leadTo(standby.url));
    await expect(note(db, "lost")).rejects.toThrow(UnknownOutcome);
    expect(await subjects(db)).toEqual([]);
  });

  test.each([
    ["is given to another transaction", 500],
    ["is not given again", 0],
  ])(
    "C1, M2: after a crash that lost a commit, whose id %s, nothing is acknowledged that is not there",
    async (_, others) => {
      // Nothing but a commit writes the log to disk, so that the crash loses the open transaction with its id.
      const server = await startPostgres(["wal_writer_delay=10s", "autovacuum=off"]);
      onTestFinished(() => server.stop());
      const address = await floatingAddress(server.url);
      onTestFinished(address.stop);
      const db = await openDatabase({ engine: "postgres", url: `${address.url}/postgres`, limits: quick });
      onTestFinished(() => db.close());
      await note(db, "first");

      const crashed = new Promise<void>((done, fail) => {
        address.loseCommitOf(
          "lost",
          () => {
            address.leadTo(undefined);
            const crash = async () => {
              await server.halt("kill");
              await server.resume("answering");
              const given = `DO $$ BEGIN FOR n IN 1..${others} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`;
              await query(server, given);
              address.leadTo(server.url);
            };
            crash().then(done, fail);
          },
          "there",
        );
      });
      const noted = note(db, "lost").then(
        () => "acknowledged",
        (error: unknown) => error,
      );
      await crashed;
      if (others > 0) expect(await noted).toBeInstanceOf(UnknownOutcome);
      else expect(await noted).toBe("acknowledged");
      expect(await subjects(db)).toEqual(others > 0 ? ["first"] : ["first", "lost"]);
    },
  );

  test.each([
    ["does not come back in time", 12_000],
    ["comes back", 0],
  ])("K6, M2: a change with a key whose commit lost its answer can be repeated when the database %s", async (_, ms) => {
    const direct = await freshDatabase();
    const address = await floatingAddress(direct);
    onTestFinished(address.stop);
    const { root, app } = await newWorkspace({ store: "database" });
    await app.close();
    const timeouts = "postgresql: { connect_timeout: 1s, retry_timeout: 2s }\n";
    writeFileSync(join(root, "scriptorium.yaml"), `name: Test\nstore: database\ndatabase: ${address.url}\n${timeouts}`);
    const { url, token } = await serveProcess(root);
    const append = (line: string) =>
      ask(url, "/api/entries/decisions/log", {
        ...{ method: "POST", token, headers: { "idempotency-key": line }, body: { line } },
      });
    expect((await append("before")).status).toBe(200);

    address.loseCommitOf("lost", () => address.leadTo(ms === 0 ? direct : undefined));
    const pending = append("lost");
    await sleep(ms);
    address.leadTo(direct);
    const first = await pending;
    if (ms === 0) expect(first.status).toBe(200);
    else {
      expect(first.status).toBe(503);
      expect(first.headers["retry-after"]).toBe("2");
      expect(first.json()).toMatchObject({
        outcome: "unknown",
        error: expect.stringContaining("same idempotency key"),
      });
    }
    // Until the server has asked the database, it does not know either.
    await expect.poll(async () => (await append("lost")).status).not.toBe(503);
    const repeated = await append("lost");
    if (ms === 0) expect(repeated.text).toBe(first.text);
    else
      expect([repeated.status, repeated.json()]).toEqual([
        409,
        expect.objectContaining({ took_effect: true, message: expect.stringContaining("its answer was not saved") }),
      ]);
    const { content } = (await ask(url, "/api/entries/decisions", { token })).json();
    expect(content.match(/before|lost/g)).toEqual(["before", "lost"]);
  });

  test("M2: an error of a file in a transaction is not taken for a lost connection, and the work is not repeated", async () => {
    const db = await openDatabase({ engine: "postgres", url: await freshDatabase(), limits: quick });
    onTestFinished(() => db.close());
    let attempts = 0;
    const work = db.write(async (tx) => {
      attempts++;
      await appendEvent(tx, event("undone"));
      return readFile("/nowhere/at/all");
    });
    await expect(work).rejects.toMatchObject({ code: "ENOENT", path: "/nowhere/at/all" });
    expect(attempts).toBe(1);
    expect(await subjects(db)).toEqual([]);
  });
});
