import { type RawBuilder, sql } from "kysely";
import type { Database, Query } from "./database.ts";
import { onEach } from "./prepared.ts";

type Engine = Database["engine"];

/** Leases go by the clock of the store, never by a worker's. Of one moment for a whole statement, so that an index can be searched by it. */
export const clock: Record<Engine, RawBuilder<number>> = {
  sqlite: sql<number>`CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  postgres: sql<number>`CAST(extract(epoch FROM statement_timestamp()) * 1000 AS BIGINT)`,
};

/** Of the moment at which a row is looked at: a statement may have waited long for its lock. */
export const clockByNow: Record<Engine, RawBuilder<number>> = {
  sqlite: clock.sqlite,
  postgres: sql<number>`CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`,
};

const askClock = onEach<object, { now: number }>((engine) => sql`SELECT ${clockByNow[engine]} AS now`);

export async function storeClock(query: Query, engine: Engine): Promise<number> {
  const [row] = await askClock[engine](query, {});
  return Number(row?.now);
}
