import type { Query } from "../database.ts";
import type { SessionRow } from "../tables.ts";

/** Also finds expired and revoked sessions. */
export const findSession = (query: Query, hash: string): Promise<SessionRow | undefined> =>
  query.selectFrom("sessions").selectAll().where("hash", "=", hash).executeTakeFirst();

/** Those that were neither revoked nor reached their end, newest first; the caller drops the idle ones. */
export function openSessions(query: Query, at: string, person?: string): Promise<SessionRow[]> {
  const open = query.selectFrom("sessions").selectAll().where("revoked_at", "is", null).where("expires_at", ">", at);
  const whose = person === undefined ? open : open.where("person", "=", person);
  return whose.orderBy("seen_at", "desc").orderBy("id", "desc").execute();
}

export async function insertSession(tx: Query, row: SessionRow): Promise<void> {
  await tx.insertInto("sessions").values(row).execute();
}

export async function markSessionSeen(tx: Query, id: string, at: string): Promise<void> {
  await tx.updateTable("sessions").set({ seen_at: at }).where("id", "=", id).execute();
}

export async function deleteSessionsBefore(tx: Query, at: string): Promise<void> {
  await tx.deleteFrom("sessions").where("expires_at", "<", at).execute();
}

/** One session, those of a person, or those that a token opened. */
export type WhichGrants = { id: string; person?: string } | { person: string; isOwner?: boolean } | { token: string };

/** Revokes sessions; the ids of those that were open. */
export async function revokeSessions(tx: Query, which: WhichGrants, at: string): Promise<string[]> {
  const open = tx.updateTable("sessions").set({ revoked_at: at }).where("revoked_at", "is", null);
  const rows = await open
    .where((row) => row.and(columnsOf(which)))
    .returning("id")
    .execute();
  return rows.map(({ id }) => id);
}

/** The columns and values that select them. */
export function columnsOf(which: WhichGrants) {
  if ("token" in which) return { token_id: which.token };
  const { isOwner, ...given } = { isOwner: undefined, ...which };
  return { ...given, ...(isOwner === undefined ? {} : { is_owner: Number(isOwner) }) };
}
