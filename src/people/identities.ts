import type { Rank } from "../kernel/caller.ts";
import { ok, type Result, refuse, unwrap } from "../kernel/result.ts";
import type { Database, Query } from "../store/database.ts";
import { findIdentity, identitiesOf, insertIdentity, updateIdentity } from "../store/queries/identities.ts";
import { allUsers, findUserRow } from "../store/queries/users.ts";
import type { IdentityRow } from "../store/tables.ts";
import type { Grant } from "./grants.ts";
import { addUserIn, changeUserIn, removeUserIn } from "./users.ts";

/** What an identity provider says about a person who signed in there. */
export type Claimed = {
  issuer: string;
  subject: string;
  /** Names to be known by, best first. */
  names: string[];
  /** Only if the provider has verified it. */
  email: string | undefined;
  /** From the groups; undefined for no access. */
  rank: Rank | undefined;
};

type Outcome = { person: string } | { refused: "no_access" | "removed" };

/**
 * People whom an identity provider signs in. The first sign-in adds the user, each one sets the rank, and one without
 * a rank removes the user with their sessions and tokens. A user whom an admin removed stays removed.
 */
export function identityStore(db: Database, now: () => Date) {
  return {
    /** `reserved` are names that nobody gets: the owner's. */
    async signIn(claimed: Claimed, reserved: readonly string[]): Promise<Result<Grant>> {
      const at = now().toISOString();
      const change = { by: new URL(claimed.issuer).host, at };
      const outcome = await db.write(async (tx): Promise<Outcome> => {
        const known = await findIdentity(tx, claimed);
        return known ? again(tx, known, claimed, change) : first(tx, claimed, reserved, change);
      });
      if ("person" in outcome) return ok({ person: outcome.person, isOwner: false, tokenId: null });
      const who = claimed.names[0] ?? claimed.subject;
      return outcome.refused === "removed"
        ? refuse("denied", `you signed in as ${who}, whose access an admin removed here; ask them to add you again`)
        : refuse("denied", `you signed in as ${who}, but no group of yours has access here; ask an admin`);
    },

    /** The providers that sign this person in. */
    issuersOf: async (person: string): Promise<string[]> =>
      (await identitiesOf(db.read, person)).map(({ issuer }) => issuer),
  };
}

export type IdentityStore = ReturnType<typeof identityStore>;

type Change = { by: string; at: string };

async function again(tx: Query, known: IdentityRow, { rank, email }: Claimed, change: Change): Promise<Outcome> {
  const { person } = known;
  const user = await findUserRow(tx, person);
  const isActive = user !== undefined && user.removed_at === null;
  if (rank === undefined) {
    if (isActive) await removeUserIn(tx, person, change);
    if (isActive) await updateIdentity(tx, known, { left_at: change.at });
    return { refused: "no_access" };
  }
  if (!isActive && known.left_at === null) return { refused: "removed" };
  if (!isActive) unwrap(await addUserIn(tx, { name: person, email, role: rank }, change));
  else if (user.role !== rank) await changeUserIn(tx, person, rank, change);
  await updateIdentity(tx, known, { seen_at: change.at, left_at: null });
  return { person };
}

async function first(tx: Query, claimed: Claimed, reserved: readonly string[], change: Change): Promise<Outcome> {
  const { issuer, subject, email, rank } = claimed;
  if (rank === undefined) return { refused: "no_access" };
  const invited = email === undefined ? undefined : await invitedWith(tx, email);
  const person = invited ?? (await freeName(tx, claimed, reserved));
  if (invited === undefined) unwrap(await addUserIn(tx, { name: person, email, role: rank }, change));
  else await changeUserIn(tx, person, rank, change);
  await insertIdentity(tx, { issuer, subject, person, created_at: change.at, seen_at: change.at, left_at: null });
  return { person };
}

/** A user whom an admin added with this address, and whom no provider signs in yet. */
async function invitedWith(tx: Query, email: string): Promise<string | undefined> {
  const users = (await allUsers(tx)).filter((user) => user.email?.toLowerCase() === email.toLowerCase());
  const [user] = users;
  if (!user || users.length > 1) return undefined;
  return (await identitiesOf(tx, user.name)).length === 0 ? user.name : undefined;
}

/** Never the name of another person, also not of a removed one: the record would show one person for two. */
async function freeName(tx: Query, { names, subject }: Claimed, reserved: readonly string[]): Promise<string> {
  const [best = "user"] = names;
  for (const name of [...names, `${best.slice(0, 60)} (${subject.replace(/[^\w.@-]/g, "").slice(0, 30)})`]) {
    if (!reserved.includes(name) && (await findUserRow(tx, name)) === undefined) return name;
  }
  return `${best.slice(0, 60)} (${Math.random().toString(36).slice(2, 10)})`;
}
