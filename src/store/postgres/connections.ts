import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { statementNames } from "../prepared.ts";
import { type RetryWindow, retryWindow } from "../retry-window.ts";
import type { PostgresAddress } from "./address.ts";
import { HostClient, hostList } from "./client.ts";
import {
  DatabaseUnavailable,
  isLost,
  isMixedStatement,
  isReadOnly,
  isTimeout,
  isWithoutFunction,
  markOfConnection,
  NoAnswer,
} from "./errors.ts";
import type { Limits } from "./limits.ts";
import { openWatchdog, type Watchdog } from "./watchdog.ts";

/** The connection was lost during COMMIT: the answer is missing, not necessarily the commit. */
export class LostCommit extends Error {
  constructor(
    readonly began: Began,
    cause: unknown,
  ) {
    super("the connection was lost during the commit", { cause });
  }
}

/** The id of a transaction, and what tells that another server, or this one after a crash, gives it a second time. */
export type Began = { xid: string; timeline: string | undefined; statisticsFrom: string | undefined };

/** The first statement of a transaction that may take longer than the limits allow. */
export const withoutLimits =
  "SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)";

/** Changes with every failover. Not every managed service lets users read it. */
export const timelineOf = "substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)";

/**
 * Changes with every crash: recovery discards the statistics. Ids of transactions that were not on disk then are given
 * to others, on the same timeline.
 */
export const statisticsFrom = "(SELECT stats_reset::text FROM pg_stat_bgwriter)";

type State = { timeline: boolean; pooler: boolean; named: boolean };

/**
 * A pool for Kysely. Opening a connection is retried, on every host in turn: nothing was sent yet. A connection that
 * was lost, timed out, or is to a host that was demoted is never used again.
 */
