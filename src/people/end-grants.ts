import type { Query } from "../store/database.ts";
import { deletePasskeys } from "../store/queries/passkeys.ts";
import { revokeSessions, type WhichGrants } from "../store/queries/sessions.ts";

/** Ends sessions and passkeys with the token or the person that they stand for. */
export async function endGrants(tx: Query, which: WhichGrants, at: string): Promise<void> {
  await revokeSessions(tx, which, at);
  await deletePasskeys(tx, which);
}
