import type { Query } from "../database.ts";
import type { PasskeyRow } from "../tables.ts";
import { columnsOf, type WhichGrants } from "./sessions.ts";

export const findPasskey = (query: Query, credential: string): Promise<PasskeyRow | undefined> =>
  query.selectFrom("passkeys").selectAll().where("credential", "=", credential).executeTakeFirst();

/** Newest first; of one person, or of all. */
export function allPasskeys(query: Query, person?: string): Promise<PasskeyRow[]> {
  const all = query.selectFrom("passkeys").selectAll();
  return (person === undefined ? all : all.where("person", "=", person)).orderBy("created_at", "desc").execute();
}

export async function insertPasskey(tx: Query, row: PasskeyRow): Promise<void> {
  await tx.insertInto("passkeys").values(row).execute();
}

/** False if it was used in the meantime: a counter never goes back. */
export async function countPasskeyUse(
  tx: Query,
  { id, from, to, at }: { id: string; from: number; to: number; at: string },
): Promise<boolean> {
  const row = await tx
    .updateTable("passkeys")
    .set({ counter: to, used_at: at })
    .where("id", "=", id)
    .where("counter", "=", from)
    .returning("id")
    .executeTakeFirst();
  return row !== undefined;
}

/** Deletes passkeys; their ids. */
export async function deletePasskeys(tx: Query, which: WhichGrants): Promise<string[]> {
  const rows = await tx
    .deleteFrom("passkeys")
    .where((row) => row.and(columnsOf(which)))
    .returning("id")
    .execute();
  return rows.map(({ id }) => id);
}
