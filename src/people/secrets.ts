import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** 192 random bits as text that is safe in a URL, a header and a cookie. */
export const newSecret = (): string => randomBytes(24).toString("base64url");

/** Secrets are random, so a fast hash is enough: nobody can try 2^192 of them. */
export const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex");

export const sameSecret = (a: string, b: string): boolean => sameHash(hashOf(a), hashOf(b));

/** In constant time. */
export const sameHash = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a), Buffer.from(b));
