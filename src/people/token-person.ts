import { join } from "node:path";
import type { Person } from "../kernel/caller.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { holderOf } from "./grants.ts";
import type { PeopleApp } from "./people-app.ts";
import { sameSecret } from "./secrets.ts";
import { workspaceToken } from "./tokens.ts";

/** The token of the person who owns the workspace's folder; created on first use. */
export const ownerToken = (stateFolder: string) => workspaceToken(join(stateFolder, "token"));

/** The person of a token: the owner of the workspace, or the one it was created for, with the rank they have now. */
export async function personOfToken(app: PeopleApp, text: string, owner: Person): Promise<Result<Person>> {
  if (sameSecret(text, ownerToken(app.config.stateFolder))) return ok(owner);
  const token = await app.tokens.find(text);
  if (!token) return refuse("denied", "the token is unknown, expired or revoked");
  if (token.kind === "agent")
    return refuse("denied", `the token belongs to an agent (${token.role}), and this needs a token of a person`);
  return ok(await holderOf(app.users, token));
}
