import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { ok, Refused, type Result } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { privateFolder } from "../store/disk/private.ts";
import { appendEvent } from "../store/events.ts";
import { noSuch } from "../store/no-such.ts";
import { allTokens, findToken, insertToken, revokeToken } from "../store/queries/tokens.ts";
import type { TokenRow } from "../store/tables.ts";
import { endGrants } from "./end-grants.ts";
import { hashOf, newSecret } from "./secrets.ts";

export type Token = Omit<TokenRow, "hash">;
export type NewToken = {
  kind: "agent" | "person";
  name: string;
  role: string;
  expiresAt: string | undefined;
  by: string;
};

/** Only hashes of tokens are stored: the token itself is shown once, to the person who created it. */
export function tokenStore(db: Database, now: () => Date, newId: (prefix: string) => string) {
  async function findValid(column: "hash" | "id", value: string): Promise<Token | undefined> {
    const row = await findToken(db.read, column, value);
    if (!row || row.revoked_at || (row.expires_at && row.expires_at <= now().toISOString())) return undefined;
    return withoutHash(row);
  }

  return {
    async create(made: NewToken): Promise<Token & { token: string }> {
      const token = `sct_${newSecret()}`;
      const row: TokenRow = {
        id: newId("t"),
        hash: hashOf(token),
        kind: made.kind,
        name: made.name,
        role: made.role,
        created_at: now().toISOString(),
        expires_at: made.expiresAt ?? null,
        revoked_at: null,
      };
      await db.write(async (tx) => {
        await insertToken(tx, row);
        const data = { kind: row.kind, name: row.name, [row.kind === "agent" ? "role" : "rank"]: row.role };
        await appendEvent(tx, {
          at: row.created_at,
          actor: made.by,
          kind: "token-created",
          subject: `token:${row.id}`,
          data,
        });
      });
      return { ...withoutHash(row), token };
    },

    /** Undefined when the token is unknown, expired or revoked. */
    find: (token: string) => findValid("hash", hashOf(token)),
    findById: (id: string) => findValid("id", id),

    async list(): Promise<Token[]> {
      return (await allTokens(db.read)).map(withoutHash);
    },

    /** Ends the sessions that it opened as well. */
    async revoke(id: string, by: string): Promise<Result<{ id: string }>> {
      const at = now().toISOString();
      const done = await db.write(async (tx) => {
        const revoked = await revokeToken(tx, id, at);
        if (!revoked) return false;
        await endGrants(tx, { token: id }, at);
        await appendEvent(tx, { at, actor: by, kind: "token-revoked", subject: `token:${id}`, data: {} });
        return true;
      });
      return done ? ok({ id }) : noSuch(db.read, "token", id);
    },
  };
}

export type TokenStore = ReturnType<typeof tokenStore>;

/** Reads or creates the token of the person who owns the workspace's folder; only they can read the file (T11). */
export function workspaceToken(file: string): string {
  const folder = dirname(file);
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink()) throw planted(folder);
  mkdirSync(folder, privateFolder);
  return readOwn(file) ?? makeOwn(file);
}

function readOwn(file: string): string | undefined {
  let handle: number;
  try {
    // Without O_NONBLOCK, opening a planted FIFO would block forever.
    handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw code === "ELOOP" ? planted(file) : error;
  }
  try {
    const found = fstatSync(handle);
    const uid = process.getuid?.() ?? found.uid;
    if (!found.isFile() || (found.uid !== uid && uid !== 0)) throw planted(file);
    if (found.mode & 0o077) fchmodSync(handle, 0o600);
    const token = readFileSync(handle, "utf8").trim();
    // A truncated token could be guessed.
    if (token.length < 32) throw unfit(`${file} does not contain a token; delete it and start again`);
    return token;
  } finally {
    closeSync(handle);
  }
}

/** Creates the file atomically: two servers may start at once, and both must end up with the same token. */
function makeOwn(file: string): string {
  const token = newSecret();
  const draft = `${file}.${randomBytes(6).toString("hex")}`;
  writeFileSync(draft, `${token}\n`, { flag: "wx", mode: 0o600, flush: true });
  try {
    linkSync(draft, file);
    return token;
  } catch (error) {
    const other = readOwn(file);
    if (other) return other;
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error;
    // Some file systems have no hard links.
    renameSync(draft, file);
    return token;
  } finally {
    rmSync(draft, { force: true });
  }
}

const unfit = (message: string) => new Refused({ code: "refused", message });
const planted = (path: string) =>
  unfit(`${path} is a symbolic link or belongs to another user; delete it and start again`);

const withoutHash = ({ hash: _hash, ...token }: TokenRow): Token => token;
