import type { Database } from "../store/database.ts";
import { deleteChallengesBefore, insertChallenge, takeChallenge } from "../store/queries/sign-in-challenges.ts";
import { hashOf } from "./secrets.ts";

/** What a browser has to answer within some minutes; each is answered at most once, at any server of the workspace. */
export function challengeStore(db: Database, now: () => Date) {
  return {
    async add(secret: string, data: object, minutes: number): Promise<void> {
      const at = now();
      const expires_at = new Date(at.getTime() + minutes * 60_000).toISOString();
      await db.write(async (tx) => {
        await deleteChallengesBefore(tx, at.toISOString());
        await insertChallenge(tx, { hash: hashOf(secret), data: JSON.stringify(data), expires_at });
      });
    },

    /** What was stored with it; undefined if it is unknown, too old or taken. */
    async take(secret: string): Promise<unknown> {
      const row = await db.write((tx) => takeChallenge(tx, hashOf(secret), now().toISOString()));
      return row && JSON.parse(row.data);
    },
  };
}

export type ChallengeStore = ReturnType<typeof challengeStore>;
