import type { Rank } from "../kernel/caller.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import type { UserRow } from "../store/tables.ts";

export type User = UserRow;

type NewUser = { name: string; email: string | undefined; role: Rank };

/** People who may sign in. Someone who was removed keeps their name in the record and may be added again. */
export function userStore(db: Database, now: () => Date) {
  return {
    async add({ name, email, role }: NewUser, by: string): Promise<Result<User>> {
      const row: UserRow = { name, email: email ?? null, role, created_at: now().toISOString(), removed_at: null };
      return db.write(async (tx): Promise<Result<User>> => {
        const there = await tx.selectFrom("users").selectAll().where("name", "=", name).executeTakeFirst();
        if (there && !there.removed_at) return refuse("conflict", `there is a user ${name} already, ${there.role}`);
        await tx.deleteFrom("users").where("name", "=", name).execute();
        await tx.insertInto("users").values(row).execute();
        const event = { at: row.created_at, actor: by, subject: `user:${name}` };
        await appendEvent(tx, { ...event, kind: "user-added", data: { rank: role, email: row.email } });
        return ok(row);
      });
    },

    /** Changes what someone may do; their tokens follow at once, but for those that allow something else. */
    async change(name: string, role: Rank, by: string): Promise<Result<User>> {
      return db.write(async (tx): Promise<Result<User>> => {
        const before = await tx.selectFrom("users").select("role").where("name", "=", name).executeTakeFirst();
        const row = await tx
          .updateTable("users")
          .set({ role })
          .where("name", "=", name)
          .where("removed_at", "is", null)
          .returningAll()
          .executeTakeFirst();
        if (!row || !before) return noUser(name);
        await tx
          .updateTable("tokens")
          .set({ role })
          .where("kind", "=", "person")
          .where("name", "=", name)
          .where("role", "=", before.role)
          .where("revoked_at", "is", null)
          .execute();
        const event = { at: now().toISOString(), actor: by, subject: `user:${name}` };
        await appendEvent(tx, { ...event, kind: "user-changed", data: { rank: role } });
        return ok(row);
      });
    },

    /** From now on none of their tokens and cookies is good. */
    async remove(name: string, by: string): Promise<Result<User>> {
      const at = now().toISOString();
      return db.write(async (tx): Promise<Result<User>> => {
        const row = await tx
          .updateTable("users")
          .set({ removed_at: at })
          .where("name", "=", name)
          .where("removed_at", "is", null)
          .returningAll()
          .executeTakeFirst();
        if (!row) return noUser(name);
        await tx
          .updateTable("tokens")
          .set({ revoked_at: at })
          .where("kind", "=", "person")
          .where("name", "=", name)
          .where("revoked_at", "is", null)
          .execute();
        await appendEvent(tx, { at, actor: by, kind: "user-removed", subject: `user:${name}`, data: {} });
        return ok(row);
      });
    },

    list: (): Promise<User[]> =>
      db.read.selectFrom("users").selectAll().where("removed_at", "is", null).orderBy("name").execute(),

    find: (name: string): Promise<User | undefined> =>
      db.read
        .selectFrom("users")
        .selectAll()
        .where("name", "=", name)
        .where("removed_at", "is", null)
        .executeTakeFirst(),
  };
}

export type UserStore = ReturnType<typeof userStore>;

const noUser = (name: string) => refuse("not_found", `there is no user ${name}; see: scriptorium user list`);
