import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { CompiledQuery, type DatabaseConnection, Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { ClosedDatabase, type Database, type Query, UnknownOutcome, undoesWrites } from "./database.ts";
import { faultPoint } from "./disk/crash.ts";
import { migrate, migrationsFor } from "./migrate.ts";
import { statementNames } from "./prepared.ts";
import type { Tables } from "./tables.ts";

const channel = "scriptorium";
const migrationLock = 7_346_001;
const connections = 10;
const betweenNotices = 20;

export async function openPostgres(url: string): Promise<Database> {
  const pool = new pg.Pool({ connectionString: url, max: connections, types: numbersAsNumbers });
  // Without listeners, a dropped connection would crash the process, idle or in use. The pool replaces it.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("connect", nameStatements);
  await migratePostgres(pool).catch(async (error) => {
    await pool.end();
    throw error;
  });

  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool, onCreateConnection: planOnce }) });
  const me = randomUUID();
  const watch = watchChanges(url, me);
  const tell = teller(pool, me);
  let isClosed = false;
  return {
    engine: "postgres",
    read: db,
    async write(work, how) {
      if (isClosed) throw new ClosedDatabase();
      for (let attempt = 1; ; attempt++) {
        try {
          const value = how?.oneStatement ? await work(db) : await commitUnlessRefused(db, pool, work);
          watch.wake();
          tell.others();
          return value;
        } catch (error) {
          if (attempt >= 5 || !isRetryable(error)) throw error;
        }
      }
    },
    snapshot: (work) => db.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(work),
    onChange: watch.onChange,
    connections: () => ({
      ...{ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount },
    }),
    stamp: () => undefined,
    trouble: () => undefined,
    async close() {
      isClosed = true;
      await watch.stop();
      await tell.idle();
      await db.destroy();
    },
  };
}

/** Kysely rolls back only when something is thrown, so a refusal is thrown inside and returned outside. */
async function commitUnlessRefused<T>(db: Query, pool: pg.Pool, work: (tx: Query) => Promise<T>): Promise<T> {
  class RolledBack extends Error {
    constructor(readonly refusal: T) {
      super("the work returned a refusal");
    }
  }
  let made: { value: T } | undefined;
  try {
    return await db.transaction().execute(async (tx) => {
      const value = await work(tx);
      if (undoesWrites(value)) throw new RolledBack(value);
      faultPoint("commit");
      made = { value };
      return value;
    });
  } catch (error) {
    if (error instanceof RolledBack) return error.refusal;
    if (!(error instanceof LostCommit)) throw error;
    if (made && (await isCommitted(pool, error))) return made.value;
    throw error.cause;
  }
}

/** The connection was lost during COMMIT: the answer is missing, not necessarily the commit. */
class LostCommit extends Error {
  constructor(
    readonly xid: string,
    cause: unknown,
  ) {
    super("the connection was lost during the commit", { cause });
  }
}

/** Asks on another connection what became of a transaction; the backend may still be committing it. */
async function isCommitted(pool: pg.Pool, { xid, cause }: LostCommit): Promise<boolean> {
  const until = Date.now() + outcomeMs;
  for (let trouble = cause; ; ) {
    const asked = pool.query<{ status: string }>("SELECT pg_xact_status($1::xid8) AS status", [xid]);
    const status = await asked
      .then(({ rows }) => rows[0]?.status)
      .catch((error: unknown) => {
        trouble = error;
        return undefined;
      });
    if (status === "committed" || status === "aborted") return status === "committed";
    if (Date.now() > until) throw new UnknownOutcome(trouble);
    await sleep(50);
  }
}

const outcomeMs = 10_000;

