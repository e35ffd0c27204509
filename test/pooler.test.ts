import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../src/store/database.ts";
import { appendEvent, eventsAfter } from "../src/store/events.ts";
import { openDatabase } from "../src/store/open.ts";
import { findMeta, setMeta } from "../src/store/queries/meta.ts";
import { scriptoriumProcess } from "./support/commands.ts";
import { type Pgbouncer, startPgbouncer } from "./support/pgbouncer.ts";
import { needs } from "./support/programs.ts";
import { freshDatabase, newWorkspace } from "./support/workspace.ts";

/** The part that `npm test` runs; `npm run test:pooler` runs the whole tests of storage through PgBouncer. */
describe("M7: behind PgBouncer in transaction mode", needs("pgbouncer"), () => {
  let pooler: Pgbouncer;
  beforeAll(async () => {
    // Few server connections for many clients, so that clients get each other's.
    pooler = await startPgbouncer(inject("postgresDirectUrl"), ["default_pool_size = 3"]);
  });
  afterAll(() => pooler?.stop());

  const event = (subject: string) => ({
    at: "2026-01-01T00:00:00.000Z",
    actor: "test",
    kind: "task-edited" as const,
    subject,
    data: {},
  });

  async function opened(name: string, more: object = {}): Promise<Database> {
    const db = await openDatabase({ engine: "postgres", url: `${pooler.url}/${name}`, ...more });
    onTestFinished(() => db.close());
    return db;
  }

  const nameOfFresh = async () => (await freshDatabase()).split("/").at(-1) ?? "";

  test("M7: several processes write and read, and no statement of one meets that of another", async () => {
    const name = await nameOfFresh();
    const dbs = await Promise.all(Array.from({ length: 4 }, () => opened(name)));
    await Promise.all(
      dbs.flatMap((db, which) =>
        Array.from({ length: 25 }, async (_, n) => {
          await db.write(async (tx) => {
            await appendEvent(tx, event(`${which}-${n}`));
            await setMeta(tx, `key-${which}`, String(n));
          });
          expect(await findMeta(db.read, `key-${which}`)).toBeDefined();
        }),
      ),
    );
    const [db] = dbs as [Database];
    const subjects = (await eventsAfter(db, undefined, 1000)).map(({ subject }) => subject);
    expect(new Set(subjects).size).toBe(100);
    expect(subjects).toHaveLength(100);
    expect(await db.health()).toEqual({ newer: undefined, pooler: true });
  });

  test("M7: no lock and no setting stays with a server connection", async () => {
    const name = await nameOfFresh();
    const db = await opened(name);
    await db.write((tx) => appendEvent(tx, event("one")));
    const direct = new pg.Client({ connectionString: `${inject("postgresDirectUrl")}/${name}` });
    await direct.connect();
    onTestFinished(() => direct.end());
    const locks =
      "SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    expect((await direct.query(locks)).rows).toEqual([{ count: 0 }]);
    const through = new pg.Client({ connectionString: `${pooler.url}/${name}` });
    await through.connect();
    onTestFinished(() => through.end());
    const wanted = (await direct.query("SHOW plan_cache_mode")).rows;
    for (let n = 0; n < 10; n++) {
      expect((await through.query("SHOW plan_cache_mode")).rows).toEqual(wanted);
      expect((await through.query("SHOW statement_timeout")).rows).toEqual([{ statement_timeout: "0" }]);
    }
  });

  test("M7: changes of other processes are heard of by polling, and at once with a listen address", async () => {
    const name = await nameOfFresh();
    const listenUrl = `${inject("postgresDirectUrl")}/${name}`;
    const [polling, listening, writer] = await Promise.all([opened(name), opened(name, { listenUrl }), opened(name)]);
    const heard = new Set<string>();
    const wait = (db: Database, as: string) => new Promise<void>((done) => db.onChange(() => done(void heard.add(as))));
    const both = [wait(polling, "polling"), wait(listening, "listening")];
    await Promise.all(both);
    await sleep(50);
    const again = wait(listening, "again");
    await writer.write((tx) => appendEvent(tx, event("news")));
    await again;
    expect([...heard].sort()).toEqual(["again", "listening", "polling"]);
  });

  test("M7: a restart of PgBouncer is a lost connection like any other", async () => {
    const own = await startPgbouncer(inject("postgresDirectUrl"));
    const name = await nameOfFresh();
    const db = await openDatabase({ engine: "postgres", url: `${own.url}/${name}`, limits: { retryMs: 1000 } });
    onTestFinished(() => db.close());
    await db.write((tx) => appendEvent(tx, event("before")));
    await own.stop();
    await expect(db.write((tx) => appendEvent(tx, event("lost")))).rejects.toThrow(
      "the database server is not reachable",
    );
  });

  test("M7: doctor sees the pooler, and what to set", async () => {
    const { root, app } = await newWorkspace({ store: "database", engine: "postgres" });
    await app.close();
    const { database } = app.config;
    const name = database.engine === "postgres" ? database.url.split("/").at(-1) : "";
    const env = { SCRIPTORIUM_DATABASE_URL: `${pooler.url}/${name}` };
    const { stdout } = await scriptoriumProcess(["doctor", "--json"], { cwd: root, env });
    const pooling = JSON.parse(stdout).findings.find(({ check }: { check: string }) => check === "pooler");
    expect(pooling).toMatchObject({
      state: "warning",
      fix: expect.stringContaining("SCRIPTORIUM_DATABASE_LISTEN_URL"),
    });
    const listen = { ...env, SCRIPTORIUM_DATABASE_LISTEN_URL: database.engine === "postgres" ? database.url : "" };
    const again = await scriptoriumProcess(["doctor", "--json"], { cwd: root, env: listen });
    expect(JSON.parse(again.stdout).findings).toContainEqual(expect.objectContaining({ check: "pooler", state: "ok" }));
  });
});
