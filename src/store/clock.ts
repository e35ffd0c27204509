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

const askClock = onEach<object, { now: number }>((engine) => sql`SELECT ${clockByNow[engine]} AS now`);

export async function storeClock(query: Query, engine: Engine): Promise<number> {
  const [row] = await askClock[engine](query, {});
  return Number(row?.now);
}
