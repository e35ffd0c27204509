import { readdirSync, readFileSync } from "node:fs";
import type { Database } from "./database.ts";

export type Migration = { name: string; sql: string };

export interface MigrationTarget {
  recorded(): Promise<string[]>;
  exec(sql: string): Promise<void>;
}

/**
 * Numbered SQL, forward only. `0001-name.sql` is for both engines, `0001-name.sqlite.sql` and
 * `0001-name.postgres.sql` for one. Each runs in a transaction together with its record, unless
 * its first line is `-- migrate:no-tx`: such a file manages its own, is recorded after it, and
 * must stand being run again when it was killed half-way.
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

/** Runs what is missing. The caller holds a lock that keeps other processes out. */
export async function migrate(migrations: Migration[], target: MigrationTarget): Promise<void> {
  const done = new Set(await target.recorded());
  for (const { name, sql } of migrations) {
    if (done.has(name)) continue;
    const record = `INSERT INTO schema_migrations (name, applied_at) VALUES ('${name}', '${new Date().toISOString()}');`;
    if (managesItself(sql)) {
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

const managesItself = (sql: string) => sql.trimStart().split("\n", 1)[0]?.trim() === "-- migrate:no-tx";
