import { createHash } from "node:crypto";

/** Stands for "no object" in a repository with the SHA-1 object format. */
export const nullId = "0".repeat(40);

/** The name that git gives these bytes in a repository with the SHA-1 object format. */
export function blobOf(bytes: Buffer | string): string {
  const data = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
  return createHash("sha1").update(`blob ${data.length}\0`).update(data).digest("hex");
}
