import type { PassageTrustRow } from "../store/trust-tables.ts";
import { type Passage, plainText } from "./passages.ts";

/** The author of a version, and the person who approved it, if any. */
export type Writing = Pick<
  PassageTrustRow,
  "how" | "author" | "role" | "run" | "task" | "epoch" | "version" | "written_at" | "approved_by"
>;

/** A passage with its writer; one that is no longer in the text is kept as gone. */
export type Known = Pick<Passage, "hash" | "heading" | "text"> & {
  gone: boolean;
  /** The passage that it replaced. */
  before: string | null;
  writing: Writing;
};

/**
 * The passages after a version of the text. Passages that stay keep their writer. One that comes back is the writer's
 * own, unless git or a revert put it back: then it has the writer it had.
 */
export function fold(known: ReadonlyMap<string, Known>, passages: Passage[], writing: Writing): Map<string, Known> {
  const next = new Map(known);
  const present = new Map(passages.map((passage) => [passage.hash, passage]));
  const removed = [...known.values()].filter(({ hash, gone }) => !gone && !present.has(hash));
  for (const passage of removed) next.set(passage.hash, { ...passage, gone: true });
  const left = new Set(removed);
  for (const { hash, heading, text } of present.values()) {
    const old = known.get(hash);
    if (old && !old.gone) continue;
    if (old && writing.how === "git") {
      next.set(hash, { ...old, gone: false });
      continue;
    }
    const before = closest(text, left);
    if (before) left.delete(before);
    next.set(hash, { hash, heading, text, gone: false, before: before?.hash ?? null, writing });
  }
  return next;
}

/** The share of words that a passage has in common with the one it replaced. */
const leastShared = 0.4;
const mostCompared = 200;

/** The removed passage that this one is a new wording of. */
function closest(text: string, removed: Set<Known>): Known | undefined {
  const words = wordsOf(text);
  let best: { passage: Known; shared: number } | undefined;
  let compared = 0;
  for (const passage of removed) {
    if (++compared > mostCompared) break;
    const others = wordsOf(passage.text);
    const common = [...words].filter((word) => others.has(word)).length;
    const shared = common / Math.max(1, Math.max(words.size, others.size));
    if (shared >= leastShared && shared > (best?.shared ?? 0)) best = { passage, shared };
  }
  return best?.passage;
}

const wordsOf = (text: string) =>
  new Set(
    plainText(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [],
  );
