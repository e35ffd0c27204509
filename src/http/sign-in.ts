import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import type { App } from "../app.ts";
import { type Caller, newTurn, type Person, type Turn } from "../kernel/caller.ts";
import { type Grant, holderOf, personOf } from "../people/grants.ts";
import { sameSecret } from "../people/secrets.ts";
import type { Token } from "../people/tokens.ts";
import { arrivalOf } from "./arrival.ts";
import { pageHeader } from "./web-types.ts";

/** The person or agent that a request authenticates as. */
export type Principal = {
  /** The token or session: an agent's turn and an MCP session belong to it. */
  tokenId: string;
  /** The browser session. A request that is not from a page of ours has only its cookie, which other ports receive too. */
  session?: { id: string; grant: Grant; isFromPage: boolean };
  person?: Person;
  agentRole?: string;
};

const ownerId = "owner";

/**
 * A request carries a bearer token: the workspace's, or one made by `token create`. Or it comes from a browser, with
 * the cookie of a session and, unless it only asks for the empty page, the page secret.
 */
export function signIn(app: App, { workspaceToken, owner, cookie }: Options) {
  const turns = new Map<string, Turn>();
  const roles = new Map<string, string>();
  const people = new Map<string, Person>([[ownerId, owner]]);

  async function byToken(text: string): Promise<Principal | undefined> {
    if (sameSecret(text, workspaceToken)) return { tokenId: ownerId, person: { ...owner, proof: "token" } };
    const token = await app.tokens.find(text);
    return token && ofToken(token);
  }

  async function ofToken(token: Token): Promise<Principal> {
    if (token.kind === "agent") {
      roles.set(token.id, token.role);
      return { tokenId: token.id, agentRole: token.role };
    }
    const person = await holderOf(app.users, token);
    people.set(token.id, person);
    return { tokenId: token.id, person: { ...person, proof: "token" } };
  }

  async function bySession(value: string, pageSecret: string | undefined): Promise<Principal | undefined> {
    const session = await app.sessions.find(value, pageSecret);
    const person = session && (await personOf(app, session.grant, owner));
    if (!person) return undefined;
    const { id, isFromPage } = session;
    const proof = isFromPage ? { proof: "session" as const } : {};
    return { tokenId: id, session, person: { ...person, session: id, ...proof } };
  }

  return {
    async principal(c: Context): Promise<Principal | undefined> {
      const bearer = /^Bearer (.+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
      if (bearer) return byToken(bearer.trim());
      const value = getCookie(c, cookieNameFor(c, cookie));
      return value ? bySession(value, c.req.header(pageHeader)) : undefined;
    },

    /** Whom a sign-in link would sign in; the code or token stays valid. */
    async grantOfLink({ code, token }: LinkSecret): Promise<Grant | undefined> {
      if (code !== undefined) return app.codes.find(code);
      if (token === undefined) return undefined;
      if (sameSecret(token, workspaceToken)) return { person: owner.name, isOwner: true, tokenId: null };
      const found = await app.tokens.find(token);
      return found?.kind === "person" ? { person: found.name, isOwner: false, tokenId: found.id } : undefined;
    },

    personOf: (grant: Grant) => personOf(app, grant, owner),

    /**
     * The caller of a token over MCP. An agent's turn belongs to its token and MCP session. A person has no proof
     * here: an agent is at the other end of an MCP connection, whoever's token it has.
     */
    callerFor(tokenId: string, session: string): Caller {
      const person = people.get(tokenId);
      if (person) return person;
      const key = `${tokenId} ${session}`;
      const turn = turns.get(key) ?? newTurn(undefined, true, tokenId);
      turns.set(key, turn);
      if (turns.size > 10_000) turns.delete(turns.keys().next().value as string);
      return { kind: "agent", role: roles.get(tokenId) ?? "", turn };
    },
  };
}

type Options = { workspaceToken: string; owner: Person; cookie: string };
export type LinkSecret = { code?: string | undefined; token?: string | undefined };
export type SignIn = ReturnType<typeof signIn>;

/** Over TLS the browser accepts the cookie only from this host and only over TLS. */
export const isTls = (c: Context): boolean => arrivalOf(c).isTls;
export const cookieNameFor = (c: Context, name: string): string => (isTls(c) ? `__Host-${name}` : name);

/** The caller of an operation over HTTP. */
export const callerOf = ({ person, tokenId }: Principal, signIn: SignIn): Caller =>
  person ?? signIn.callerFor(tokenId, "");
