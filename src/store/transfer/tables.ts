import type { Database, Query } from "../database.ts";
import { type TableShape, tableShapes } from "../queries/transfer.ts";
import { clockKeys } from "../sqlite/steady-clock.ts";

/**
 * Tables that are not carried to another database: triggers and the search index fill them there. Every other table
 * is carried, so that a new one is covered without being listed.
 */
export const derivedTables = [
  "schema_migrations",
  // Transactions of one PostgreSQL server.
  "event_gaps",
  "entry_links",
  "entry_writers",
  "node_props",
  "search_queue",
  "things",
  "passages",
  "passage_text",
  "passage_links",
  "passage_words",
  "removed_passages",
  "vocabulary",
  "trust_queue",
] as const;

/** Rows of `meta` that belong to one database. */
export const ownKeys: readonly string[] = [
  ...["book", "home", "moving", "restoring", "search-sections", "search-vocabulary"],
  ...clockKeys,
];

const derived = new Set<string>(derivedTables);

/** The carried tables, each after those that its foreign keys name. */
export async function carriedTables(query: Query, engine: Database["engine"]): Promise<TableShape[]> {
  const shapes = (await tableShapes(query, engine)).filter(({ name }) => !derived.has(name));
  const ordered: TableShape[] = [];
  const placed = new Set<string>();
  for (const next of Array.from({ length: shapes.length }, () => shapes)) {
    for (const shape of next) {
      const isReady = shape.references.every((name) => name === shape.name || placed.has(name));
      if (placed.has(shape.name) || !isReady) continue;
      placed.add(shape.name);
      ordered.push(shape);
    }
  }
  const stuck = shapes.filter(({ name }) => !placed.has(name)).map(({ name }) => name);
  if (stuck.length > 0) throw new Error(`the foreign keys of ${stuck.join(", ")} form a cycle`);
  return ordered;
}

/** The columns that both databases have: PostgreSQL adds some that only it needs. */
export function commonTables(ours: TableShape[], theirs: TableShape[]): TableShape[] {
  const known = new Map(theirs.map((shape) => [shape.name, shape]));
  return ours.flatMap((shape) => {
    const other = known.get(shape.name);
    return other ? [{ ...shape, columns: shape.columns.filter((column) => other.columns.includes(column)) }] : [];
  });
}
