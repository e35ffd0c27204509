import { readFile } from "node:fs/promises";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Database, UnknownOutcome } from "../src/store/database.ts";
import { appendEvent, eventsAfter } from "../src/store/events.ts";
import { openDatabase } from "../src/store/open.ts";
import { floatingAddress } from "./support/floating-address.ts";
import { type Postgres, startPostgres } from "./support/postgres.ts";
import { needs } from "./support/programs.ts";
import { freshDatabase } from "./support/workspace.ts";

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
    await query(
      standby,
      "DO $$ BEGIN FOR n IN 1..500 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$",
    );
    address.loseNextCommit(() => address.leadTo(standby.url));
    await expect(note(db, "lost")).rejects.toThrow(UnknownOutcome);
    expect(await subjects(db)).toEqual([]);
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
