import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import type { Database } from "../src/store/database.ts";
import { type ChainHead, chainHead, formatHead, parseHead, verifyChain } from "../src/store/event-chain.ts";
import { appendEvent, type Event, eventsAfter } from "../src/store/events.ts";
import { historyRef } from "../src/store/git/history-ref.ts";
import { migrate, migrationsFor } from "../src/store/migrate.ts";
import { openDatabase } from "../src/store/open.ts";
import { openConnection } from "../src/store/sqlite/connection.ts";
import { mirrorBranch } from "../src/wiki/stores/mirror.ts";
import { scribeProcess, serve } from "./support/commands.ts";
import { startPostgres } from "./support/postgres.ts";
import { ask } from "./support/requests.ts";
import { agent, engines, freshDatabase, newWorkspace, temporaryFolder } from "./support/workspace.ts";

const note = (subject: string) =>
  ({ at: "2026-11-17T00:00:00Z", actor: "test", kind: "task-edited", subject, data: {} }) as const;

const write = (db: Database, ...subjects: string[]) =>
  db.write(async (tx) => {
    for (const subject of subjects) await appendEvent(tx, note(subject));
  });

async function opened(address: Parameters<typeof openDatabase>[0]): Promise<Database> {
  const db = await openDatabase(address);
  onTestFinished(() => db.close().catch(() => undefined));
  return db;
}

async function emptyDatabase(engine: Database["engine"]) {
  const address =
    engine === "sqlite"
      ? ({ engine, file: join(temporaryFolder(), "scriptorium.db") } as const)
      : ({ engine, url: await freshDatabase() } as const);
  return { address, db: await opened(address) };
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}

const insert = (client: pg.Client, subject: string) =>
  client.query("INSERT INTO events (at, actor, kind, subject, data) VALUES ('', 'raw', 'task-edited', $1, '{}')", [
    subject,
  ]);

async function readFrom(db: Database, cursor: string | undefined, limit = 100): Promise<Event[]> {
  const all: Event[] = [];
  for (;;) {
    const some = await eventsAfter(db, all.at(-1)?.id ?? cursor, limit);
    if (some.length === 0) return all;
    all.push(...some);
  }
}

const subjects = (events: Event[]) => events.map(({ subject }) => subject);
const oneTo = (count: number) => Array.from({ length: count }, (_, n) => String(n + 1));

