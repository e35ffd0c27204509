import { join } from "node:path";
import { lowerRank, type Person, type Rank } from "../kernel/caller.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { PeopleApp } from "./people-app.ts";
import { sameToken, workspaceToken } from "./tokens.ts";

/** The token of the person who owns the workspace's folder; created on first use. */
export const ownerToken = (stateFolder: string) => workspaceToken(join(stateFolder, "token"));

/** The person of a token: the owner of the workspace, or the one it was created for, with the rank they have now. */
export async function personOfToken(app: PeopleApp, text: string, owner: Person): Promise<Result<Person>> {
  if (sameToken(text, ownerToken(app.config.stateFolder))) return ok(owner);
  const token = await app.tokens.find(text);
  if (!token) return refuse("denied", "the token is unknown, expired or revoked");
  if (token.kind === "agent")
    return refuse("denied", `the token belongs to an agent (${token.role}), and this needs a token of a person`);
  const user = await app.users.find(token.name);
  const rank = user ? lowerRank(user.role, token.role as Rank) : (token.role as Rank);
  return ok({ kind: "person", name: token.name, rank, ...(user?.email ? { email: user.email } : {}) });
}
