import { ok, type Result } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import { parseJsonOr } from "../store/json.ts";
import { noSuch } from "../store/no-such.ts";
import { allPasskeys, countPasskeyUse, deletePasskeys, findPasskey, insertPasskey } from "../store/queries/passkeys.ts";
import type { PasskeyRow } from "../store/tables.ts";
import { columnsOfGrant, type Grant, grantOf } from "./grants.ts";

export type Passkey = Pick<PasskeyRow, "id" | "person" | "name" | "created_at" | "used_at">;

/** The part of a passkey that checks its signatures. */
export type Credential = { id: string; publicKey: string; counter: number; transports: string[] };

/** Passkeys stand for a person as sessions do, and end with their user or token. */
export function passkeyStore(db: Database, now: () => Date, newId: (prefix: string) => string) {
  return {
    async add(grant: Grant, credential: Credential, name: string): Promise<Passkey> {
      const row: PasskeyRow = {
        id: newId("pk"),
        credential: credential.id,
        public_key: credential.publicKey,
        counter: credential.counter,
        transports: JSON.stringify(credential.transports),
        ...columnsOfGrant(grant),
        name,
        created_at: now().toISOString(),
        used_at: null,
      };
      await db.write(async (tx) => {
        await insertPasskey(tx, row);
        const event = { at: row.created_at, actor: grant.person, subject: `passkey:${row.id}` };
        await appendEvent(tx, { ...event, kind: "passkey-added", data: { person: grant.person, name } });
      });
      return shown(row);
    },

    async find(credential: string): Promise<{ id: string; grant: Grant; credential: Credential } | undefined> {
      const row = await findPasskey(db.read, credential);
      return row && { id: row.id, grant: grantOf(row), credential: credentialOf(row) };
    },

    /** False if another use was counted in the meantime. */
    async countUse(id: string, from: number, to: number): Promise<boolean> {
      const at = now().toISOString();
      return db.write((tx) => countPasskeyUse(tx, { id, from, to, at }));
    },

    /** Of one person, or of all. */
    async list(person?: string): Promise<Passkey[]> {
      return (await allPasskeys(db.read, person)).map(shown);
    },

    /** What a browser needs so that it does not create a second passkey on the same authenticator. */
    async credentialsOf(person: string): Promise<Credential[]> {
      return (await allPasskeys(db.read, person)).map(credentialOf);
    },

    /** Removes one; with `person` only if it is theirs. */
    async remove(id: string, by: string, person?: string): Promise<Result<{ id: string }>> {
      const at = now().toISOString();
      const removed = await db.write(async (tx) => {
        const ids = await deletePasskeys(tx, { id, ...(person === undefined ? {} : { person }) });
        if (ids.length > 0)
          await appendEvent(tx, { at, actor: by, kind: "passkey-removed", subject: `passkey:${id}`, data: {} });
        return ids.length > 0;
      });
      return removed ? ok({ id }) : noSuch(db.read, "passkey", id);
    },
  };
}

export type PasskeyStore = ReturnType<typeof passkeyStore>;

const credentialOf = (row: PasskeyRow): Credential => ({
  id: row.credential,
  publicKey: row.public_key,
  counter: row.counter,
  transports: parseJsonOr<string[]>(row.transports, []),
});

const shown = ({ id, person, name, created_at, used_at }: PasskeyRow): Passkey => ({
  id,
  person,
  name,
  created_at,
  used_at,
});
