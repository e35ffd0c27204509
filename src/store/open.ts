import type { Database, DatabaseAddress } from "./database.ts";
import { withIdempotency } from "./idempotency.ts";

/** Loads only the engine that is used. Waits for a PostgreSQL server that is starting, and reports it to `tellProgress`. */
export async function openDatabase(
  address: DatabaseAddress,
  how: { tellProgress?: ((line: string) => void) | undefined } = {},
): Promise<Database> {
  if (address.engine === "sqlite") {
    const { openSqlite } = await import("./sqlite.ts");
    return withIdempotency(await openSqlite(address.file));
  }
  const { openPostgres } = await import("./postgres.ts");
  return withIdempotency(await openPostgres(address, how));
}
