import type { Query } from "../database.ts";

type ChallengeRow = { hash: string; data: string; expires_at: string };

export async function insertChallenge(tx: Query, row: ChallengeRow): Promise<void> {
  await tx.insertInto("sign_in_challenges").values(row).execute();
}

/** Deletes the challenge and returns it: of two who answer it at once, one gets it. */
export const takeChallenge = (tx: Query, hash: string, at: string): Promise<ChallengeRow | undefined> =>
  tx
    .deleteFrom("sign_in_challenges")
    .where("hash", "=", hash)
    .where("expires_at", ">", at)
    .returningAll()
    .executeTakeFirst();

export async function deleteChallengesBefore(tx: Query, at: string): Promise<void> {
  await tx.deleteFrom("sign_in_challenges").where("expires_at", "<=", at).execute();
}
