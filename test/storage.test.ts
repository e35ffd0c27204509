import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { sql } from "kysely";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Database, DatabaseAddress } from "../src/store/database.ts";
import { appendEvent } from "../src/store/events.ts";
import { migrate, migrationsFor } from "../src/store/migrate.ts";
import { openDatabase } from "../src/store/open.ts";
import { openConnection } from "../src/store/sqlite/connection.ts";
import { engines, freshDatabase, temporaryFolder } from "./support/workspace.ts";

const address = async (engine: Database["engine"]): Promise<DatabaseAddress> =>
  engine === "sqlite"
    ? { engine, file: join(temporaryFolder(), "state/test.db") }
    : { engine, url: await freshDatabase() };

const event = (subject: string) => ({
  at: "2026-01-01T00:00:00.000Z",
  actor: "test",
  kind: "task-edited" as const,
  subject,
  data: {},
});

describe.each(engines)("R12: writes (%s)", (engine) => {
  test("are kept or undone as a whole", async () => {
    const db = await openDatabase(await address(engine));
    await expect(
      db.write(async (tx) => {
        await appendEvent(tx, event("lost"));
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    await db.write((tx) => appendEvent(tx, event("kept")));
    expect(await subjects(db)).toEqual(["kept"]);
    await db.close();
  });

  test("that come after the end are refused, and the process goes on", async () => {
    const where = await address(engine);
    const db = await openDatabase(where);
    await db.write((tx) => appendEvent(tx, event("before")));
    const closing = db.close();
    const after = db.write((tx) => appendEvent(tx, event("after")));
    await expect(after).rejects.toThrow("the database is closed");
    await closing;
    await expect(db.write((tx) => appendEvent(tx, event("after")))).rejects.toThrow("the database is closed");
    const again = await openDatabase(where);
    expect(await subjects(again)).toEqual(["before"]);
    await again.close();
  });

  test("that wait together do not harm each other when one fails", async () => {
    const db = await openDatabase(await address(engine));
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) =>
        db.write(async (tx) => {
          await appendEvent(tx, event(`e${i}`));
          if (i % 7 === 3) throw new Error(`refused ${i}`);
          return i;
        }),
      ),
    );
    expect(results.filter((r) => r.status === "rejected")).toHaveLength(7);
    expect(await subjects(db)).toHaveLength(43);
    await db.close();
  });

  test("of others are heard of without asking", async () => {
    const where = await address(engine);
    const [mine, theirs] = [await openDatabase(where), await openDatabase(where)];
    const heard = new Promise<void>((done) => mine.onChange(done));
    await new Promise((done) => setTimeout(done, 300));
    await theirs.write((tx) => appendEvent(tx, event("news")));
    await heard;
    await Promise.all([mine.close(), theirs.close()]);
  });
});

test("R12: SQLite runs in WAL mode, waits 5 s for a lock, keeps foreign keys, and syncs before it answers", async () => {
  const file = join(temporaryFolder(), "test.db");
  const db = await openDatabase({ engine: "sqlite", file });
  const pragma = async (name: string) =>
    Object.values((await sql.raw<object>(`PRAGMA ${name}`).execute(db.read)).rows[0] ?? {})[0];
  expect(await pragma("journal_mode")).toBe("wal");
  expect(await pragma("busy_timeout")).toBe(5000);
  expect(await pragma("foreign_keys")).toBe(1);
  expect(await pragma("synchronous")).toBe(2);
  await expect(sql`DELETE FROM events`.execute(db.read)).rejects.toThrow("readonly");
  await db.close();
});

test("R12: many writes at once share transactions, so that they share fsyncs", async () => {
  const file = join(temporaryFolder(), "test.db");
  const db = await openDatabase({ engine: "sqlite", file });
  const counter = openConnection(file, 5000);
  counter.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const version = counter.prepare("PRAGMA data_version");
  const before = version.all([])[0]?.data_version as number;
  await Promise.all(Array.from({ length: 200 }, (_, i) => db.write((tx) => appendEvent(tx, event(`e${i}`)))));
  expect((version.all([])[0]?.data_version as number) - before).toBeLessThanOrEqual(3);
  counter.close();
  await db.close();
});

