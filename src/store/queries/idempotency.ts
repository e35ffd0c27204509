import { sql } from "kysely";
import { clockText } from "../clock.ts";
import type { Database, Query } from "../database.ts";
import type { IdempotencyRow } from "../tables.ts";

type Engine = Database["engine"];

/** The calls that carried an idempotency key; store/idempotency.ts has their rules. */

export const findCall = (query: Query, id: string): Promise<IdempotencyRow | undefined> =>
  query.selectFrom("idempotency").selectAll().where("id", "=", id).executeTakeFirst();

/** A row whose time is that of the store's clock when it is inserted. */
export type NewCall = Omit<IdempotencyRow, "at">;

/** False if a call has the key already. Waits for a transaction that is inserting it. */
export async function insertCall(tx: Query, engine: Engine, row: NewCall): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("idempotency")
    .values({ ...row, at: clockText[engine] })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .executeTakeFirst();
  return Number(numInsertedOrUpdatedRows) === 1;
}

/** Saves the end of a call, also of one that wrote nothing to the database. */
export async function saveCall(tx: Query, engine: Engine, row: NewCall): Promise<void> {
  const { state, answer } = row;
  await tx
    .insertInto("idempotency")
    .values({ ...row, at: clockText[engine] })
    .onConflict((conflict) =>
      conflict.column("id").doUpdateSet({ state, answer }).where("idempotency.call", "=", row.call),
    )
    .execute();
}

export async function deleteCall(tx: Query, { id, call }: { id: string; call: string }): Promise<void> {
  await tx.deleteFrom("idempotency").where("id", "=", id).where("call", "=", call).execute();
}

/** Deletes calls from before `since`, and the oldest beyond `most`. */
export async function deleteOldCalls(tx: Query, since: string, most: number): Promise<void> {
  await tx.deleteFrom("idempotency").where("at", "<", since).execute();
  await sql`
    DELETE FROM idempotency WHERE at < (SELECT at FROM idempotency ORDER BY at DESC LIMIT 1 OFFSET ${most})`.execute(
    tx,
  );
}
