import { createHash, randomBytes } from "node:crypto";

/** The lease and the secret's hash that a claim is saved with. */
export type NewClaim = { leaseMs: number; secretHash: string };

/**
 * Makes the secret of a claim: 128 random bits, returned once to the claimer. The store gets the hash only, so that
 * no backup, dump or statement log contains a secret. The secrets of two claims differ even where a failover lost the
 * first of them and both have the same epoch.
 */
export function newClaim(leaseMs: number): { secret: string; claim: NewClaim } {
  const secret = `secret-${randomBytes(16).toString("hex")}`;
  return { secret, claim: { leaseMs: Math.round(leaseMs), secretHash: hashOfSecret(secret) } };
}

export const hashOfSecret = (secret: string): string => createHash("sha256").update(secret).digest("base64url");
