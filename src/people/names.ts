import type { Rank } from "../kernel/caller.ts";
import { rolesOf } from "../wiki/schema.ts";
import type { PeopleApp } from "./people-app.ts";

/** Somebody who can be mentioned: a person who can sign in, or a role of agents. */
export type Name = { kind: "person"; name: string; rank: Rank } | { kind: "agent"; name: string };

const ranks: readonly string[] = ["reader", "collaborator", "admin"] satisfies Rank[];
const isRank = (text: string): text is Rank => ranks.includes(text);

/** The owner of the workspace, users, holders of valid tokens, and the roles of the schema. */
export async function knownNames(app: PeopleApp): Promise<Name[]> {
  const [known, users, tokens, schema] = await Promise.all([
    app.git.person(),
    app.users.list(),
    app.tokens.list(),
    app.schema(),
  ]);
  const people = new Map<string, Rank>();
  const now = app.now().toISOString();
  for (const { kind, name, role, revoked_at, expires_at } of tokens) {
    const isValid = revoked_at === null && (expires_at === null || expires_at > now);
    if (kind === "person" && isValid && isRank(role)) people.set(name, role);
  }
  for (const { name, role } of users) people.set(name, role);
  people.set(known?.name ?? "owner", "admin");
  const roles = schema.ok ? rolesOf(schema.value).filter((role) => !people.has(role)) : [];
  return [
    ...[...people].sort(([a], [b]) => a.localeCompare(b)).map(([name, rank]): Name => ({ kind: "person", name, rank })),
    ...roles.map((name): Name => ({ kind: "agent", name })),
  ];
}
