import { createHmac, timingSafeEqual } from "node:crypto";
import type { Context } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import type { App } from "../app.ts";
import { type Caller, lowerRank, newTurn, type Person, type Rank, type Turn } from "../kernel/caller.ts";
import { sameToken, type Token } from "../people/tokens.ts";

/** Who a request speaks for. */
export type Principal = { tokenId: string; byCookie: boolean; person?: Person; agentRole?: string };

const owner = "owner";
const cookieName = "scriptorium";

/**
 * Every request carries the workspace's token, or one that `token create` made, as a bearer. A
 * browser trades it for a cookie by the sign-in link; the cookie names the token and proves it,
 * and dies with it.
 */
export function signIn(app: App, workspaceToken: string, self: Person) {
  const turns = new Map<string, Turn>();
  const roles = new Map<string, string>();
  const people = new Map<string, Person>([[owner, self]]);

  const proofOf = (id: string) => createHmac("sha256", workspaceToken).update(`cookie ${id}`).digest("base64url");

  async function remember(token: Token, byCookie: boolean): Promise<Principal> {
    if (token.kind === "agent") {
      roles.set(token.id, token.role);
      return { tokenId: token.id, byCookie, agentRole: token.role };
    }
    const user = await app.users.find(token.name);
    const rank = user ? lowerRank(user.role, token.role as Rank) : (token.role as Rank);
    const person: Person = { kind: "person", name: token.name, rank, ...(user?.email ? { email: user.email } : {}) };
    people.set(token.id, person);
    return { tokenId: token.id, byCookie, person };
  }

  async function byText(text: string): Promise<Principal | undefined> {
    if (sameToken(text, workspaceToken)) return { tokenId: owner, byCookie: false, person: self };
    const token = await app.tokens.find(text);
    return token && remember(token, false);
  }

  async function byCookie(value: string): Promise<Principal | undefined> {
    const [id = "", proof = ""] = value.split(".");
    const expected = Buffer.from(proofOf(id));
    const given = Buffer.from(proof);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    if (id === owner) return { tokenId: owner, byCookie: true, person: self };
    const token = await app.tokens.findById(id);
    return token && remember(token, true);
  }

  return {
    async principal(c: Context): Promise<Principal | undefined> {
      const bearer = /^Bearer (.+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
      if (bearer) return byText(bearer.trim());
      const cookie = getCookie(c, cookieName);
      return cookie ? byCookie(cookie) : undefined;
    },

    /** The sign-in link: sets the cookie and takes the token out of the address. */
    async fromLink(c: Context): Promise<Response | undefined> {
      const text = c.req.query("token");
      const found = text ? await byText(text) : undefined;
      if (!found?.person) return undefined;
      setCookie(c, cookieName, `${found.tokenId}.${proofOf(found.tokenId)}`, {
        httpOnly: true,
        sameSite: "Strict",
        path: "/",
        maxAge: 30 * 86_400,
      });
      return c.redirect(addressOf(c), 303);
    },

    /** The caller behind a token; an agent's turn belongs to the token, and to the session if it has one. */
    callerFor(tokenId: string, session: string): Caller {
      const person = people.get(tokenId);
      if (person) return person;
      const key = `${tokenId} ${session}`;
      const turn = turns.get(key) ?? newTurn(undefined, true);
      turns.set(key, turn);
      if (turns.size > 10_000) turns.delete(turns.keys().next().value as string);
      return { kind: "agent", role: roles.get(tokenId) ?? "", turn };
    },
  };
}

/** What was asked for, on this host and without a token: a path of two slashes would name another host. */
export function addressOf(c: Context): string {
  const url = new URL(c.req.url);
  url.searchParams.delete("token");
  return url.pathname.replace(/^[/\\]+/, "/") + url.search;
}

export type SignIn = ReturnType<typeof signIn>;