describe.each(engines)("text with a NUL character (%s)", (engine) => {
  test("is refused, not cut", async () => {
    const db = await openDatabase(await address(engine));
    await expect(db.write((tx) => appendEvent(tx, event("cut\0here")))).rejects.toThrow(/NUL|0x00/);
    expect(await subjects(db)).toEqual([]);
    await db.close();
  });
});

describe.each(engines)("R13: migrations (%s)", (engine) => {
  test("are recorded by name, and a second start runs none", async () => {
    const where = await address(engine);
    for (let start = 0; start < 2; start++) {
      const db = await openDatabase(where);
      const rows = await db.read.selectFrom("schema_migrations").selectAll().orderBy("name").execute();
      expect(rows.map((row) => row.name)).toEqual(migrationsFor(engine).map((m) => m.name));
      await db.close();
    }
  });

  test("refuse a database of a development build or a newer version, and change nothing", async () => {
    const where = await address(engine);
    await (await openDatabase(where)).close();
    const target = await plainTarget(engine, where);
    const schema = await target.recorded();
    for (const [name, message] of [
      ["0001-foundation", /development build .* nothing was changed\. .*(mv .*test\.db\*|empty database)/],
      ["9999-later", /newer version of Scriptorium \(migration 9999-later\)/],
    ] as const) {
      await target.exec(`INSERT INTO schema_migrations VALUES ('${name}', '2026-11-15T00:00:00.000Z')`);
      await expect(openDatabase(where)).rejects.toThrow(message);
      expect((await target.recorded()).sort()).toEqual([...schema, name].sort());
      await target.exec(`DELETE FROM schema_migrations WHERE name = '${name}'`);
    }
    await target.end();
    await (await openDatabase(where)).close();
  });

  test("run once when eight processes start at the same moment", async () => {
    const where = await address(engine);
    const opened = await Promise.all(Array.from({ length: 8 }, () => startElsewhere(where)));
    expect(opened).toEqual(Array.from({ length: 8 }, () => "open"));
  });
});

describe.each(engines)("R13: a migration (%s)", (engine) => {
  test("that fails half-way leaves nothing behind, and a no-tx one manages its own", async () => {
    const target = await plainTarget(engine);
    const folder = temporaryFolder();
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "0001-good.sql"), "CREATE TABLE a (x TEXT);");
    writeFileSync(
      join(folder, `0002-only.${engine}.sql`),
      "\n\n-- migrate:no-tx\nBEGIN; CREATE TABLE b (x TEXT); COMMIT;",
    );
    writeFileSync(join(folder, `0002-only.${engine === "sqlite" ? "postgres" : "sqlite"}.sql`), "not for us");
    writeFileSync(join(folder, "0003-bad.sql"), "CREATE TABLE c (x TEXT); CREATE TABLE c (x TEXT);");
    const migrations = migrationsFor(engine, pathToFileURL(`${folder}/`));
    await expect(migrate(migrations, target)).rejects.toThrow("migration 0003-bad failed");
    expect((await target.recorded()).sort()).toEqual(["0001-good", "0002-only"]);
    await target.exec("CREATE TABLE c (x TEXT); DROP TABLE c;");
    writeFileSync(join(folder, "0003-bad.sql"), "CREATE TABLE c (x TEXT);");
    await migrate(migrationsFor(engine, pathToFileURL(`${folder}/`)), target);
    expect((await target.recorded()).sort()).toEqual(["0001-good", "0002-only", "0003-bad"]);
    await target.end();
  });
});

