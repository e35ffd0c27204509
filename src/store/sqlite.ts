import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, type KyselyPlugin, SqliteDialect } from "kysely";
import { turns } from "../kernel/turns.ts";
import { ClosedDatabase, type Database, type Query, undoesWrites } from "./database.ts";
import { crashPoint, faultPoint } from "./disk/crash.ts";
import { privateFolder } from "./disk/private.ts";
import { migrate, migrationsFor, newerMigration, pendingMigrations } from "./migrate.ts";
import { directConnections } from "./prepared.ts";
import { type Connection, isBusy, openConnection, type Statement } from "./sqlite/connection.ts";
import { type FileWatch, watchFile } from "./sqlite/file-watch.ts";
import { anchorClock } from "./sqlite/steady-clock.ts";
import type { Tables } from "./tables.ts";

const pollMs = 200;
const busyTimeoutMs = 60_000;
const largestBatch = 256;
/** SQLite itself waits so long for a lock when a connection opens or migrates, which blocks the thread. */
const busyMs = 5000;

/** `open` is replaced only by the bench that compares SQLite bindings. */
export async function openSqlite(file: string, open: Open = openConnection): Promise<Database> {
  mkdirSync(dirname(file), privateFolder);
  const writer = await retryWhileBusy(() => connect(open, file));
  await migrateSqlite(writer, file, open).catch((error) => {
    writer.close();
    throw error;
  });
  await retryWhileBusy(() => anchorClock(writer));
  const reader = await retryWhileBusy(() => connect(open, file));
  reader.exec("PRAGMA query_only = ON");
  // SQLite waits for a lock by blocking the thread. The writer does so for 1 ms only and then
  // waits in `retryWhileBusy`, which lets the event loop serve other requests. If the lock belongs to another
  // connection of this process, its transaction cannot go on meanwhile: with 10 ms, three waiting connections
  // use up every turn of the event loop (kernel/turns.ts), and the transaction advances one statement at a time.
  writer.exec("PRAGMA busy_timeout = 1");

  const place = watchFile(writer, file);
  const funnel = openFunnel(writer, place);
  const watch = watchChanges(reader);
  const read = kyselyOver(reader);
  return {
    engine: "sqlite",
    read,
    async write(work) {
      const value = await funnel.write(work);
      watch.wake();
      return value;
    },
    async snapshot(work) {
      const connection = await retryWhileBusy(() => connect(open, file));
      const query = kyselyOver(connection);
      try {
        connection.exec("PRAGMA query_only = ON; BEGIN");
        return await work(query);
      } finally {
        await query.destroy();
      }
    },
    onChange: watch.onChange,
    stamp: watch.version,
    trouble: place.trouble,
    async health() {
      const rows = reader.prepare("SELECT name FROM schema_migrations").all([]);
      const newer = newerMigration(
        migrationsFor("sqlite"),
        rows.map(({ name }) => name as string),
      );
      return { newer, pooler: false };
    },
    async close() {
      watch.stop();
      await funnel.close();
      await read.destroy();
      writer.close();
    },
  };
}

type Open = typeof openConnection;

function connect(open: Open, file: string): Connection {
  const connection = open(file, busyMs);
  connection.exec("PRAGMA journal_mode = WAL");
  // FULL fsyncs every commit before it is acknowledged; with NORMAL a power failure loses acknowledged writes.
  connection.exec("PRAGMA synchronous = FULL");
  connection.exec("PRAGMA foreign_keys = ON");
  return connection;
}

type Waiting = {
  work: (tx: Query) => Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
};

/**
 * Group commit: writes that wait at the same time share one transaction and one fsync, each behind
 * its own savepoint, so that one failure or refusal undoes only itself. There is one connection, and
 * `work` may await in the middle of its transaction. Without this queue another write would be
 * committed, or rolled back, as part of a transaction that it knows nothing about.
 */
