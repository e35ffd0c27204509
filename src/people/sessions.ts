import { ok, type Result } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import { noSuch } from "../store/no-such.ts";
import {
  deleteSessionsBefore,
  findSession,
  insertSession,
  markSessionSeen,
  openSessions,
  revokeSessions,
} from "../store/queries/sessions.ts";
import type { SessionRow } from "../store/tables.ts";
import { columnsOfGrant, type Grant, grantOf } from "./grants.ts";
import { hashOf, newSecret, sameHash } from "./secrets.ts";

const dayMs = 86_400_000;
const idleMs = 7 * dayMs;
export const longestDays = 30;
/** A session that is in use is marked as seen this often, not with every request. */
const seenEveryMs = 5 * 60_000;
const longestUserAgent = 300;

export type Session = Pick<SessionRow, "id" | "person" | "user_agent" | "created_at" | "seen_at"> & {
  /** The earlier of 7 days after it was last seen and 30 days after it was opened. */
  expires_at: string;
};

/** The secrets of a new session. A request needs both; neither can be read from the database. */
export type OpenedSession = { id: string; cookie: string; pageSecret: string };

/** Browsers in which people are signed in. A session ends when it is revoked, idle for 7 days, or 30 days old. */
export function sessionStore(db: Database, now: () => Date, newId: (prefix: string) => string) {
  return {
    /** `hours` ends it sooner than after 30 days. */
    async open(grant: Grant, userAgent: string, hours = longestDays * 24): Promise<OpenedSession> {
      const [cookie, pageSecret] = [newSecret(), newSecret()];
      const at = now();
      const row: SessionRow = {
        id: newId("s"),
        hash: hashOf(cookie),
        page_hash: hashOf(pageSecret),
        ...columnsOfGrant(grant),
        user_agent: userAgent.slice(0, longestUserAgent),
        created_at: at.toISOString(),
        seen_at: at.toISOString(),
        expires_at: new Date(at.getTime() + hours * 3_600_000).toISOString(),
        revoked_at: null,
      };
      await db.write(async (tx) => {
        await deleteSessionsBefore(tx, new Date(at.getTime() - longestDays * dayMs).toISOString());
        await insertSession(tx, row);
        const event = { at: row.created_at, actor: grant.person, subject: `session:${row.id}` };
        await appendEvent(tx, { ...event, kind: "session-opened", data: { person: grant.person } });
      });
      return { id: row.id, cookie, pageSecret };
    },

    /** The open session of a cookie, and whether the page secret belongs to it. */
    async find(
      cookie: string,
      pageSecret: string | undefined,
    ): Promise<{ id: string; grant: Grant; isFromPage: boolean } | undefined> {
      const row = await findSession(db.read, hashOf(cookie));
      const at = now();
      if (!row || row.revoked_at || isOver(row, at)) return undefined;
      if (at.getTime() - Date.parse(row.seen_at) > seenEveryMs)
        await db.write((tx) => markSessionSeen(tx, row.id, at.toISOString()));
      const isFromPage = pageSecret !== undefined && sameHash(hashOf(pageSecret), row.page_hash);
      return { id: row.id, grant: grantOf(row), isFromPage };
    },

    /** The open sessions, of one person or of all. */
    async list(person?: string): Promise<Session[]> {
      const at = now();
      const rows = await openSessions(db.read, at.toISOString(), person);
      return rows.filter((row) => !isOver(row, at)).map(shown);
    },

    /** Revokes one session; with `person` only if it is theirs. */
    async revoke(id: string, by: string, person?: string): Promise<Result<{ id: string }>> {
      const at = now().toISOString();
      const ended = await db.write(async (tx) => {
        const ids = await revokeSessions(tx, { id, ...(person === undefined ? {} : { person }) }, at);
        if (ids.length > 0)
          await appendEvent(tx, { at, actor: by, kind: "session-revoked", subject: `session:${id}`, data: {} });
        return ids;
      });
      return ended.length > 0 ? ok({ id }) : noSuch(db.read, "session", id);
    },

    /** Revokes every session of a person; how many were open. */
    async revokeAll(person: string, by: string): Promise<number> {
      const at = now().toISOString();
      return db.write(async (tx) => {
        const ids = await revokeSessions(tx, { person }, at);
        const data = { sessions: ids.length };
        await appendEvent(tx, { at, actor: by, kind: "session-revoked", subject: `user:${person}`, data });
        return ids.length;
      });
    },
  };
}

export type SessionStore = ReturnType<typeof sessionStore>;

const endOf = ({ seen_at, expires_at }: SessionRow) => Math.min(Date.parse(seen_at) + idleMs, Date.parse(expires_at));
const isOver = (row: SessionRow, at: Date) => endOf(row) <= at.getTime();

const shown = (row: SessionRow): Session => ({
  id: row.id,
  person: row.person,
  user_agent: row.user_agent,
  created_at: row.created_at,
  seen_at: row.seen_at,
  expires_at: new Date(endOf(row)).toISOString(),
});