describe.each(engines)("M5: the order of events (%s)", (engine) => {
  test("M5: a reader beside many writers misses nothing and hears each event once, in one order for all", async () => {
    const { address, db } = await emptyDatabase(engine);
    const others = [db, await opened(address), await opened(address)];
    const count = 300;
    let next = 0;
    let isDone = false;
    const expected = new Set<string>();
    const writers = others.flatMap((one) =>
      Array.from({ length: 4 }, async () => {
        while (next < count) {
          const [first, second] = [`note:${next++}`, `note:${next++}`];
          const isKept = next % 10 !== 0;
          const work = one.write(async (tx) => {
            await appendEvent(tx, note(first));
            // SQLite has one writer: a transaction that sleeps there makes all others wait.
            if (engine === "postgres") await sleep(Math.random() * 30);
            await appendEvent(tx, note(second));
            if (!isKept) throw new Error("undone");
          });
          await work.catch(() => undefined);
          if (isKept) for (const subject of [first, second]) expected.add(subject);
        }
      }),
    );
    const heard: Event[][] = [[], []];
    const readers = heard.map(async (list, n) => {
      for (let isLast = false; ; isLast = isDone) {
        const some = await eventsAfter(others[n + 1] as Database, list.at(-1)?.id, 7);
        list.push(...some);
        if (some.length === 0 && isLast) return;
        if (some.length === 0) await sleep(1);
      }
    });
    await Promise.all(writers);
    isDone = true;
    await Promise.all(readers);

    const [mine = [], theirs = []] = heard;
    expect(new Set(subjects(mine))).toEqual(expected);
    expect(mine.map(({ id }) => id)).toEqual(oneTo(expected.size));
    expect(theirs).toEqual(mine);
    expect(await readFrom(db, undefined)).toEqual(mine);
    expect(await verifyChain(db)).toMatchObject({ head: { position: expected.size }, broken: undefined });
  });

  test("M5: several processes that seal at once give each event one position", async () => {
    const { address, db } = await emptyDatabase(engine);
    const sealing = [db, await opened(address), await opened(address), await opened(address)];
    for (let round = 0; round < 5; round++) {
      await write(db, ...Array.from({ length: 700 }, (_, n) => `note:${round}-${n}`));
      const heads = await Promise.all(sealing.map((one) => chainHead(one)));
      expect(new Set(heads.map((head) => head && formatHead(head))).size).toBe(1);
    }
    expect((await readFrom(db, undefined, 1000)).map(({ id }) => id)).toEqual(oneTo(3500));
    expect((await verifyChain(db)).broken).toBeUndefined();
  });

  test("M5: a process killed while it seals leaves no half of it; the next one seals", async () => {
    const { root, app } = await newWorkspace({ engine });
    const before = await chainHead(app.db);
    const line = ["append-log", "--role", "engineer", "--id", "decisions", "--line", "kept"];
    const killed = await scribeProcess(line, { cwd: root, env: { SCRIPTORIUM_CRASH_AT: "events-sealed" } });
    expect(killed.code).not.toBe(0);
    const events = await eventsAfter(app.db, before && String(before.position), 10);
    expect(events.map(({ subject }) => subject)).toEqual(["entry:decisions"]);
    expect((await verifyChain(app.db)).broken).toBeUndefined();
  });

  test("M5: events of a database of 0.1 keep their order and get positions", async () => {
    const { address, order } = await (engine === "sqlite" ? oldSqlite() : oldPostgres());
    const db = await opened(address);
    expect(subjects(await readFrom(db, undefined))).toEqual(order);
    await write(db, "note:new");
    expect((await readFrom(db, String(order.length))).map(({ id, subject }) => [id, subject])).toEqual([
      [String(order.length + 1), "note:new"],
    ]);
    expect(await verifyChain(db)).toMatchObject({ head: { position: order.length + 1 }, broken: undefined });
  });

  test("M5: verifying names the first event that was changed, deleted, inserted or moved", async () => {
    const { db } = await emptyDatabase(engine);
    await write(db, ...oneTo(12).map((n) => `note:${n}`));
    const head = (await chainHead(db)) as ChainHead;
    expect(await verifyChain(db, [head])).toEqual({ head, broken: undefined, archived: 0 });
    const links = await db.read.selectFrom("event_chain").selectAll().orderBy("position").execute();
    const events = await db.read.selectFrom("events").selectAll().orderBy("seq").execute();
    const restore = () =>
      db.write(async (tx) => {
        await tx.deleteFrom("event_chain").execute();
        await tx.deleteFrom("events").execute();
        const values = engine === "postgres" ? sql`OVERRIDING SYSTEM VALUE VALUES` : sql`VALUES`;
        for (const { seq, at, actor, kind, subject, data } of events)
          await sql`INSERT INTO events (seq, at, actor, kind, subject, data)
            ${values} (${seq}, ${at}, ${actor}, ${kind}, ${subject}, ${data})`.execute(tx);
        await tx.insertInto("event_chain").values(links).execute();
      });
    const seqOf = (position: number) => links[position - 1]?.seq ?? 0;
    const brokenAfter = async (damage: (tx: Parameters<Parameters<Database["write"]>[0]>[0]) => Promise<unknown>) => {
      await db.write(damage);
      const { broken } = await verifyChain(db);
      const { broken: withHead } = await verifyChain(db, [head]);
      await restore();
      expect((await verifyChain(db, [head])).broken).toBeUndefined();
      return [broken && `${broken.position} ${broken.what}`, withHead && `${withHead.position} ${withHead.what}`];
    };

    for (const column of ["at", "actor", "kind", "subject", "data"] as const)
      expect(
        await brokenAfter((tx) =>
          tx
            .updateTable("events")
            .set({ [column]: "x" })
            .where("seq", "=", seqOf(5))
            .execute(),
        ),
        column,
      ).toEqual(["5 hash_differs", "5 hash_differs"]);
    expect(await brokenAfter((tx) => tx.deleteFrom("events").where("seq", "=", seqOf(4)).execute())).toEqual([
      "4 event_missing",
      "4 event_missing",
    ]);
    expect(
      await brokenAfter(async (tx) => {
        await tx.deleteFrom("event_chain").where("position", "=", 6).execute();
        await tx.deleteFrom("events").where("seq", "=", seqOf(6)).execute();
      }),
    ).toEqual(["6 link_missing", "6 link_missing"]);
    expect(
      await brokenAfter(async (tx) => {
        await sql`UPDATE event_chain SET seq = -seq WHERE position IN (7, 8)`.execute(tx);
        await sql`UPDATE event_chain SET seq = ${seqOf(8)} WHERE position = 7`.execute(tx);
        await sql`UPDATE event_chain SET seq = ${seqOf(7)} WHERE position = 8`.execute(tx);
      }),
      "two events in the other order",
    ).toEqual(["7 hash_differs", "7 hash_differs"]);
    expect(
      await brokenAfter(async (tx) => {
        await sql`UPDATE event_chain SET position = -position - 1 WHERE position >= 9`.execute(tx);
        await sql`UPDATE event_chain SET position = -position WHERE position < 0`.execute(tx);
        await appendEvent(tx, note("note:forged"));
        const { rows } = await sql<{ seq: number }>`SELECT max(seq) AS seq FROM events`.execute(tx);
        const forged = { position: 9, seq: rows[0]?.seq ?? 0, hash: "0".repeat(64) };
        await tx.insertInto("event_chain").values(forged).execute();
      }),
      "an event in between",
    ).toEqual(["9 hash_differs", "9 hash_differs"]);
    const cut = async (tx: Parameters<typeof appendEvent>[0]) => {
      await tx.deleteFrom("event_chain").where("position", ">", 10).execute();
      await tx.deleteFrom("events").where("seq", ">", seqOf(10)).execute();
    };
    expect(await brokenAfter(cut), "a tail that was cut off").toEqual([undefined, "12 head_missing"]);
    expect(
      await brokenAfter(async (tx) => {
        await cut(tx);
        for (const subject of ["a", "b", "c"]) await appendEvent(tx, note(subject));
      }),
      "a tail that was replaced",
    ).toEqual([undefined, "12 head_differs"]);
  });

  test.each(["files", "database"] as const)(
    "M5: commits of the store in %s carry the head of the log, which proves a recomputed log",
    async (store) => {
      const { app, git } = await newWorkspace({ engine, store });
      for (const line of ["one", "two"])
        unwrap(await operations.append_log.perform(app, { id: "decisions", line }, agent("engineer")));
      await app.recorder.record();
      while ((await app.mirror?.record())?.more);
      const ref = store === "files" ? historyRef : mirrorBranch;
      const trailers = git("log", "-2", "--format=%(trailers:key=Events,valueonly,separator=)", ref).split("\n");
      const heads = trailers.map((value) => parseHead(value)).filter((head) => head !== undefined);
      expect(heads).toHaveLength(2);
      const head = await chainHead(app.db);
      expect(heads[0]).toEqual(head);
      expect((await verifyChain(app.db, heads)).broken).toBeUndefined();
      if (store === "files") expect(git("log", "-1", "--format=%(trailers:key=Events)", "main")).toBe("");

      await app.db.write(async (tx) => {
        await tx.updateTable("events").set({ actor: "somebody else" }).execute();
        await tx.deleteFrom("event_chain").execute();
      });
      expect((await verifyChain(app.db)).broken, "every hash was recomputed").toBeUndefined();
      expect((await verifyChain(app.db, heads)).broken).toMatchObject({
        position: head?.position,
        what: "head_differs",
        expected: head?.hash,
      });
    },
  );

  test("M5: the event stream refuses a cursor that this log has not issued, and says how to go on", async () => {
    const { root, app } = await newWorkspace({ engine });
    const { url, token } = await serve(root);
    const asked = async (after: string) => {
      const { status, text } = await ask(url, `/api/events?after=${after}`, { token });
      return [status, JSON.parse(text).error];
    };
    expect(await asked("771-3")).toEqual([400, expect.stringMatching(/from Scriptorium 0\.1.*after=0/)]);
    expect(await asked("newest")).toEqual([400, expect.stringMatching(/"newest" is not an event id.*after=0/)]);
    const newest = (await chainHead(app.db))?.position ?? 0;
    expect(await asked(String(newest + 100))).toEqual([400, expect.stringMatching(/does not exist.*restored/)]);
  });
});

