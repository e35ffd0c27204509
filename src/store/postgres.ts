import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, PostgresDialect, sql } from "kysely";
import {
  ClosedDatabase,
  type Database,
  type DatabaseAddress,
  type Health,
  type Query,
  UnknownOutcome,
  undoesWrites,
} from "./database.ts";
import { faultPoint } from "./disk/crash.ts";
import { migrationsFor, newerMigration } from "./migrate.ts";
import { parsePostgres } from "./postgres/address.ts";
import { hostList } from "./postgres/client.ts";
import {
  type Began,
  type Connections,
  LostCommit,
  openConnections,
  statisticsFrom,
  timedOut,
  timelineOf,
  withoutLimits,
} from "./postgres/connections.ts";
import {
  DatabaseUnavailable,
  isConflict,
  isFutureTransaction,
  isMixedStatement,
  isReadOnly,
  lostConnection,
} from "./postgres/errors.ts";
import { defaultLimits } from "./postgres/limits.ts";
import { teller, watchChanges } from "./postgres/listen.ts";
import { migratePostgres, recorded } from "./postgres/migrate.ts";
import { ReadDialect } from "./postgres/read-dialect.ts";
import { waitForServer } from "./postgres/wait.ts";
import { retryWindow } from "./retry-window.ts";
import type { Tables } from "./tables.ts";

type Address = Extract<DatabaseAddress, { engine: "postgres" }>;
type Options = { tellProgress?: ((line: string) => void) | undefined };

export async function openPostgres(
  { url, listenUrl = url, limits: given }: Omit<Address, "engine">,
  { tellProgress }: Options = {},
): Promise<Database> {
  const address = parsePostgres(url);
  const listenAddress = parsePostgres(listenUrl);
  const limits = { ...defaultLimits, ...given };
  const wanted = { address, hosts: hostList(address), limits };
  await waitForServer(() => migratePostgres(wanted), { url, limits, tellProgress });
  const connections = openConnections(address, limits);

  // Kysely ends a pool only after a query of its own, so `close` ends the one that both share.
  const pool = { connect: connections.connect, end: async () => undefined };
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const read = new Kysely<Tables>({ dialect: new ReadDialect({ pool }, again) });
  const me = randomUUID();
  const watch = watchChanges(listenAddress, limits, me);
  const tell = teller(connections, me);
  let isClosed = false;
  return {
    engine: "postgres",
    read,
    async write(work, how) {
      if (isClosed) throw new ClosedDatabase();
      const value = await (how?.oneStatement
        ? alone(() => work(db))
        : again(() => inTransaction(db, connections, work, how)));
      watch.wake();
      tell.others();
      return value;
    },
    snapshot: (work) =>
      again(() =>
        db
          .transaction()
          .setIsolationLevel("repeatable read")
          .setAccessMode("read only")
          .execute(async (tx) => {
            await sql.raw(withoutLimits).execute(tx);
            return work(tx);
          }),
      ),
    onChange: watch.onChange,
    connections: connections.counts,
    stamp: () => undefined,
    trouble: () => undefined,
    health: () => healthOf(connections),
    async close() {
      isClosed = true;
      await watch.stop();
      await tell.idle();
      await read.destroy();
      await db.destroy();
      await connections.end();
    },
  };
}

const mostAttempts = 5;

/** Repeats work that was certainly undone: its connection was lost before the commit, or it met another transaction. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (timedOut(error)) throw new DatabaseUnavailable(error, "timeout");
      const isUndone = isConflict(error) || lostConnection(error) || isReadOnly(error) || isMixedStatement(error);
      if (!isUndone) throw error;
      if (attempt < mostAttempts) continue;
      throw lostConnection(error) || isReadOnly(error) ? new DatabaseUnavailable(error) : error;
    }
  }
}

/** A statement without a transaction of its own: if the answer is missing, nothing says whether it was committed. */
async function alone<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (lostConnection(error)) throw new UnknownOutcome(error);
      if (timedOut(error)) throw new DatabaseUnavailable(error, "timeout");
      if (!(isConflict(error) || isReadOnly(error) || isMixedStatement(error)) || attempt >= mostAttempts) throw error;
    }
  }
}

/** Kysely rolls back only when something is thrown, so a refusal is thrown inside and returned outside. */
async function inTransaction<T>(
  db: Query,
  connections: Connections,
  work: (tx: Query) => Promise<T>,
  how: { isLong?: boolean } | undefined,
): Promise<T> {
  class RolledBack extends Error {
    constructor(readonly refusal: T) {
      super("the work returned a refusal");
    }
  }
  let made: { value: T } | undefined;
  try {
    return await db.transaction().execute(async (tx) => {
      if (how?.isLong) await sql.raw(withoutLimits).execute(tx);
      const value = await work(tx);
      if (undoesWrites(value)) throw new RolledBack(value);
      faultPoint("commit");
      made = { value };
      return value;
    });
  } catch (error) {
    if (error instanceof RolledBack) return error.refusal;
    if (!(error instanceof LostCommit)) throw error;
    if (made && (await isCommitted(connections, error))) return made.value;
    throw error.cause;
  }
}

/** Asks on another connection what became of a transaction; the backend may still be committing it. */
async function isCommitted({ query }: Connections, { began, cause }: LostCommit): Promise<boolean> {
  const since = performance.now();
  const window = retryWindow();
  const hasTime = () => performance.now() - since <= (window?.signal.aborted === false ? window.ms : outcomeMs);
  for (let trouble = cause; ; ) {
    const found = await outcomeOf(query, began).catch((error: unknown) => {
      trouble = error;
      return undefined;
    });
    if (found?.status === "aborted" || found?.status === "lost") return false;
    // After a failover that lost commits, and after a crash that lost ids, others get those ids.
    const isOurs =
      found?.timeline === (began.timeline ?? null) && found.statisticsFrom === (began.statisticsFrom ?? null);
    if (found?.status === "committed" && isOurs) return true;
    if (found?.status === "committed" || !hasTime()) throw new UnknownOutcome(trouble);
    await sleep(50);
  }
}

type Outcome = { status: string | null; timeline: string | null; statisticsFrom: string | null };

/** The status is null on a standby, which may be behind. */
async function outcomeOf(query: Connections["query"], { xid, timeline }: Began): Promise<Outcome | undefined> {
  const asked = `
    SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_xact_status($1::xid8) END AS status,
      ${timeline === undefined ? "NULL" : timelineOf} AS timeline, ${statisticsFrom} AS "statisticsFrom"`;
  try {
    return (await query<Outcome>(asked, [xid]))[0];
  } catch (error) {
    if (!isFutureTransaction(error)) throw error;
    return { status: "lost", timeline: null, statisticsFrom: null };
  }
}

const outcomeMs = 10_000;

/** Asks the server, so that a server that is gone is noticed before a call needs it. */
async function healthOf({ query, hasPooler }: Connections): Promise<Health> {
  const names = await recorded({ query: async (text: string) => ({ rows: await query(text) }) } as never);
  return { newer: newerMigration(migrationsFor("postgres"), names), pooler: hasPooler() };
}
