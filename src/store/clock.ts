import { type RawBuilder, sql } from "kysely";
import type { Database, Query } from "./database.ts";
import { onEach } from "./prepared.ts";
import { steadyClock } from "./sqlite/steady-clock.ts";

type Engine = Database["engine"];

/**
 * The store's clock in milliseconds; leases never use the time of day of a worker's machine. On PostgreSQL it is the
 * server's, and constant within a statement, so that a comparison with it can use an index.
 */
export const clock: Record<Engine, RawBuilder<number>> = {
  sqlite: sql.raw<number>(steadyClock),
  postgres: sql<number>`CAST(extract(epoch FROM statement_timestamp()) * 1000 AS BIGINT)`,
};

/** The store's clock at the moment a row is read: the statement may have waited long for a lock. */
export const clockByNow: Record<Engine, RawBuilder<number>> = {
  sqlite: clock.sqlite,
  postgres: sql<number>`CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`,
};

/** The store's clock in the form of `Date.toISOString`, for times that processes of several machines compare. */
export const clockText: Record<Engine, RawBuilder<string>> = {
  sqlite: sql.raw<string>(`strftime('%Y-%m-%dT%H:%M:%fZ', ${steadyClock} / 1000.0, 'unixepoch')`),
  postgres: sql<string>`to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
};

const askClock = onEach<object, { now: number }>((engine) => sql`SELECT ${clockByNow[engine]} AS now`);

export async function storeClock(query: Query, engine: Engine): Promise<number> {
  const [row] = await askClock[engine](query, {});
  return Number(row?.now);
}
