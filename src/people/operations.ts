import * as z from "zod";
import { nameOf, type Rank } from "../kernel/caller.ts";
import { list, suggest } from "../kernel/nearest.ts";
import { operation } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { rolesOf } from "../wiki/schema.ts";
import type { PeopleApp } from "./people-app.ts";
import { linkMinutes, newLink } from "./sign-in-links.ts";
import type { Token } from "./tokens.ts";
import type { User } from "./users.ts";

const ranks = ["reader", "collaborator", "admin"] as const satisfies readonly Rank[];
const rank = z.enum(ranks, { error: "expected reader, collaborator or admin" }).describe("Permissions of the person");

const token = z.object({
  id: z.string(),
  kind: z.enum(["agent", "person"]),
  name: z.string(),
  role: z.string().nullable().describe("Role in schema.yaml; null for a person"),
  rank: z.enum(ranks).nullable().describe("Rank; null for an agent"),
  created_at: z.string(),
  expires_at: z.string().nullable(),
  revoked_at: z.string().nullable(),
});

// A line break in a name would forge a line of a commit message.
export const personName = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^[^\p{Cc}<>]+$/u, "expected a name without line breaks, < and >");

const days = z.int().min(1).max(3650).optional().describe("Days until it expires; default: never");

export const createToken = operation({
  name: "create_token",
  summary: "Create a token for an agent in a role, or for a person. It is shown once.",
  effect: "writes",
  touches: ["token"],
  callers: ["admin"],
  group: "admin",
  http: { method: "post", path: "/tokens" },
  decision: true,
  input: z.object({
    kind: z.enum(["agent", "person"]).describe("Whether the token is for an agent or a person"),
    role: z.string().min(1).max(64).optional().describe("For an agent: role in schema.yaml"),
    rank: rank.optional().describe("For a person: rank"),
    name: personName.optional().describe("Name of the owner; default for an agent: the role"),
    days,
  }),
  showsOnce: true,
  output: token.extend({ token: z.string() }),
  async run(app: PeopleApp, { kind, name, days, ...given }, caller) {
    const schema = await app.schema();
    if (!schema.ok) return schema;
    const [field, other] = kind === "agent" ? (["role", "rank"] as const) : (["rank", "role"] as const);
    const who = kind === "agent" ? "an agent" : "a person";
    if (given[other] !== undefined) return refuse("invalid", `${other}: ${who} has a ${field}, not a ${other}`);
    const allowed: readonly string[] = kind === "agent" ? rolesOf(schema.value) : ranks;
    const role = given[field];
    if (role === undefined) return refuse("invalid", `${field}: missing; expected ${list(allowed)}`);
    if (!allowed.includes(role))
      return refuse("invalid", `${field}: ${role} does not exist; ${suggest(role, allowed)}`);
    if (kind === "person" && !name) return refuse("invalid", "name: missing; whose token is it?");
    const expiresAt = days === undefined ? undefined : new Date(app.now().getTime() + days * 86_400_000).toISOString();
    const made = await app.tokens.create({ kind, role, name: name ?? role, expiresAt, by: nameOf(caller) });
    return ok({ ...shownToken(made), token: made.token });
  },
});

export const listTokens = operation({
  name: "list_tokens",
  summary: "List the tokens, without their secrets.",
  effect: "reads",
  reads: ["token", "user"],
  callers: ["admin"],
  group: "admin",
  http: { method: "get", path: "/tokens" },
  input: z.object({}),
  output: z.object({ tokens: z.array(token) }),
  run: async (app: PeopleApp) => ok({ tokens: (await app.tokens.list()).map(shownToken) }),
});

/** One column keeps what an agent is and what a person may do; the wire tells them apart. */
const shownToken = ({ id, kind, name, role, created_at, expires_at, revoked_at }: Token): z.infer<typeof token> => ({
  id,
  kind,
  name,
  role: kind === "agent" ? role : null,
  rank: kind === "person" ? rank.parse(role) : null,
  created_at,
  expires_at,
  revoked_at,
});

export const revokeToken = operation({
  name: "revoke_token",
  summary: "Revoke a token; it stops working at once.",
  effect: "destroys",
  touches: ["token", "session", "passkey"],
  callers: ["admin"],
  group: "admin",
  http: { method: "delete", path: "/tokens/{id}" },
  decision: true,
  input: z.object({ id: z.string().max(64).describe("Id of the token") }),
  output: z.object({ id: z.string() }),
  run: (app: PeopleApp, { id }, caller) => app.tokens.revoke(id, nameOf(caller)),
});

const userName = personName.describe("Name of the person, as shown in the record");
const user = z.object({
  name: z.string(),
  email: z.string().nullable(),
  rank,
  created_at: z.string(),
  removed_at: z.string().nullable(),
});

const shownUser = ({ role, ...rest }: User): z.infer<typeof user> => ({ ...rest, rank: role });

export const addUser = operation({
  name: "add_user",
  summary: "Add a person. The code of their sign-in link works once, within 7 days.",
  effect: "writes",
  touches: ["user", "session"],
  callers: ["admin"],
  group: "admin",
  http: { method: "post", path: "/people" },
  decision: true,
  input: z.object({
    name: userName,
    email: z.email().max(200).optional().describe("Email address for commits they approve"),
    rank: rank.default("collaborator"),
  }),
  showsOnce: true,
  output: user.extend({ code: z.string(), link: z.string(), link_expires_at: z.string() }),
  async run(app: PeopleApp, { name, email, rank }, caller) {
    const by = nameOf(caller);
    const added = await app.users.add({ name, email, role: rank }, by);
    if (!added.ok) return added;
    const { code, link, expires_at } = await newLink(app, {
      person: name,
      isOwner: false,
      minutes: linkMinutes.sent,
      by,
    });
    return ok({ ...shownUser(added.value), code, link, link_expires_at: expires_at });
  },
});

export const listUsers = operation({
  name: "list_users",
  summary: "List the people who can sign in.",
  effect: "reads",
  reads: ["user"],
  callers: ["admin"],
  group: "admin",
  http: { method: "get", path: "/people" },
  input: z.object({}),
  output: z.object({ users: z.array(user) }),
  run: async (app: PeopleApp) => ok({ users: (await app.users.list()).map(shownUser) }),
});

export const changeUser = operation({
  name: "change_user",
  summary: "Change a person's rank; their tokens follow at once.",
  effect: "writes",
  touches: ["user", "token"],
  callers: ["admin"],
  group: "admin",
  http: { method: "put", path: "/people/{name}" },
  decision: true,
  input: z.object({ name: userName, rank }),
  output: user,
  async run(app: PeopleApp, { name, rank }, caller) {
    const changed = await app.users.change(name, rank, nameOf(caller));
    return changed.ok ? ok(shownUser(changed.value)) : changed;
  },
});

export const removeUser = operation({
  name: "remove_user",
  summary: "Remove a person and revoke all their tokens, sessions and passkeys.",
  effect: "destroys",
  touches: ["user", "token", "session", "passkey"],
  callers: ["admin"],
  group: "admin",
  http: { method: "delete", path: "/people/{name}" },
  decision: true,
  input: z.object({ name: userName }),
  output: user,
  async run(app: PeopleApp, { name }, caller) {
    const removed = await app.users.remove(name, nameOf(caller));
    return removed.ok ? ok(shownUser(removed.value)) : removed;
  },
});
