import { createHash } from "node:crypto";

export type Chained = { at: string; actor: string; kind: string; subject: string; data: string };

const beforeFirst = "0".repeat(64);

/** Each part with its length in bytes, so that no two events have the same form. Migration 0009 has it in SQL. */
export function chainedHash(before: string | null | undefined, position: number, event: Chained): string {
  const { at, actor, kind, subject, data } = event;
  const parts = [before ?? beforeFirst, String(position), at, actor, kind, subject, data];
  const text = parts.map((part) => `${Buffer.byteLength(part)}:${part},`).join("");
  return createHash("sha256").update(text).digest("hex");
}