/** Planning a short query costs more than running it, so prepared statements are sent by name. */
function nameStatements(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  let xid = "";
  let isLost = false;
  client.query = ((...args: unknown[]) => {
    const [text, values, ...rest] = args;
    // The id of the transaction comes with its BEGIN, without another round trip.
    if (text === "begin")
      return client.query("BEGIN; SELECT pg_current_xact_id()::text AS xid").then((results: unknown) => {
        xid = (results as pg.QueryResult<{ xid: string }>[])[1]?.rows[0]?.xid ?? "";
        return results;
      });
    if (text === "commit")
      return (query("commit") as Promise<unknown>).catch((error: unknown) => {
        isLost = isConnectionLost(error);
        throw isLost ? new LostCommit(xid, error) : error;
      });
    // Kysely rolls back after a failed commit, and would report that this failed as well.
    if (text === "rollback" && isLost) return Promise.resolve({ rows: [] });
    const name = typeof text === "string" ? statementNames.get(text) : undefined;
    return name ? query({ name, text, values }, ...rest) : query(...args);
  }) as typeof client.query;
}

/** One generic plan serves all values until the table's statistics change. */
const planOnce = async (connection: DatabaseConnection): Promise<void> => {
  await connection.executeQuery(CompiledQuery.raw("SET plan_cache_mode = force_generic_plan"));
};

const isConnectionLost = (error: unknown) => {
  const { code, message } = error as { code?: string; message: string };
  return /^(08\w{3}|57P0[123]|ECONNRESET|EPIPE)$/.test(code ?? "") || /^connection terminated/i.test(message);
};

/** Deadlocks and serialization failures: the transaction was rolled back, and a retry may succeed. */
const isRetryable = (error: unknown) => ["40001", "40P01"].includes((error as { code?: string }).code ?? "");

/**
 * Notifies the other processes after a commit. Commits during a notification and shortly after share the
 * next one, because each NOTIFY is a transaction of its own. If the process dies before it, the others see
 * the change with the next notification or when their timer polls.
 */
function teller(pool: pg.Pool, me: string) {
  let telling: Promise<void> | undefined;
  let more = false;
  async function tell() {
    do {
      more = false;
      await pool.query("SELECT pg_notify($1, $2)", [channel, me]).catch(() => undefined);
      await sleep(betweenNotices);
    } while (more);
    telling = undefined;
  }
  return {
    others() {
      more = true;
      telling ??= tell();
    },
    idle: async () => telling,
  };
}

const numbersAsNumbers = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as "text"),
} as pg.CustomTypesConfig;

async function migratePostgres(pool: pg.Pool) {
  const migrations = migrationsFor("postgres");
  const client = await pool.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [migrationLock]);
    await migrate(migrations, {
      async recorded() {
        await client.query(
          "CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)",
        );
        return (await client.query("SELECT name FROM schema_migrations")).rows.map((row) => row.name);
      },
      async exec(sql) {
        await client.query(sql);
      },
    });
    await client.query("SELECT pg_advisory_unlock($1)", [migrationLock]);
  } finally {
    client.release();
  }
}

/**
 * One connection LISTENs from the first subscriber on; while it is down, a timer wakes the subscribers.
 * Writes of this process wake them at once.
 */
function watchChanges(url: string, me: string) {
  const listeners = new Set<() => void>();
  let client: pg.Client | undefined;
  let again: NodeJS.Timeout | undefined;
  let stopped = false;

  const wake = () => {
    for (const listener of listeners) listener();
  };
  async function listen() {
    const fresh = new pg.Client({ connectionString: url });
    client = fresh;
    fresh.on("notification", ({ payload }) => {
      if (payload !== me) wake();
    });
    fresh.on("error", () => retryLater());
    fresh.on("end", () => retryLater());
    try {
      await fresh.connect();
      await fresh.query(`LISTEN ${channel}`);
      wake();
    } catch {
      retryLater();
    }
  }
  function retryLater() {
    if (stopped || again) return;
    client = undefined;
    again = setTimeout(() => {
      again = undefined;
      wake();
      void listen();
    }, 500).unref();
  }
  return {
    wake,
    onChange(listener: () => void) {
      listeners.add(listener);
      if (!client && !again) void listen();
      return () => listeners.delete(listener);
    },
    async stop() {
      stopped = true;
      clearTimeout(again);
      listeners.clear();
      await client?.end().catch(() => undefined);
    },
  };
}