describe("M5: on PostgreSQL", () => {
  test("M5: a transaction that is open in another database of the cluster does not hold events back", async () => {
    const { db } = await emptyDatabase("postgres");
    const foreign = await connected(await freshDatabase());
    await foreign.query("BEGIN");
    await foreign.query("SELECT pg_current_xact_id()");
    await write(db, "note:1", "note:2");
    expect(subjects(await readFrom(db, undefined))).toEqual(["note:1", "note:2"]);
  });

  test("M5: a transaction that commits late comes later, and numbers that were rolled back are forgotten", async () => {
    const { address, db } = await emptyDatabase("postgres");
    if (address.engine !== "postgres") throw new Error("not postgres");
    const [slow, undone] = [await connected(address.url), await connected(address.url)];
    const open = () => db.read.selectFrom("event_gaps").select(["first", "last"]).orderBy("first").execute();
    await slow.query("BEGIN");
    await insert(slow, "note:slow-1");
    await write(db, "note:quick-1");
    await undone.query("BEGIN");
    await insert(undone, "note:undone");
    await write(db, "note:quick-2");
    await insert(slow, "note:slow-2");
    expect(subjects(await readFrom(db, undefined))).toEqual(["note:quick-1", "note:quick-2"]);
    expect(await open()).toEqual([
      { first: 1, last: 1 },
      { first: 3, last: 3 },
    ]);
    await undone.query("ROLLBACK");
    await write(db, "note:quick-3");
    expect(subjects(await readFrom(db, "2"))).toEqual(["note:quick-3"]);
    await slow.query("COMMIT");
    expect((await readFrom(db, "3")).map(({ id, subject }) => `${id} ${subject}`)).toEqual([
      "4 note:slow-1",
      "5 note:slow-2",
    ]);
    expect(await open()).toEqual([]);
    expect((await verifyChain(db)).broken).toBeUndefined();
  });

  test("M5: a copy in another cluster, whose transaction ids are lower, keeps the order and goes on", async () => {
    const { app, git, root, open } = await newWorkspace({ engine: "postgres", store: "database" });
    if (app.config.database.engine !== "postgres") throw new Error("not postgres");
    const from = await connected(app.config.database.url);
    await from.query("CREATE TEMP TABLE burnt (n INT)");
    await from.query(`DO $$ BEGIN FOR n IN 1..3000 LOOP
      BEGIN INSERT INTO burnt VALUES (n); EXCEPTION WHEN division_by_zero THEN NULL; END;
    END LOOP; END $$`);
    const append = async (to: App, line: string) =>
      unwrap(await operations.append_log.perform(to, { id: "decisions", line }, agent("engineer")));
    for (const line of ["one", "two"]) await append(app, line);
    while ((await app.mirror?.record())?.more);
    const before = await readFrom(app.db, undefined);

    const cluster = await startPostgres();
    onTestFinished(() => cluster.stop());
    const url = `${cluster.url}/postgres`;
    const copy = await opened({ engine: "postgres", url });
    const to = await connected(url);
    await copyRows(from, to);
    expect(await readFrom(copy, undefined)).toEqual(before);
    expect((await verifyChain(copy, [(await chainHead(app.db)) as ChainHead])).broken).toBeUndefined();

    const moved = await open({ SCRIPTORIUM_DATABASE_URL: url });
    await append(moved, "three");
    expect(subjects(await readFrom(moved.db, before.at(-1)?.id))).toEqual(["entry:decisions"]);
    while ((await moved.mirror?.record())?.more);
    expect(git("show", `${mirrorBranch}:wiki/decisions.md`), root).toMatch(/one\n.*two\n.*three$/);
    await moved.close();
  });
});