describe.each(engines)("V12: jobs belong to topics that exist (%s)", (engine) => {
  test("V12: a database with a job of a lost topic is migrated without it, and takes no further one", async () => {
    const where = await address(engine);
    if (where.engine === "sqlite") mkdirSync(dirname(where.file), { recursive: true });
    const target = await plainTarget(engine, where);
    await migrate(
      migrationsFor(engine).filter(({ name }) => name < "0015"),
      target,
    );
    const topic = "'a.md', 'change', 'open', 1, 'Ada', '2026-11-01', ''";
    await target.exec(
      `INSERT INTO topics (id, path, kind, status, messages, created_by, created_at, seen_blob) VALUES ('t-1', ${topic})`,
    );
    const job = (id: string, topic: string) =>
      `INSERT INTO agent_jobs (id, kind, source_path, topic_id, status, created_at, created_by, completed_at, cost_usd)
       VALUES ('${id}', 'incorporate', 'a.md', '${topic}', 'failed', '2026-11-01', 'Ada', '2026-11-01', 0.5)`;
    await target.exec(job("j-1", "t-1"));
    await target.exec(job("j-2", "t-lost"));
    await target.end();

    const db = await openDatabase(where);
    onTestFinished(() => db.close());
    const jobs = () => db.read.selectFrom("agent_jobs").select(["id", "topic_id", "cost_usd"]).execute();
    expect(await jobs()).toEqual([{ id: "j-1", topic_id: "t-1", cost_usd: 0.5 }]);
    await expect(db.write((tx) => sql.raw(job("j-3", "t-lost")).execute(tx))).rejects.toThrow(/foreign key/i);
    expect(await jobs()).toHaveLength(1);
  });
});

/** Opens the database in a process of its own. */
function startElsewhere(where: DatabaseAddress): Promise<string> {
  const dist = new URL("../dist/library.js", import.meta.url).href;
  const folder = temporaryFolder();
  mkdirSync(join(folder, "wiki"));
  // With files, the first folder would keep the others from the database.
  writeFileSync(
    join(folder, "scriptorium.yaml"),
    `name: x\nstore: ${where.engine === "sqlite" ? "files" : "database"}\n`,
  );
  const schema =
    "schema: { sections: [{ id: a, title: A, mode: log, writable_by: [x], description: d }] }\npipeline: [x]\nmax_steps: 1\n";
  writeFileSync(join(folder, "wiki/schema.yaml"), schema);
  const script = `
    import { symlinkSync, mkdirSync } from "node:fs";
    ${where.engine === "sqlite" ? `mkdirSync(${JSON.stringify(join(where.file, ".."))}, { recursive: true }); mkdirSync(".scriptorium"); for (const end of ["", "-wal", "-shm", "-migrate"]) symlinkSync(${JSON.stringify(where.file)} + end, ".scriptorium/scriptorium.db" + end);` : ""}
    import { execFileSync } from "node:child_process";
    execFileSync("git", ["init", "-q"]);
    const { openWorkspace } = await import(${JSON.stringify(dist)});
    const workspace = await openWorkspace(".");
    await workspace.call("status", {});
    await workspace.close();
    process.stdout.write("open");`;
  return new Promise((done) => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        ...(where.engine === "postgres" ? { SCRIPTORIUM_DATABASE_URL: where.url } : {}),
      },
    });
    let said = "";
    child.stdout.on("data", (chunk) => (said += chunk));
    child.stderr.on("data", (chunk) => (said += chunk));
    child.on("close", () => done(said));
  });
}

async function plainTarget(engine: Database["engine"], where?: DatabaseAddress) {
  const create = "CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)";
  if (engine === "sqlite") {
    const db = openConnection(where?.engine === "sqlite" ? where.file : join(temporaryFolder(), "plain.db"), 5000);
    db.exec(create);
    return {
      recorded: async () =>
        db
          .prepare("SELECT name FROM schema_migrations")
          .all([])
          .map(({ name }) => name as string),
      exec: async (text: string) => db.exec(text),
      end: async () => db.close(),
    };
  }
  const client = new pg.Client({
    connectionString: where?.engine === "postgres" ? where.url : await freshDatabase(),
  });
  await client.connect();
  await client.query(create);
  return {
    recorded: async () =>
      (await client.query("SELECT name FROM schema_migrations")).rows.map((row) => row.name as string),
    exec: async (text: string) => void (await client.query(text)),
    end: () => client.end(),
  };
}

/** From the table itself: on PostgreSQL the feed waits for every transaction of the server. */
async function subjects(db: Database): Promise<string[]> {
  const rows = await db.read.selectFrom("events").select("subject").orderBy("seq").execute();
  return rows.map(({ subject }) => subject);
}
