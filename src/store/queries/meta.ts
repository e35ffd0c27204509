import type { Query } from "../database.ts";
import { parseJsonOr } from "../json.ts";

/** Single values under a key, as JSON: caches that may be dropped at any time. */
export async function readMeta<T>(query: Query, key: string): Promise<T | undefined> {
  const row = await query.selectFrom("meta").select("value").where("key", "=", key).executeTakeFirst();
  return row && parseJsonOr<T | undefined>(row.value, undefined);
}

export async function writeMeta(tx: Query, key: string, content: unknown): Promise<void> {
  const value = JSON.stringify(content);
  await tx
    .insertInto("meta")
    .values({ key, value })
    .onConflict((conflict) => conflict.column("key").doUpdateSet({ value }))
    .execute();
}