/** The rows of what the log and the mirror need, as pg_dump would copy them. */
async function copyRows(from: pg.Client, to: pg.Client): Promise<void> {
  await to.query("SET session_replication_role = replica");
  for (const table of ["meta", "events", "event_chain", "event_gaps", "entries", "entry_versions", "handoffs"]) {
    await to.query(`DELETE FROM ${table}`);
    const { rows, fields } = await from.query({ text: `SELECT * FROM ${table}`, rowMode: "array" });
    const names = fields.map(({ name }) => name);
    const slots = names.map((_, n) => `$${n + 1}`);
    for (const row of rows)
      await to.query(`INSERT INTO ${table} (${names.join()}) OVERRIDING SYSTEM VALUE VALUES (${slots.join()})`, row);
    for (const name of names.filter((one) => one === "seq" || one === "num")) {
      await to.query(
        `SELECT setval(pg_get_serial_sequence('${table}', '${name}'), (SELECT coalesce(max(${name}), 1) FROM ${table}))
         WHERE pg_get_serial_sequence('${table}', '${name}') IS NOT NULL`,
      );
    }
  }
}

const oldMigrations = (engine: Database["engine"]) => migrationsFor(engine).filter(({ name }) => name < "0009");

async function oldSqlite() {
  const file = join(temporaryFolder(), "scriptorium.db");
  const connection = openConnection(file, 1000);
  const table = "CREATE TABLE schema_migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)";
  connection.exec(table);
  await migrate(oldMigrations("sqlite"), {
    recorded: async () => [],
    exec: async (text) => connection.exec(text),
  });
  const order = ["note:1", "note:ü", "note:3"];
  for (const subject of order)
    connection
      .prepare("INSERT INTO events (at, actor, kind, subject, data) VALUES ('', 'raw', 'task-edited', ?, '{}')")
      .run([subject]);
  connection.close();
  return { address: { engine: "sqlite", file } as const, order };
}

/** Readers of 0.1 saw the events of the older transaction first. */
async function oldPostgres() {
  const url = await freshDatabase();
  const [first, second] = [await connected(url), await connected(url)];
  await first.query("CREATE TABLE schema_migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)");
  await migrate(oldMigrations("postgres"), {
    recorded: async () => [],
    exec: async (text) => void (await first.query(text)),
  });
  await first.query("BEGIN");
  await insert(first, "note:1");
  await second.query("BEGIN");
  await insert(second, "note:3");
  await insert(first, "note:ü");
  await second.query("COMMIT");
  await first.query("COMMIT");
  return { address: { engine: "postgres", url } as const, order: ["note:1", "note:ü", "note:3"] };
}
