import type { Query } from "../database.ts";
import type { TokenRow } from "../tables.ts";

/** Also finds expired and revoked tokens. */
export const findToken = (query: Query, column: "hash" | "id", value: string): Promise<TokenRow | undefined> =>
  query.selectFrom("tokens").selectAll().where(column, "=", value).executeTakeFirst();

/** Newest first. */
export const allTokens = (query: Query): Promise<TokenRow[]> =>
  query.selectFrom("tokens").selectAll().orderBy("created_at", "desc").execute();

export async function insertToken(tx: Query, row: TokenRow): Promise<void> {
  await tx.insertInto("tokens").values(row).execute();
}

/** False when the token does not exist or was revoked before. */
export async function revokeToken(tx: Query, id: string, at: string): Promise<boolean> {
  const row = await tx
    .updateTable("tokens")
    .set({ revoked_at: at })
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .returning("id")
    .executeTakeFirst();
  return row !== undefined;
}

export async function revokeTokensOf(tx: Query, person: string, at: string): Promise<void> {
  await tx
    .updateTable("tokens")
    .set({ revoked_at: at })
    .where("kind", "=", "person")
    .where("name", "=", person)
    .where("revoked_at", "is", null)
    .execute();
}

/** Gives a person's tokens of one rank another; tokens that were made for a different rank keep theirs. */
export async function changeRankOfTokens(
  tx: Query,
  person: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await tx
    .updateTable("tokens")
    .set({ role: to })
    .where("kind", "=", "person")
    .where("name", "=", person)
    .where("role", "=", from)
    .where("revoked_at", "is", null)
    .execute();
}
