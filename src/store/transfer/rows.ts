import { createHash } from "node:crypto";
import type { Query } from "../database.ts";
import { type Row, readRows, type TableShape } from "../queries/transfer.ts";
import { ownKeys } from "./tables.ts";

const rowsAtOnce = 500;
/** Each has half a megabyte. */
const chunksAtOnce = 16;

/** Every carried row of a table, in batches. */
export async function* rowsOf(query: Query, shape: TableShape): AsyncGenerator<Row[]> {
  const most = shape.name === "git_pack_chunks" ? chunksAtOnce : rowsAtOnce;
  const limit = Math.max(1, Math.min(most, Math.floor(30_000 / shape.columns.length)));
  for (let after: unknown[] | undefined; ; ) {
    const rows = await readRows(query, { ...shape, after, limit });
    const last = rows.at(-1);
    if (!last) return;
    after = shape.key.map((column) => last[column]);
    const carried = shape.name === "meta" ? rows.filter(({ key }) => !ownKeys.includes(String(key))) : rows;
    if (carried.length > 0) yield carried;
    if (rows.length < limit) return;
  }
}

/** The number and the hash of a table's rows; equal in both engines, whatever the order. */
export type Digest = { rows: number; hash: string };

export async function digestOf(query: Query, shape: TableShape): Promise<Digest> {
  const digest = openDigest(shape.columns);
  for await (const rows of rowsOf(query, shape)) digest.add(rows);
  return digest.end();
}

const modulus = 1n << 256n;

/** Adds the hashes of the rows up: a sum does not depend on their order, which collations decide. */
export function openDigest(columns: readonly string[]) {
  const names = [...columns].sort();
  let sum = 0n;
  let count = 0;
  return {
    add(rows: Row[]) {
      for (const row of rows) {
        const text = JSON.stringify(names.map((name) => [name, encodeValue(row[name])]));
        sum = (sum + BigInt(`0x${createHash("sha256").update(text).digest("hex")}`)) % modulus;
        count++;
      }
    },
    end: (): Digest => ({ rows: count, hash: sum.toString(16).padStart(64, "0") }),
  };
}

/** A value of a row as JSON; bytes as base64. */
export const encodeValue = (value: unknown): unknown =>
  value instanceof Uint8Array
    ? { bytes: Buffer.from(value).toString("base64") }
    : typeof value === "bigint"
      ? Number(value)
      : (value ?? null);

export const decodeValue = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "bytes" in value ? Buffer.from(String(value.bytes), "base64") : value;

export const isSameDigest = (a: Digest | undefined, b: Digest | undefined) =>
  a !== undefined && b !== undefined && a.rows === b.rows && a.hash === b.hash;
