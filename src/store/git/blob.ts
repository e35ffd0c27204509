import { createHash } from "node:crypto";

/** The name that git gives these bytes in a repository with the SHA-1 object format. */
export function blobOf(bytes: Buffer | string): string {
  const data = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
  return createHash("sha1").update(`blob ${data.length}\0`).update(data).digest("hex");
}
