import type { Query } from "../database.ts";
import type { SignInCodeRow } from "../tables.ts";

export const findCode = (query: Query, hash: string, at: string): Promise<SignInCodeRow | undefined> =>
  query
    .selectFrom("sign_in_codes")
    .selectAll()
    .where("hash", "=", hash)
    .where("expires_at", ">", at)
    .executeTakeFirst();

export async function insertCode(tx: Query, row: SignInCodeRow): Promise<void> {
  await tx.insertInto("sign_in_codes").values(row).execute();
}

/** Deletes the code and returns it: of two who use it at once, one gets it. */
export const takeCode = (tx: Query, hash: string, at: string): Promise<SignInCodeRow | undefined> =>
  tx
    .deleteFrom("sign_in_codes")
    .where("hash", "=", hash)
    .where("expires_at", ">", at)
    .returningAll()
    .executeTakeFirst();

export async function deleteCodesBefore(tx: Query, at: string): Promise<void> {
  await tx.deleteFrom("sign_in_codes").where("expires_at", "<=", at).execute();
}

export async function deleteCodesOf(tx: Query, person: string): Promise<void> {
  await tx.deleteFrom("sign_in_codes").where("person", "=", person).where("is_owner", "=", 0).execute();
}
