import type { Rank } from "../kernel/caller.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database, Query } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import { noSuch } from "../store/no-such.ts";
import { deleteCodesOf } from "../store/queries/sign-in-codes.ts";
import { changeRankOfTokens, revokeTokensOf } from "../store/queries/tokens.ts";
import { allUsers, findUser, findUserRow, putUser, updateUser } from "../store/queries/users.ts";
import type { UserRow } from "../store/tables.ts";
import { endGrants } from "./end-grants.ts";

export type User = UserRow;

type NewUser = { name: string; email: string | undefined; role: Rank };

/** People who may sign in. A removed user stays in the table, for the record, and may be added again. */
export function userStore(db: Database, now: () => Date) {
  return {
    async add(user: NewUser, by: string): Promise<Result<User>> {
      const at = now().toISOString();
      return db.write((tx) => addUserIn(tx, user, { by, at }));
    },

    /** Changes the rank of a user and of their tokens, except tokens that were made for another rank. */
    async change(name: string, role: Rank, by: string): Promise<Result<User>> {
      const at = now().toISOString();
      return db.write(async (tx): Promise<Result<User>> => {
        const row = await changeUserIn(tx, name, role, { by, at });
        return row ? ok(row) : noSuch(tx, "user", name);
      });
    },

    /** Revokes their tokens, sessions, sign-in links and passkeys. */
    async remove(name: string, by: string): Promise<Result<User>> {
      const at = now().toISOString();
      return db.write(async (tx): Promise<Result<User>> => {
        const row = await removeUserIn(tx, name, { by, at });
        return row ? ok(row) : noSuch(tx, "user", name);
      });
    },

    list: (): Promise<User[]> => allUsers(db.read),
    find: (name: string): Promise<User | undefined> => findUser(db.read, name),
  };
}

export type UserStore = ReturnType<typeof userStore>;

type Change = { by: string; at: string };

export async function addUserIn(tx: Query, { name, email, role }: NewUser, { by, at }: Change): Promise<Result<User>> {
  const row: UserRow = { name, email: email ?? null, role, created_at: at, removed_at: null };
  const there = await findUserRow(tx, name);
  if (there && !there.removed_at) return refuse("conflict", `user ${name} already exists (${there.role})`);
  await putUser(tx, row);
  const event = { at, actor: by, subject: `user:${name}` };
  await appendEvent(tx, { ...event, kind: "user-added", data: { rank: role, email: row.email } });
  return ok(row);
}

/** Undefined when there is no such user. */
export async function changeUserIn(tx: Query, name: string, role: Rank, { by, at }: Change): Promise<User | undefined> {
  const before = await findUser(tx, name);
  const row = await updateUser(tx, name, { role });
  if (!row || !before) return undefined;
  await changeRankOfTokens(tx, name, { from: before.role, to: role });
  await appendEvent(tx, { at, actor: by, subject: `user:${name}`, kind: "user-changed", data: { rank: role } });
  return row;
}

/** Undefined when there is no such user. */
export async function removeUserIn(tx: Query, name: string, { by, at }: Change): Promise<User | undefined> {
  const row = await updateUser(tx, name, { removed_at: at });
  if (!row) return undefined;
  await revokeTokensOf(tx, name, at);
  await deleteCodesOf(tx, name);
  await endGrants(tx, { person: name, isOwner: false }, at);
  await appendEvent(tx, { at, actor: by, kind: "user-removed", subject: `user:${name}`, data: {} });
  return row;
}
