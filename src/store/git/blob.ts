import { createHash } from "node:crypto";

/** How a repository names its objects: `git init --object-format`. */
export type ObjectFormat = "sha1" | "sha256";

const digits: Record<ObjectFormat, number> = { sha1: 40, sha256: 64 };

/** The name that git gives these bytes. */
export function blobOf(bytes: Buffer | string, format: ObjectFormat = "sha1"): string {
  const data = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
  return createHash(format).update(`blob ${data.length}\0`).update(data).digest("hex");
}

/** True if git gives these bytes this name, in the format of the name. */
export const isBlob = (bytes: Buffer | string, name: string) => blobOf(bytes, formatOf(name)) === name;

export const formatOf = (name: string): ObjectFormat => (name.length === digits.sha256 ? "sha256" : "sha1");

/** Stands for "no object". */
export const nullId = (format: ObjectFormat) => "0".repeat(digits[format]);
