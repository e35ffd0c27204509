import type { OidcConfig } from "../config/oidc.ts";
import type { Rank } from "../kernel/caller.ts";
import { removeHidden, spellHidden } from "../kernel/hidden.ts";
import type { Claimed } from "../people/identities.ts";
import { personName } from "../people/operations.ts";

export type Claims = Record<string, unknown>;

/** A claim by its name, which may be an address with dots, else by its path through nested claims. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name.split(".").reduce<unknown>((here, part) => {
    const isMap = here !== null && typeof here === "object" && !Array.isArray(here);
    return isMap && Object.hasOwn(here, part) ? (here as Claims)[part] : undefined;
  }, claims);
}

export const hasClaim = (claims: Claims, name: string): boolean => claimAt(claims, name) !== undefined;

type Mapping = Pick<OidcConfig, "issuer" | "name_claim" | "groups_claim" | "ranks" | "default_rank">;

/** The person that the provider's claims describe, with the highest rank of their groups. */
export function claimedBy(claims: Claims, config: Mapping): Claimed {
  const named = claimAt(claims, config.groups_claim);
  const groups = (Array.isArray(named) ? named : [named]).filter((group) => typeof group === "string");
  // Ranks are looked up as own keys: a group named `constructor` has none.
  const ranks = groups.flatMap((group) => (Object.hasOwn(config.ranks, group) ? [config.ranks[group]] : []));
  const rank = (["admin", "collaborator", "reader"] as const).find((one) => ranks.includes(one));
  return {
    issuer: config.issuer,
    subject: String(claims.sub),
    names: [claimAt(claims, config.name_claim), claims.preferred_username, claims.email].flatMap(nameIn),
    email: claims.email_verified === true && typeof claims.email === "string" ? claims.email : undefined,
    rank: rank ?? defaultRank(config),
  };
}

const defaultRank = ({ default_rank }: Mapping): Rank | undefined =>
  default_rank === "none" ? undefined : default_rank;

/** A name that the record can show; hidden characters would let one person look like another. */
function nameIn(value: unknown): string[] {
  const parsed = personName.safeParse(typeof value === "string" ? removeHidden(value) : undefined);
  return parsed.success ? [parsed.data] : [];
}

/** The refusal that the provider sent, in our words where it is a common one. */
export function refusalText(label: string, error: string, description: string | null): string {
  if (error === "access_denied") return `you cancelled at ${label}, or it refused to sign you in`;
  const more = description ? `: ${spellHidden(description.slice(0, 300))}` : "";
  return `${label} refused (${spellHidden(error.slice(0, 60))})${more}`;
}
