import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { Refused } from "../kernel/result.ts";
import { version } from "../kernel/version.ts";
import type { Database } from "./database.ts";

export type Migration = { name: string; sql: string };

export interface MigrationTarget {
  recorded(): Promise<string[]>;
  exec(sql: string): Promise<void>;
}

/**
 * Numbered SQL, forward only. `0001-name.sql` is for both engines, `0001-name.sqlite.sql` and
 * `0001-name.postgres.sql` for one. Each file runs in a transaction together with its record, unless
 * its first line is `-- migrate:no-tx`: such a file manages its own transactions, is recorded after it
 * ran, and must be idempotent, because a process may be killed before the record.
 */
export function migrationsFor(
  engine: Database["engine"],
  folder = new URL("./migrations/", import.meta.url),
): Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}-[\w-]+(\.sqlite|\.postgres)?\.sql$/.test(file))
    .filter((file) => !/\.(sqlite|postgres)\.sql$/.test(file) || file.endsWith(`.${engine}.sql`))
    .sort()
    .map((file) => ({
      name: file.replace(/(\.sqlite|\.postgres)?\.sql$/, ""),
      sql: readFileSync(new URL(file, folder), "utf8"),
    }));
}

/** The first migration of 0.1.0 development builds, whose 28 files became one schema before the release. */
const developmentBuild = "0001-foundation";

/** The migrations that are not recorded. Throws, before anything is changed, if the database has a schema we do not know. */
export function pendingMigrations(migrations: Migration[], recorded: Iterable<string>, file?: string): Migration[] {
  const done = new Set(recorded);
  if (done.has(developmentBuild)) {
    const database = file ? `the database ${file}` : "the PostgreSQL database";
    const remedy = file
      ? `Move it away with: mkdir ${dirname(file)}/old && mv ${file}* ${dirname(file)}/old/`
      : "Create an empty database and set database: in scriptorium.yaml or SCRIPTORIUM_DATABASE_URL to it";
    refuseDatabase(
      `${database} was created by a development build of Scriptorium 0.1.0 and cannot be opened; nothing was changed. ${remedy}. The next command makes a new database and reads the entries again from the files and from git; tasks, runs, topics and proposals stay in the old one.`,
    );
  }
  const unknown = newerMigration(migrations, done);
  if (unknown)
    refuseDatabase(
      `${file ?? "the PostgreSQL database"} was written by a newer version of Scriptorium (migration ${unknown}); this is ${version}. Install the newer version, as every server and worker of this workspace needs it. Nothing was changed.`,
    );
  return migrations.filter(({ name }) => !done.has(name));
}

/** A migration of the database that this version does not have; a newer one added it. */
export function newerMigration(migrations: Migration[], recorded: Iterable<string>): string | undefined {
  const known = new Set(migrations.map(({ name }) => name));
  return [...recorded].find((name) => !known.has(name));
}

function refuseDatabase(message: string): never {
  throw new Refused({ code: "refused", message });
}

/** Runs pending migrations in order. The caller holds a lock that excludes other processes. */
export async function migrate(migrations: Migration[], target: MigrationTarget): Promise<void> {
  for (const { name, sql } of pendingMigrations(migrations, await target.recorded())) {
    const record = `INSERT INTO schema_migrations (name, applied_at) VALUES ('${name}', '${new Date().toISOString()}');`;
    if (managesTransactions(sql)) {
      await target.exec(sql);
      await target.exec(record);
      continue;
    }
    try {
      await target.exec(`BEGIN;\n${sql}\n;${record}\nCOMMIT;`);
    } catch (error) {
      await target.exec("ROLLBACK;").catch(() => undefined);
      throw new Error(`migration ${name} failed`, { cause: error });
    }
  }
}

const managesTransactions = (sql: string) => sql.trimStart().split("\n", 1)[0]?.trim() === "-- migrate:no-tx";
