import type { Database } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import { deleteCodesBefore, findCode, insertCode, takeCode } from "../store/queries/sign-in-codes.ts";
import type { SignInCodeRow } from "../store/tables.ts";
import type { Grant } from "./grants.ts";
import { hashOf, newSecret } from "./secrets.ts";

export type NewCode = { person: string; isOwner: boolean; minutes: number; by: string };

/** One-time codes in sign-in links. Only hashes are stored, and a code is deleted when it is used. */
export function codeStore(db: Database, now: () => Date) {
  return {
    async create({ person, isOwner, minutes, by }: NewCode): Promise<{ code: string; expires_at: string }> {
      const code = newSecret();
      const at = now().toISOString();
      const expires_at = new Date(now().getTime() + minutes * 60_000).toISOString();
      await db.write(async (tx) => {
        await deleteCodesBefore(tx, at);
        await insertCode(tx, { hash: hashOf(code), person, is_owner: Number(isOwner), expires_at });
        const event = { at, actor: by, subject: `user:${person}`, data: { expires_at } };
        await appendEvent(tx, { ...event, kind: "session-link-created" });
      });
      return { code, expires_at };
    },

    /** Whom the code signs in; it stays valid. */
    async find(code: string): Promise<Grant | undefined> {
      const row = await findCode(db.read, hashOf(code), now().toISOString());
      return row && grantOf(row);
    },

    /** Uses the code up. */
    async take(code: string): Promise<Grant | undefined> {
      const row = await db.write((tx) => takeCode(tx, hashOf(code), now().toISOString()));
      return row && grantOf(row);
    },
  };
}

export type CodeStore = ReturnType<typeof codeStore>;

const grantOf = ({ person, is_owner }: SignInCodeRow): Grant => ({ person, isOwner: is_owner === 1, tokenId: null });
