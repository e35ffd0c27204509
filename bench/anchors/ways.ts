import search from "approx-string-match";
import { anchorAt, refind } from "../../src/review/topics/anchor.ts";
import type { Span } from "./edits.ts";

/** What a way of finding a passage again says: a place it is sure of, one it asks about, or none. */
export type Answer = { place: Span | undefined; asks: boolean };
export type Way = (before: string, after: string, passage: Span) => Answer;

const none: Answer = { place: undefined, asks: false };

export const wayOf =
  (find: typeof refind): Way =>
  (before, after, passage) => {
    const found = find(anchorAt(before, passage.start, passage.end, "old"), before, after, "new");
    if (found.state === "orphaned") return none;
    return found.state === "needs-review" ? { place: found.place, asks: true } : { place: found.anchor, asks: false };
  };

export const ways: Record<string, Way> = {
  Scriptorium: wayOf(refind),

  "without the old text"(before, after, passage) {
    const found = refind(anchorAt(before, passage.start, passage.end, "old"), undefined, after, "new");
    if (found.state === "orphaned") return none;
    return found.state === "needs-review" ? { place: found.place, asks: true } : { place: found.anchor, asks: false };
  },

  /** Exact words, the nearest to where they stood, else the most alike: what annotation libraries do. */
  "quote, context, fuzzy"(before, after, passage) {
    const quote = before.slice(passage.start, passage.end);
    const exact = allOf(after, quote).map((start) => ({ start, end: start + quote.length, errors: 0 }));
    const limit = Math.min(256, Math.floor(quote.length / 2));
    const matches = exact.length > 0 ? exact : search(after, quote, limit);
    const rated = matches.map((match) => ({ match, rate: rate(before, after, passage, match) }));
    const best = rated.sort((a, b) => b.rate - a.rate)[0]?.match;
    return best ? { place: { start: best.start, end: best.end }, asks: false } : none;
  },

  "plain quote"(before, after, passage) {
    const start = after.indexOf(before.slice(passage.start, passage.end));
    return start < 0 ? none : { place: { start, end: start + passage.end - passage.start }, asks: false };
  },

  "position only"(_before, after, passage) {
    return passage.end <= after.length ? { place: passage, asks: false } : none;
  },
};

function allOf(text: string, quote: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(quote); at >= 0; at = text.indexOf(quote, at + 1)) found.push(at);
  return found;
}

/** Likeness of the words weighs most, then of what stands before and after, then nearness. */
function rate(before: string, after: string, passage: Span, match: Span & { errors: number }): number {
  const length = passage.end - passage.start;
  const prefix = alike(
    after.slice(Math.max(0, match.start - 32), match.start),
    before.slice(Math.max(0, passage.start - 32), passage.start),
  );
  const suffix = alike(after.slice(match.end, match.end + 32), before.slice(passage.end, passage.end + 32));
  const near = 1 - Math.abs(match.start - passage.start) / Math.max(1, after.length);
  return 50 * (1 - match.errors / length) + 20 * prefix + 20 * suffix + 2 * near;
}

function alike(text: string, wanted: string): number {
  if (wanted === "" || text === "") return wanted === text ? 1 : 0;
  const [best] = search(text, wanted, wanted.length);
  return best ? 1 - best.errors / wanted.length : 0;
}
