import { createHash } from "node:crypto";

/** A piece of context that several agents may need: a file, an error, what a dependency left, and where to read it whole. */
export type Fragment = { kind: "file" | "error" | "dependency"; text: string; where: string };

/** The same words are the same fragment, whatever their case, spacing, order of times or process numbers. */
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

/** One of each, in the order they were met; every place that each came from is kept. */
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

/** What naming a fragment costs: sending a shorter one again is no waste. */
export const referenceCharacters = 100;

/** A long fragment is sent as its beginning and the place to read the rest: the same to everyone, whoever comes first. */
export function shortened({ text, wheres }: Pick<Merged, "text" | "wheres">): string {
  const characters = [...text];
  if (characters.length <= inFull) return text;
  return `${characters.slice(0, beginning).join("").trimEnd()} … (${characters.length} characters; whole in ${wheres.join(", ")})`;
}