export function openConnections(address: PostgresAddress, limits: Limits) {
  const wanted = { address, hosts: hostList(address), limits };
  const state: State = { timeline: true, pooler: false, named: true };
  const outage = openOutage(wanted);
  const watchdog = openWatchdog(limits, () =>
    probe(wanted).catch((error) => {
      outage.begins(error);
      throw error;
    }),
  );
  /** Connections that were opened under a lower number are not used again. */
  let generation = 0;
  const open = new Map<HostClient, number>();

  const Client = class extends HostClient {
    constructor() {
      super(wanted);
      open.set(this, generation);
      this.once("end", () => open.delete(this));
    }
    /** Calls that wait for a connection all fail at once when the first did. */
    protected override async open(): Promise<void> {
      if (outage.isOn()) throw outage.error();
      return super.open();
    }
  };
  const pool = new pg.Pool({ max: limits.connections, Client: Client as unknown as typeof pg.Client });
  // Without a listener, an idle connection that is dropped ends the process. The pool replaces it.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => {
    const host = client as unknown as HostClient;
    state.pooler = !host.isDirect;
    guardQueries(host, { limits, watchdog, state });
  });

  async function connect(): Promise<pg.PoolClient> {
    for (;;) {
      if (outage.isOn()) await outage.end();
      const asked = await pool.connect().then(
        (client) => ({ client }),
        (error: Error) => ({ error }),
      );
      if ("error" in asked) {
        if (!isLost(asked.error)) throw asked.error;
        if (!outage.isOn()) outage.begins(asked.error);
        continue;
      }
      const client = asked.client as unknown as HostClient & pg.PoolClient;
      if (client.broken || (open.get(client) ?? generation) < generation) {
        client.release(true);
        continue;
      }
      releaseOnlyWhole(client, () => generation++);
      return client;
    }
  }

  return {
    connect,
    wanted,
    /** Whether a pooler is between this process and the server, as the newest connection shows. */
    hasPooler: () => state.pooler,
    counts: () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    /** One query on the pool, without retries. */
    async query<R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
      const client = await connect();
      try {
        return (await client.query<R>(text, values)).rows;
      } finally {
        client.release();
      }
    },
    async end(): Promise<void> {
      watchdog.stop();
      const ended = pool.end();
      // A server that is silent does not close its end either.
      const timer = setTimeout(() => {
        for (const client of open.keys()) client.destroy(new Error("connection ended"));
      }, endMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

export type Connections = ReturnType<typeof openConnections>;

const endMs = 2000;

type Wanted = ConstructorParameters<typeof HostClient>[0];

/** Opens a connection of its own and closes it again. */
export async function probe(wanted: Wanted): Promise<void> {
  const client = new HostClient(wanted);
  await client.connect();
  await client.end();
}

/**
 * The time between a connection that failed and the first that works again. Calls share the attempts to reconnect;
 * one that comes late in a long outage gets the answer of the next attempt.
 */
function openOutage(wanted: Wanted) {
  const { limits, hosts } = wanted;
  let since: number | undefined;
  let failures = 0;
  let latest = new Error("the database server is not reachable");
  let attempt: Promise<void> | undefined;
  const told = new Set<RetryWindow>();

  async function tryHosts(): Promise<void> {
    await sleep(backoffMs(failures));
    for (let host = 0; host < hosts.count && since !== undefined; host++) {
      try {
        await probe(wanted);
        since = undefined;
      } catch (error) {
        latest = error as Error;
      }
    }
    failures++;
    attempt = undefined;
  }
  return {
    isOn: () => since !== undefined,
    error: () => latest,
    begins(error: Error) {
      latest = error;
      failures = 0;
      if (since === undefined) told.clear();
      since ??= performance.now();
    },
    /** Resolves when a connection works again; throws once the outage lasts longer than the call waits. */
    async end(): Promise<void> {
      const window = retryWindow();
      for (;;) {
        attempt ??= tryHosts();
        await attempt;
        if (since === undefined) return;
        if (!isLost(latest)) throw latest;
        const lastedMs = performance.now() - since;
        if (lastedMs <= limits.retryMs) continue;
        if (!window || window.signal.aborted || lastedMs > window.ms) throw new DatabaseUnavailable(latest);
        if (!told.has(window)) window.onWait();
        told.add(window);
      }
    },
  };
}

/** Up to two seconds, with jitter: after a restart of the server, its clients must not come back all at once. */
export const backoffMs = (attempt: number): number => Math.min(2000, 50 * 2 ** attempt) * (0.5 + Math.random() / 2);

/** Kysely releases a connection also after its queries failed. */
function releaseOnlyWhole(client: HostClient & pg.PoolClient, onDemoted: () => void): void {
  const release = client.release;
  client.release = (error?: Error | boolean) => {
    if (client.broken && isReadOnly(client.broken)) onDemoted();
    release.call(client, error ?? client.broken);
  };
}

type Guard = { limits: Limits; watchdog: Watchdog; state: State };
type AnyQuery = (...args: unknown[]) => Promise<unknown>;

/**
 * Watches every query, names prepared statements, and reads the id of each transaction with its BEGIN: planning a
 * short query costs more than running it, and a round trip more than both.
 */
function guardQueries(client: HostClient, { limits, watchdog, state }: Guard): void {
  const send = client.query.bind(client) as unknown as AnyQuery;
  let began: Began = { xid: "", timeline: undefined, statisticsFrom: undefined };
  let hasLostCommit = false;
  let limitMs = limits.statementMs;

  async function watched(...args: unknown[]): Promise<unknown> {
    const done = watchdog.watch(client, limitMs);
    try {
      return await send(...args);
    } catch (error) {
      const lost = client.broken instanceof NoAnswer ? client.broken : (error as Error);
      // 25006: a primary that was demoted; its other connections are as useless.
      if (isLost(lost) || isReadOnly(lost)) client.broken ??= lost;
      if (isMixedStatement(error)) state.named = false;
      markOfConnection(lost);
      throw lost;
    } finally {
      done();
    }
  }

  async function begin(): Promise<unknown> {
    limitMs = limits.statementMs;
    const local = client.isDirect ? "" : localSettings(limits);
    const timeline = state.timeline ? timelineOf : "NULL";
    // A connection does not outlive a crash, but one to a pooler does.
    const known = client.isDirect ? began.statisticsFrom : undefined;
    const since = known === undefined ? statisticsFrom : "NULL";
    const text = `BEGIN; ${local} SELECT pg_current_xact_id()::text AS xid, ${timeline} AS timeline, ${since} AS since`;
    const results = await watched(text).catch(async (error) => {
      // Any other error is of the moment, e.g. 25006 of a standby that is about to be promoted. Without the timeline, a
      // commit that a later failover lost could be taken for the one of another transaction with its id.
      if (state.timeline && isWithoutFunction(error)) {
        state.timeline = false;
        await send("ROLLBACK");
        return begin();
      }
      // Kysely does not roll back a transaction that it could not begin.
      client.broken ??= error;
      throw error;
    });
    type Row = { xid: string; timeline: string | null; since: string | null };
    const row = (results as pg.QueryResult<Row>[]).at(-1)?.rows[0];
    began = {
      xid: row?.xid ?? "",
      timeline: row?.timeline ?? undefined,
      statisticsFrom: known ?? row?.since ?? undefined,
    };
    return results;
  }

  client.query = ((...args: unknown[]) => {
    const [text, values, ...rest] = args;
    if (text === "begin") return begin();
    if (text === "commit" || text === "rollback") limitMs = limits.statementMs;
    if (text === "commit")
      return watched("commit").catch((error: unknown) => {
        hasLostCommit = isLost(error);
        throw hasLostCommit ? new LostCommit(began, error) : error;
      });
    // Kysely rolls back after every failure, and would report that this failed as well.
    if (text === "rollback")
      return hasLostCommit || client.broken ? Promise.resolve({ rows: [] }) : watched("rollback");
    if (text === withoutLimits) limitMs = Number.POSITIVE_INFINITY;
    const name = client.isDirect && state.named ? statementNames.get(text as string) : undefined;
    return name ? watched({ name, text, values }, ...rest) : watched(...args);
  }) as typeof client.query;
}

/** For this transaction only: a pooler gives the connection to others after it. */
const localSettings = ({ statementMs }: Limits) =>
  `SET LOCAL statement_timeout = ${statementMs}; SET LOCAL idle_in_transaction_session_timeout = ${statementMs}; SET LOCAL plan_cache_mode = force_generic_plan;`;

export const timedOut = (error: unknown): boolean => isTimeout(error) || error instanceof NoAnswer;
