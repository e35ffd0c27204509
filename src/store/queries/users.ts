import type { Query } from "../database.ts";
import type { UserRow } from "../tables.ts";

/** Also finds removed users. */
export const findUserRow = (query: Query, name: string): Promise<UserRow | undefined> =>
  query.selectFrom("users").selectAll().where("name", "=", name).executeTakeFirst();

export const findUser = (query: Query, name: string): Promise<UserRow | undefined> =>
  query.selectFrom("users").selectAll().where("name", "=", name).where("removed_at", "is", null).executeTakeFirst();

export const allUsers = (query: Query): Promise<UserRow[]> =>
  query.selectFrom("users").selectAll().where("removed_at", "is", null).orderBy("name").execute();

/** Adds a user in place of a removed one with the same name. */
export async function putUser(tx: Query, row: UserRow): Promise<void> {
  await tx.deleteFrom("users").where("name", "=", row.name).execute();
  await tx.insertInto("users").values(row).execute();
}

/** Updates a user who has not been removed; undefined when there is none. */
export const updateUser = (
  tx: Query,
  name: string,
  changes: Partial<Pick<UserRow, "role" | "removed_at">>,
): Promise<UserRow | undefined> =>
  tx
    .updateTable("users")
    .set(changes)
    .where("name", "=", name)
    .where("removed_at", "is", null)
    .returningAll()
    .executeTakeFirst();
