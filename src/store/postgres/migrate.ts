import { migrate, migrationsFor, pendingMigrations } from "../migrate.ts";
import { HostClient } from "./client.ts";

const migrationLock = 7_346_001;

type Wanted = ConstructorParameters<typeof HostClient>[0];

/**
 * Runs the pending migrations. The lock belongs to a transaction that stays open meanwhile, on a connection of its own:
 * behind a pooler a lock of the session would stay with a server connection that others get.
 */
export async function migratePostgres(wanted: Wanted): Promise<void> {
  const migrations = migrationsFor("postgres");
  const client = await connected(wanted);
  try {
    if (pendingMigrations(migrations, await recorded(client)).length === 0) return;
    const lock = await connected(wanted);
    try {
      await lock.query(`BEGIN; ${unlimited}; SELECT pg_advisory_xact_lock(${migrationLock})`);
      await migrate(migrations, {
        recorded: async () => recorded(client, "CREATE"),
        exec: async (sql) => {
          await client.query(sql.replace(/^BEGIN;/, `BEGIN; ${unlimited};`));
        },
      });
    } finally {
      await lock.end();
    }
  } finally {
    await client.end();
  }
}

/** A migration of a large table takes as long as it takes. */
const unlimited = "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";

async function connected(wanted: Wanted): Promise<HostClient> {
  const client = new HostClient({ ...wanted, limits: { ...wanted.limits, statementMs: 0 } });
  await client.connect();
  return client;
}

/** The names of the migrations that the database has; none without the table. */
export async function recorded(client: Pick<HostClient, "query">, create?: "CREATE"): Promise<string[]> {
  if (create)
    await client.query(
      "CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)",
    );
  const found = await client.query<{ name: string }>("SELECT name FROM schema_migrations").catch((error) => {
    if (error.code === "42P01") return { rows: [] };
    throw error;
  });
  return found.rows.map(({ name }) => name);
}
