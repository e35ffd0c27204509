import { createHmac, timingSafeEqual } from "node:crypto";
import type { Context } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import type { App } from "../app.ts";
import { type Caller, lowerRank, newTurn, type Person, type Rank, type Turn } from "../kernel/caller.ts";
import { sameToken, type Token } from "../people/tokens.ts";

/** The person or agent that a request authenticates as. */
export type Principal = { tokenId: string; byCookie: boolean; person?: Person; agentRole?: string };

const owner = "owner";
const cookieName = "scriptorium";

/**
 * Every request carries the workspace's token, or one made by `token create`, as a bearer token. The sign-in link
 * exchanges it for a cookie, which holds the token's id and an HMAC of it, and is valid as long as the token.
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
    return { tokenId: token.id, byCookie, person: { ...person, proof: byCookie ? "session" : "token" } };
  }

  async function byToken(text: string): Promise<Principal | undefined> {
    if (sameToken(text, workspaceToken))
      return { tokenId: owner, byCookie: false, person: { ...self, proof: "token" } };
    const token = await app.tokens.find(text);
    return token && remember(token, false);
  }

  async function byCookie(value: string): Promise<Principal | undefined> {
    const [id = "", proof = ""] = value.split(".");
    const expected = Buffer.from(proofOf(id));
    const given = Buffer.from(proof);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    if (id === owner) return { tokenId: owner, byCookie: true, person: { ...self, proof: "session" } };
    const token = await app.tokens.findById(id);
    return token && remember(token, true);
  }

  return {
    async principal(c: Context): Promise<Principal | undefined> {
      const bearer = /^Bearer (.+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
      if (bearer) return byToken(bearer.trim());
      const cookie = getCookie(c, cookieName);
      return cookie ? byCookie(cookie) : undefined;
    },

    /** Handles the sign-in link: sets the cookie and redirects to the address without the token. */
    async fromLink(c: Context): Promise<Response | undefined> {
      const text = c.req.query("token");
      const found = text ? await byToken(text) : undefined;
      if (!found?.person) return undefined;
      setCookie(c, cookieName, `${found.tokenId}.${proofOf(found.tokenId)}`, {
        httpOnly: true,
        sameSite: "Strict",
        path: "/",
        maxAge: 30 * 86_400,
      });
      return c.redirect(addressOf(c), 303);
    },

    /**
     * The caller of a token over MCP. An agent's turn belongs to its token and MCP session. A person has no proof
     * here: an agent is at the other end of an MCP connection, whoever's token it has.
     */
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

/** The requested path without the token. Leading slashes are collapsed, because `//name` would be another host. */
export function addressOf(c: Context): string {
  const url = new URL(c.req.url);
  url.searchParams.delete("token");
  return url.pathname.replace(/^[/\\]+/, "/") + url.search;
}

export type SignIn = ReturnType<typeof signIn>;
