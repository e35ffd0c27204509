import { lowerRank, type Person, type Rank } from "../kernel/caller.ts";
import type { GrantColumns } from "../store/tables.ts";
import type { Token, TokenStore } from "./tokens.ts";
import type { UserStore } from "./users.ts";

/** The person that a session, a sign-in link or a passkey stands for: the owner, a user, or the holder of a token. */
export type Grant = { person: string; isOwner: boolean; tokenId: string | null };

export const grantOf = ({ person, is_owner, token_id }: GrantColumns): Grant => ({
  person,
  isOwner: is_owner === 1,
  tokenId: token_id,
});

export const columnsOfGrant = ({ person, isOwner, tokenId }: Grant): GrantColumns => ({
  person,
  is_owner: Number(isOwner),
  token_id: tokenId,
});

type People = { tokens: TokenStore; users: UserStore };

/** The person with their present rank; undefined once the token is revoked or expired, or the user is removed. */
export async function personOf(
  { tokens, users }: People,
  { person, isOwner, tokenId }: Grant,
  owner: Person,
): Promise<Person | undefined> {
  if (isOwner) return owner;
  if (tokenId !== null) {
    const token = await tokens.findById(tokenId);
    return token?.kind === "person" ? holderOf(users, token) : undefined;
  }
  const user = await users.find(person);
  return user && { kind: "person", name: user.name, rank: user.role, ...(user.email ? { email: user.email } : {}) };
}

/** A token may allow less than its person may do, never more. */
export async function holderOf(users: UserStore, { name, role }: Token): Promise<Person> {
  const user = await users.find(name);
  const rank = user ? lowerRank(user.role, role as Rank) : (role as Rank);
  return { kind: "person", name, rank, ...(user?.email ? { email: user.email } : {}) };
}
