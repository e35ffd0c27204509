import { sql } from "kysely";
import type { Query } from "../database.ts";
import type { IdempotencyRow } from "../tables.ts";

/** The calls that carried an idempotency key; store/idempotency.ts has their rules. */

export const findCall = (query: Query, id: string): Promise<IdempotencyRow | undefined> =>
  query.selectFrom("idempotency").selectAll().where("id", "=", id).executeTakeFirst();

/** False if another call has the key. */
export async function insertCall(tx: Query, row: IdempotencyRow): Promise<boolean> {
  await tx
    .insertInto("idempotency")
    .values(row)
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
  return (await findCall(tx, row.id))?.call === row.call;
}

/** Saves the end of a call, also of one that wrote nothing to the database. */
export async function saveCall(tx: Query, row: IdempotencyRow): Promise<void> {
  const { state, answer } = row;
  await tx
    .insertInto("idempotency")
    .values(row)
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
