// Not by name: on a Node without `hash` the module could not be loaded, and the message about old versions not be shown.
import * as crypto from "node:crypto";

/** The lease and the secret's hash that a claim is saved with. */
export type NewClaim = { leaseMs: number; secretHash: string };

/**
 * Makes the secret of a claim: 122 random bits, returned once to the claimer. The store gets the hash only, so that
 * no backup, dump or statement log contains a secret. The secrets of two claims differ even where a failover lost the
 * first of them and both have the same epoch.
 */
export function newClaim(leaseMs: number): { secret: string; claim: NewClaim } {
  // Node draws the random bits of UUIDs in bulk; one draw per claim would cost more than the claim on SQLite.
  const secret = `secret-${crypto.randomUUID().replaceAll("-", "")}`;
  return { secret, claim: { leaseMs: Math.round(leaseMs), secretHash: hashOfSecret(secret) } };
}

export const hashOfSecret = (secret: string): string => crypto.hash("sha256", secret, "base64url");
