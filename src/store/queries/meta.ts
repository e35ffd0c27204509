import type { Query } from "../database.ts";
import { prepared } from "../prepared.ts";

/** Single values of the whole database, by key. */

export const findMeta = async (query: Query, key: string): Promise<string | undefined> =>
  (await selectMeta(query, { key }))[0]?.value;

export async function setMeta(tx: Query, key: string, value: string): Promise<void> {
  await tx
    .insertInto("meta")
    .values({ key, value })
    .onConflict((conflict) => conflict.column("key").doUpdateSet({ value }))
    .execute();
}

/** False if the value is no longer `from`; undefined is none. */
export async function replaceMeta(tx: Query, key: string, from: string | undefined, to: string): Promise<boolean> {
  if (from === undefined) {
    const fresh = tx.insertInto("meta").values({ key, value: to });
    const { numInsertedOrUpdatedRows } = await fresh
      .onConflict((conflict) => conflict.column("key").doNothing())
      .executeTakeFirst();
    return Number(numInsertedOrUpdatedRows) === 1;
  }
  const update = tx.updateTable("meta").set({ value: to }).where("key", "=", key).where("value", "=", from);
  return Number((await update.executeTakeFirst()).numUpdatedRows) === 1;
}

/** What an interrupted rerun of a run has left to do. */
export const unfinishedRerunKey = (run: string) => `rerun:${run}`;

/** The last move of a run's accepted branch. */
export const acceptedMoveKey = (run: string) => `accepted:${run}`;

export const deleteMeta = (tx: Query, key: string) => tx.deleteFrom("meta").where("key", "=", key).execute();

/** Keeps the value that is there, if any. */
export async function addMeta(tx: Query, key: string, value: string): Promise<void> {
  await tx
    .insertInto("meta")
    .values({ key, value })
    .onConflict((conflict) => conflict.column("key").doNothing())
    .execute();
}

const selectMeta = prepared<{ key: string }, { value: string }>((query, slot) =>
  query.selectFrom("meta").select("value").where("key", "=", slot("key")),
);
