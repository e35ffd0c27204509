import { createHash } from "node:crypto";

/** A piece of context that several agents may need, and where to read it in full. */
export type Fragment = { kind: "file" | "error" | "dependency"; text: string; where: string };

/** Ignores case, spacing, colours, times and durations. */
export function normalise(text: string): string {
  return text
    .normalize("NFC")
    .toLowerCase()
    .replaceAll(/\u001b\[[\d;]*m/g, "")
    .replaceAll(/\d{4}-\d\d-\d\dt\d\d:\d\d:\d\d(\.\d+)?z?/g, "<time>")
    .replaceAll(/\b\d+(\.\d+)? ?(ms|s)\b/g, "<duration>")
    .replaceAll(/\/tmp\/[\w./-]+/g, "<temporary>")
    .replaceAll(/\s+/g, " ")
    .trim();
}

export const fingerprint = ({ kind, text }: Pick<Fragment, "kind" | "text">) =>
  createHash("sha256")
    .update(`${kind}\n${normalise(text)}`)
    .digest("base64url")
    .slice(0, 22);

export type Merged = Fragment & { hash: string; wheres: string[]; times: number };

/** Deduplicates fragments in order; each keeps all its places. */
export function merged(fragments: Fragment[]): Merged[] {
  const found = new Map<string, Merged>();
  for (const fragment of fragments) {
    const hash = fingerprint(fragment);
    const there = found.get(hash);
    if (!there) {
      found.set(hash, { ...fragment, hash, wheres: [fragment.where], times: 1 });
      continue;
    }
    there.times++;
    if (!there.wheres.includes(fragment.where)) there.wheres.push(fragment.where);
  }
  return [...found.values()];
}

const inFull = 300;
const beginning = 200;

/** The length of a reference to a fragment; repeating a shorter fragment wastes nothing. */
export const referenceCharacters = 100;

/** A long fragment is sent as its beginning and a reference, the same to every agent. */
export function shortened({ text, wheres }: Pick<Merged, "text" | "wheres">): string {
  const characters = [...text];
  if (characters.length <= inFull) return text;
  return `${characters.slice(0, beginning).join("").trimEnd()} … (${characters.length} characters; whole in ${wheres.join(", ")})`;
}