function openFunnel(connection: Connection, place: FileWatch) {
  const tx = kyselyOver(connection);
  const waiting: Waiting[] = [];
  let draining: Promise<void> | undefined;
  let isClosed = false;

  async function drain() {
    await null;
    while (waiting.length > 0) await commitTogether(waiting.splice(0, largestBatch));
    draining = undefined;
  }

  async function commitTogether(batch: Waiting[]) {
    const settle: (() => void)[] = [];
    try {
      place.check();
      await retryWhileBusy(() => connection.exec("BEGIN IMMEDIATE"));
      if (batch.length === 1 && batch[0]) settle.push(await performAlone(batch[0]));
      else for (const item of batch) settle.push(await performOne(item));
      if (connection.inTransaction) {
        crashPoint("before-commit");
        faultPoint("commit");
        connection.exec("COMMIT");
        crashPoint("after-commit");
        place.check();
      }
    } catch (error) {
      if (connection.inTransaction) connection.exec("ROLLBACK");
      for (const item of batch) item.reject(error);
      return;
    }
    for (const done of settle) done();
  }

  /** A batch of one needs no savepoint: a failure or a refusal undoes the whole transaction. */
  async function performAlone(item: Waiting): Promise<() => void> {
    const value = await item.work(tx);
    if (undoesWrites(value)) connection.exec("ROLLBACK");
    return () => item.resolve(value);
  }

  async function performOne(item: Waiting): Promise<() => void> {
    connection.exec("SAVEPOINT one");
    try {
      const value = await item.work(tx);
      connection.exec(undoesWrites(value) ? "ROLLBACK TO one; RELEASE one" : "RELEASE one");
      return () => item.resolve(value);
    } catch (error) {
      // On a full disk SQLite rolls the whole transaction back: every write of the batch must then fail.
      if (!connection.inTransaction) throw error;
      connection.exec("ROLLBACK TO one; RELEASE one");
      return () => item.reject(error);
    }
  }

  return {
    write<T>(work: (tx: Query) => Promise<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        if (isClosed) return reject(new ClosedDatabase());
        waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
        draining ??= drain();
      });
    },
    /** Finishes the writes that wait, and refuses those that come later. */
    async close() {
      isClosed = true;
      while (draining) await draining;
    },
  };
}

/** Detects writes of other processes by polling `data_version`, which costs microseconds. */
function watchChanges(connection: Connection) {
  const listeners = new Set<() => void>();
  const statement = connection.prepare("PRAGMA data_version");
  const version = () => Number(statement.all([])[0]?.data_version);
  let seen = version();
  let timer: NodeJS.Timeout | undefined;

  const wake = () => {
    for (const listener of listeners) listener();
  };
  const poll = () => {
    const now = version();
    if (now === seen) return;
    seen = now;
    wake();
  };
  return {
    wake,
    version,
    onChange(listener: () => void) {
      listeners.add(listener);
      timer ??= setInterval(poll, pollMs).unref();
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    stop() {
      clearInterval(timer);
      listeners.clear();
    },
  };
}

/**
 * SQLite re-plans a statement on every run if its LIMIT is a bare parameter, because the plan depends on the
 * value: 42 of the 44 microseconds of a claim. A unary plus prevents that.
 */
const plannedOnce = (sql: string) => sql.replace(/\b(limit) \?/gi, "$1 +?");

/** SQLite answers at once: a transaction of many statements would otherwise block the event loop until its end. */
const inTurns: KyselyPlugin = {
  transformQuery({ node }) {
    turns.begin();
    return node;
  },
  async transformResult({ result }) {
    await turns.next();
    return result;
  },
};

/** Caches statements by text: reusing one is five times faster than preparing it again. */
function kyselyOver(connection: Connection): Query {
  const prepared = new Map<string, Statement>();
  const database = {
    prepare(sql: string) {
      let statement = prepared.get(sql);
      if (!statement) {
        statement = connection.prepare(plannedOnce(sql));
        if (prepared.size > 500) prepared.clear();
        prepared.set(sql, statement);
      }
      return statement;
    },
    close: () => connection.close(),
  };
  const query = new Kysely<Tables>({ dialect: new SqliteDialect({ database }), plugins: [inTurns] });
  directConnections.set(query, {
    rows(sql, parameters) {
      turns.begin();
      const statement = database.prepare(sql);
      if (statement.reader) return statement.all(parameters);
      statement.run(parameters);
      return [];
    },
    changes(sql, each) {
      const statement = database.prepare(sql);
      return each.map((parameters) => statement.run(parameters).changes);
    },
    nextTurn: turns.next,
  });
  return query;
}

async function migrateSqlite(connection: Connection, file: string, open: Open) {
  const migrations = migrationsFor("sqlite");
  const recorded = () => {
    connection.exec("CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)");
    return connection
      .prepare("SELECT name FROM schema_migrations")
      .all([])
      .map(({ name }) => name as string);
  };
  if (pendingMigrations(migrations, await retryWhileBusy(recorded), file).length === 0) return;

  // The lock is in a separate database, so that a migration may manage its own transactions. The kernel
  // releases it when the process dies.
  const lock = open(`${file}-migrate`, busyMs);
  try {
    await retryWhileBusy(() => lock.exec("BEGIN EXCLUSIVE"));
    await migrate(migrations, {
      recorded: async () => recorded(),
      exec: async (sql) => {
        connection.exec(sql);
      },
    });
  } finally {
    lock.close();
  }
}

/** Retries while another process holds the lock for longer than SQLite itself waits. */
async function retryWhileBusy<T>(attempt: () => T): Promise<T> {
  const until = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      await sleep(1 + Math.random() * 9);
    }
  }
}
