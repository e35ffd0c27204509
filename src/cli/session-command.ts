import { Command } from "@commander-js/extra-typings";
import type * as z from "zod";
import {
  createSignInLink,
  listPasskeys,
  listSessions,
  removePasskey,
  revokeSession,
  revokeSessions,
} from "../people/session-operations.ts";
import { type Common, report } from "./session.ts";
import { table, when } from "./text.ts";

export const sessionCommand = (common: () => Common) =>
  new Command("session")
    .description("manage sign-in links, sessions of browsers, and passkeys")
    .addCommand(
      new Command("link")
        .description(createSignInLink.summary)
        .argument("[name...]", "name of the user (default: you, the owner of the workspace)")
        .action((words) =>
          report(common(), createSignInLink, { name: words.join(" ") || undefined }, ({ person, link, expires_at }) =>
            [`This link signs ${person} in. It works once, until ${when(expires_at)}:`, `  ${link}`].join("\n"),
          ),
        ),
    )
    .addCommand(
      new Command("list")
        .description("List the browsers in which people are signed in.")
        .action(() => report(common(), listSessions, {}, { text: listed, json: (found) => found.sessions })),
    )
    .addCommand(
      new Command("revoke")
        .description(revokeSession.summary)
        .argument("<id>")
        .action((id) => report(common(), revokeSession, { id }, () => `revoked ${id}`)),
    )
    .addCommand(
      new Command("revoke-all")
        .description(revokeSessions.summary)
        .argument("[name...]", "name of the person (default: you)")
        .action((words) =>
          report(
            common(),
            revokeSessions,
            { person: words.join(" ") || undefined },
            ({ person, revoked }) => `revoked ${revoked} ${revoked === 1 ? "session" : "sessions"} of ${person}`,
          ),
        ),
    )
    .addCommand(
      new Command("passkeys")
        .description("List the passkeys of everybody.")
        .action(() => report(common(), listPasskeys, {}, { text: listedPasskeys, json: (found) => found.passkeys })),
    )
    .addCommand(
      new Command("remove-passkey")
        .description(removePasskey.summary)
        .argument("<id>")
        .action((id) => report(common(), removePasskey, { id }, () => `removed ${id}`)),
    );

function listed({ sessions }: z.infer<typeof listSessions.output>): string {
  if (sessions.length === 0) return "nobody is signed in; create a link with: scriptorium session link";
  return table([
    ["id", "person", "last seen", "expires", "browser"],
    ...sessions.map((one) => [one.id, one.person, when(one.seen_at), when(one.expires_at), one.user_agent]),
  ]);
}

function listedPasskeys({ passkeys }: z.infer<typeof listPasskeys.output>): string {
  if (passkeys.length === 0) return "no passkeys; add one in the browser: Sessions, Add passkey";
  return table([
    ["id", "person", "name", "added", "last used"],
    ...passkeys.map((key) => [
      key.id,
      key.person,
      key.name,
      when(key.created_at),
      key.used_at ? when(key.used_at) : "–",
    ]),
  ]);
}
