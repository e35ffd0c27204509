import type { Query } from "../database.ts";
import type { IdentityRow } from "../tables.ts";

type Key = Pick<IdentityRow, "issuer" | "subject">;

export const findIdentity = (query: Query, { issuer, subject }: Key): Promise<IdentityRow | undefined> =>
  query
    .selectFrom("identities")
    .selectAll()
    .where("issuer", "=", issuer)
    .where("subject", "=", subject)
    .executeTakeFirst();

export const identitiesOf = (query: Query, person: string): Promise<IdentityRow[]> =>
  query.selectFrom("identities").selectAll().where("person", "=", person).execute();

export async function insertIdentity(tx: Query, row: IdentityRow): Promise<void> {
  await tx.insertInto("identities").values(row).execute();
}

export async function updateIdentity(
  tx: Query,
  { issuer, subject }: Key,
  changes: Partial<Pick<IdentityRow, "seen_at" | "left_at">>,
): Promise<void> {
  await tx.updateTable("identities").set(changes).where("issuer", "=", issuer).where("subject", "=", subject).execute();
}
