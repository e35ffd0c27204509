import { sql } from "kysely";
import type { Database, Query } from "../database.ts";

/** Whole tables, read and written by name: the schema of the database says which there are. */

type Engine = Database["engine"];
export type Row = Record<string, unknown>;

/** A table with its columns, the columns of its primary key, and the tables that its foreign keys name. */
export type TableShape = { name: string; columns: string[]; key: string[]; references: string[] };

export const tableShapes = (query: Query, engine: Engine): Promise<TableShape[]> =>
  engine === "sqlite" ? sqliteShapes(query) : postgresShapes(query);

async function sqliteShapes(query: Query): Promise<TableShape[]> {
  const tables = await sql<{ name: string }>`
    SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
    ORDER BY name`.execute(query);
  return Promise.all(
    tables.rows.map(async ({ name }) => {
      const [columns, references] = await Promise.all([
        sql<{ name: string; pk: number }>`SELECT name, pk FROM pragma_table_info(${name})`.execute(query),
        sql<{ table: string }>`SELECT DISTINCT "table" FROM pragma_foreign_key_list(${name})`.execute(query),
      ]);
      const key = columns.rows.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
      return {
        name,
        columns: columns.rows.map((column) => column.name),
        key: key.map((column) => column.name),
        references: references.rows.map(({ table }) => table),
      };
    }),
  );
}

async function postgresShapes(query: Query): Promise<TableShape[]> {
  const { rows } = await sql<TableShape>`
    SELECT c.relname AS name,
      (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
      COALESCE((SELECT array_agg(a.attname::text ORDER BY array_position(i.indkey::int2[], a.attnum))
        FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
        WHERE i.indrelid = c.oid AND i.indisprimary), '{}') AS key,
      COALESCE((SELECT array_agg(DISTINCT f.confrelid::regclass::text) FROM pg_constraint f
        WHERE f.conrelid = c.oid AND f.contype = 'f'), '{}') AS references
    FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname`.execute(
    query,
  );
  return rows;
}

type Slice = Pick<TableShape, "name" | "columns" | "key"> & { after: unknown[] | undefined; limit: number };

/** The next rows in the order of the primary key. */
export async function readRows(query: Query, { name, columns, key, after, limit }: Slice): Promise<Row[]> {
  const keys = sql.join(key.map((column) => sql.ref(column)));
  const from = after ? sql`WHERE (${keys}) > (${sql.join(after)})` : sql``;
  const { rows } = await sql<Row>`
    SELECT ${sql.join(columns.map((column) => sql.ref(column)))} FROM ${sql.table(name)} ${from}
    ORDER BY ${keys} LIMIT ${sql.lit(limit)}`.execute(query);
  return rows;
}

/** Inserts rows with the numbers that they have. */
export async function insertRows(
  tx: Query,
  engine: Engine,
  name: string,
  columns: string[],
  rows: Row[],
): Promise<void> {
  const overriding = engine === "postgres" ? sql`OVERRIDING SYSTEM VALUE` : sql``;
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column] ?? null))})`);
  await sql`
    INSERT INTO ${sql.table(name)} (${sql.join(columns.map((column) => sql.ref(column)))}) ${overriding}
    VALUES ${sql.join(values)}`.execute(tx);
}

/** Deletes the rows of a table; of `meta` all but those with the given keys. */
export async function deleteRows(tx: Query, name: string, keptKeys: readonly string[]): Promise<void> {
  if (name === "meta") await tx.deleteFrom("meta").where("key", "not in", keptKeys).execute();
  else await sql`DELETE FROM ${sql.table(name)}`.execute(tx);
}

export async function isEmptyTable(query: Query, name: string): Promise<boolean> {
  return (await sql`SELECT 1 FROM ${sql.table(name)} LIMIT 1`.execute(query)).rows.length === 0;
}

/** Continues the numbering after rows that were inserted with theirs; SQLite does so by itself. */
export async function continueNumbering(tx: Query, engine: Engine, name: string, columns: string[]): Promise<void> {
  if (engine === "sqlite") return;
  for (const column of columns) {
    const { rows } = await sql<{ sequence: string | null }>`
      SELECT pg_get_serial_sequence(${name}, ${column}) AS sequence`.execute(tx);
    const sequence = rows[0]?.sequence;
    if (!sequence) continue;
    await sql`
      SELECT setval(${sequence}::regclass, max(${sql.ref(column)})) FROM ${sql.table(name)}
      HAVING max(${sql.ref(column)}) IS NOT NULL`.execute(tx);
  }
}

/** Keeps every other process from writing until the transaction ends. */
export async function lockTables(tx: Query, engine: Engine, names: string[]): Promise<void> {
  // A transaction of SQLite's writer has that lock.
  if (engine === "postgres")
    await sql`LOCK TABLE ${sql.join(names.map((name) => sql.table(name)))} IN SHARE ROW EXCLUSIVE MODE`.execute(tx);
}
