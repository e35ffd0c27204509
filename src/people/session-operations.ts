import * as z from "zod";
import { type Caller, nameOf } from "../kernel/caller.ts";
import { operation, people } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { noSuch } from "../store/no-such.ts";
import { personName } from "./operations.ts";
import type { PeopleApp } from "./people-app.ts";
import { linkMinutes, newLink } from "./sign-in-links.ts";

const session = z.object({
  id: z.string(),
  person: z.string(),
  user_agent: z.string().describe("Browser and system, as the browser names them"),
  created_at: z.string(),
  seen_at: z.string(),
  expires_at: z.string(),
  current: z.boolean().describe("True for the session that asks"),
});

/** Admins see and end the sessions of everybody, others their own. */
const limitOf = (caller: Caller) => (caller.kind === "person" && caller.rank === "admin" ? undefined : nameOf(caller));

export const createSignInLink = operation({
  name: "create_sign_in_link",
  summary: "Create a sign-in link for a person; it works once.",
  effect: "writes",
  touches: ["session"],
  callers: ["admin"],
  group: "admin",
  http: { method: "post", path: "/sign-in-links" },
  decision: true,
  input: z.object({ name: personName.optional().describe("Name of the user; default: the owner of the workspace") }),
  showsOnce: true,
  output: z.object({
    person: z.string(),
    code: z.string(),
    link: z.string().describe("For the server that runs now, else for the configured port"),
    expires_at: z.string(),
  }),
  async run(app: PeopleApp, { name }, caller) {
    const by = nameOf(caller);
    if (name !== undefined) {
      if (!(await app.users.find(name))) return noSuch(app.db.read, "user", name);
      const made = await newLink(app, { person: name, isOwner: false, minutes: linkMinutes.sent, by });
      return ok({ person: name, ...made });
    }
    if (caller.kind !== "person" || !caller.isOwner)
      return refuse("invalid", "name: missing; only the owner of the workspace may leave it out");
    const made = await newLink(app, { person: by, isOwner: true, minutes: linkMinutes.own, by });
    return ok({ person: by, ...made });
  },
});

export const listSessions = operation({
  name: "list_sessions",
  summary: "List the browsers in which you are signed in; admins see everybody's.",
  effect: "reads",
  reads: ["session", "user", "token"],
  callers: people,
  group: "admin",
  http: { method: "get", path: "/sessions" },
  input: z.object({}),
  output: z.object({ sessions: z.array(session) }),
  async run(app: PeopleApp, _input, caller) {
    const own = caller.kind === "person" ? caller.session : undefined;
    const found = await app.sessions.list(limitOf(caller));
    return ok({ sessions: found.map((one) => ({ ...one, current: one.id === own })) });
  },
});

export const revokeSession = operation({
  name: "revoke_session",
  summary: "Sign one browser out.",
  effect: "destroys",
  touches: ["session"],
  callers: people,
  group: "admin",
  http: { method: "delete", path: "/sessions/{id}" },
  decision: true,
  input: z.object({ id: z.string().max(64).describe("Id of the session") }),
  output: z.object({ id: z.string() }),
  run: (app: PeopleApp, { id }, caller) => app.sessions.revoke(id, nameOf(caller), limitOf(caller)),
});

export const revokeSessions = operation({
  name: "revoke_sessions",
  summary: "Sign a person out everywhere.",
  effect: "destroys",
  touches: ["session"],
  callers: people,
  group: "admin",
  http: { method: "post", path: "/sessions/revoke" },
  decision: true,
  input: z.object({ person: personName.optional().describe("Whose sessions, for admins; default: your own") }),
  output: z.object({ person: z.string(), revoked: z.int() }),
  async run(app: PeopleApp, { person = "" }, caller) {
    const own = nameOf(caller);
    const whose = person || own;
    if (whose !== own && limitOf(caller) !== undefined)
      return refuse("denied", "person: only an admin may sign out others");
    return ok({ person: whose, revoked: await app.sessions.revokeAll(whose, own) });
  },
});

export const listPasskeys = operation({
  name: "list_passkeys",
  summary: "List your passkeys; admins see everybody's.",
  effect: "reads",
  reads: ["passkey", "user", "token"],
  callers: people,
  group: "admin",
  http: { method: "get", path: "/passkeys" },
  input: z.object({}),
  output: z.object({
    passkeys: z.array(
      z.object({
        id: z.string(),
        person: z.string(),
        name: z.string(),
        created_at: z.string(),
        used_at: z.string().nullable(),
      }),
    ),
  }),
  run: async (app: PeopleApp, _input, caller) => ok({ passkeys: await app.passkeys.list(limitOf(caller)) }),
});

export const removePasskey = operation({
  name: "remove_passkey",
  summary: "Remove a passkey; it can no longer sign anyone in.",
  effect: "destroys",
  touches: ["passkey"],
  callers: people,
  group: "admin",
  http: { method: "delete", path: "/passkeys/{id}" },
  decision: true,
  input: z.object({ id: z.string().max(64).describe("Id of the passkey") }),
  output: z.object({ id: z.string() }),
  run: (app: PeopleApp, { id }, caller) => app.passkeys.remove(id, nameOf(caller), limitOf(caller)),
});
