import type { Database, Query } from "../database.ts";
import { crashPoint } from "../disk/crash.ts";
import { continueNumbering, deleteRows, insertRows, isEmptyTable, type TableShape } from "../queries/transfer.ts";
import { type Digest, digestOf, isSameDigest, rowsOf } from "./rows.ts";
import { carriedTables, commonTables, ownKeys } from "./tables.ts";

/** One table as it is copied. */
export type CopyProgress = { table: string; rows: number; state: "copied" | "already there" };

type From = { query: Query; engine: Database["engine"] };

/**
 * Copies every carried table into `to` and proves each by its hash in both databases. A table that `to` has already,
 * because an earlier copy was interrupted after it, is left as it is; one that differs is copied again.
 */
export async function copyTables(
  from: From,
  to: Database,
  report: (progress: CopyProgress) => void,
): Promise<Record<string, Digest>> {
  const shapes = await sharedTables(from, to);
  const wanted = new Map<string, Digest>();
  for (const shape of shapes) wanted.set(shape.name, await digestOf(from.query, shape));
  await clearOthers(to, shapes, wanted);
  for (const shape of shapes) {
    const expected = wanted.get(shape.name) as Digest;
    const isThere = isSameDigest(await digestOf(to.read, shape), expected);
    if (!isThere) await copyTable(from, to, shape);
    crashPoint("moved-table");
    const found = await digestOf(to.read, shape);
    if (!isSameDigest(found, expected))
      throw new Error(`table ${shape.name} has ${found.rows} of ${expected.rows} rows, or other ones, after the copy`);
    report({ table: shape.name, rows: expected.rows, state: isThere ? "already there" : "copied" });
  }
  return Object.fromEntries(wanted);
}

/**
 * Empties the tables that an interrupted copy left incomplete, and returns the names of those that are complete. A
 * table is copied after those that it refers to, so that the complete ones have all that they refer to.
 */
export async function clearOthers(
  to: Database,
  shapes: TableShape[],
  wanted: ReadonlyMap<string, Digest>,
): Promise<Set<string>> {
  const complete = new Set<string>();
  for (const shape of [...shapes].reverse()) {
    if (isSameDigest(await digestOf(to.read, shape), wanted.get(shape.name))) complete.add(shape.name);
    else if (!(await isEmptyTable(to.read, shape.name))) await to.write((tx) => deleteRows(tx, shape.name, ownKeys));
  }
  return complete;
}

/** Whether anybody has written to a database. */
export async function holdsRows({ read, engine }: Database): Promise<boolean> {
  for (const { name } of await carriedTables(read, engine))
    if (name !== "meta" && !(await isEmptyTable(read, name))) return true;
  return false;
}

/** The tables of both databases; throws when one of them lacks a carried table. */
export async function sharedTables(from: From, to: Pick<Database, "read" | "engine">): Promise<TableShape[]> {
  const [ours, theirs] = [await carriedTables(from.query, from.engine), await carriedTables(to.read, to.engine)];
  const missing = ours.filter(({ name }) => !theirs.some((shape) => shape.name === name));
  if (missing.length > 0)
    throw new Error(`the other database has no table ${missing.map(({ name }) => name).join(", ")}`);
  return commonTables(ours, theirs);
}

async function copyTable(from: From, to: Database, shape: TableShape): Promise<void> {
  for await (const rows of rowsOf(from.query, shape))
    await to.write((tx) => insertRows(tx, to.engine, shape.name, shape.columns, rows));
  await to.write((tx) => continueNumbering(tx, to.engine, shape.name, shape.key));
}
