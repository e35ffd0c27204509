/**
 * The passage of a page that a topic points at. An anchor is stored in source space: UTF-16 offsets into the
 * text of one blob, the quoted text, and some context around it. When the page has changed, the anchor is
 * searched for in these steps, and the first that succeeds decides:
 *
 *   all its words, in unchanged text         → anchored, or moved if white space changed
 *   the same characters elsewhere            in the place the diff leads to → anchored, else → moved
 *   the same but for white space             → moved
 *   the same words but for marks             → moved
 *   most of its words (≥ 0.6)                → moved, with its own words as edges
 *   like it (≥ 0.8) where it stood           → moved        less, or two claims → needs-review
 *   nothing                                  → orphaned
 *
 * A wrong anchor is worse than an orphan: each step requires more evidence the further a place is from the
 * original position, and with less evidence a person has to judge. Only a certain place replaces an anchor, so
 * an uncertain or lost one is searched for from its last certain place.
 */
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { type Followed, follow } from "./anchor/follow.ts";
import { locate } from "./anchor/locate.ts";
import { lineAt } from "./anchor/place.ts";
import { type Provenance, provenanceOf } from "./anchor/provenance.ts";
import { byCharacters, hasForeignLine, resembling } from "./anchor/resemble.ts";
import { type Gap, gapAround, insertions, type LineRun, unchangedLines } from "./anchor/unchanged.ts";
import { plainView, type Span, spacedView, type View, wordsView } from "./anchor/views.ts";

export type Anchor = Span & { quote: string; prefix: string; suffix: string; blob: string };

export type AnchorState = "anchored" | "moved" | "needs-review" | "orphaned";

export type Refound =
  /** `anchor` is in the new text and quotes it. */
  | { state: "anchored" | "moved"; anchor: Anchor; how: How; score: number }
  /** `anchor` is the last certain one; `place` is a candidate in the new text. */
  | { state: "needs-review"; anchor: Anchor; place: Span; how: How; score: number }
  /** `anchor` is the last certain one. */
  | { state: "orphaned"; anchor: Anchor; how: "gone"; score: 0 };

type How = "same" | "quote" | "space" | "words" | "like";

const contextLength = 32;

export function anchorAt(text: string, from: number, to: number, blob: string): Anchor {
  const [start, end] = [splitsPair(text, from) ? from - 1 : from, splitsPair(text, to) ? to + 1 : to];
  return {
    start,
    end,
    quote: text.slice(start, end),
    prefix: text.slice(Math.max(0, start - contextLength), start),
    suffix: text.slice(end, end + contextLength),
    blob,
  };
}

/** Whether the offset splits a surrogate pair. */
const splitsPair = (text: string, at: number) =>
  /[\udc00-\udfff]/.test(text[at] ?? "") && /[\ud800-\udbff]/.test(text[at - 1] ?? "");

/** Finds an anchor of `before` in `after`. Without `before`, only quote and context are available. */
export function refind(anchor: Anchor, before: string | undefined, after: string, blob: string): Refound {
  return refinder(before, after, blob)(anchor);
}

/** Finds many anchors of one text; the expensive comparison is made once. */
export function refinder(before: string | undefined, after: string, blob: string): (anchor: Anchor) => Refound {
  const compared = before === undefined ? undefined : compare(before, after);
  return (anchor) => {
    if (anchor.blob === blob && after.slice(anchor.start, anchor.end) === anchor.quote) {
      return { state: "anchored", anchor, how: "same", score: 1 };
    }
    if (compared?.before.slice(anchor.start, anchor.end) === anchor.quote) return climb(compared, anchor, anchor, blob);
    // The original text is lost: prefix, quote and suffix stand in for it.
    const known = anchor.prefix + anchor.quote + anchor.suffix;
    const start = anchor.prefix.length;
    const passage = { start, end: start + anchor.quote.length };
    return onlyInPlace(anchor, climb(compare(known, after), passage, anchor, blob));
  };
}

/** Without the original text the quote may have occurred twice: accept only the same position with the same context. */
function onlyInPlace(was: Anchor, found: Refound): Refound {
  if (found.state === "needs-review" || found.state === "orphaned") return found;
  const { start, end, prefix, suffix } = found.anchor;
  if (start === was.start && prefix === was.prefix && suffix === was.suffix) return found;
  return { state: "needs-review", anchor: was, place: { start, end }, how: found.how, score: found.score };
}

type Comparison = {
  before: string;
  after: string;
  spaced(): [View, View];
  words(): [View, View];
  runs(): LineRun[];
  provenance(): Provenance;
};

function compare(before: string, after: string): Comparison {
  const once = <T>(make: () => T) => {
    let made: { value: T } | undefined;
    return () => {
      made ??= { value: make() };
      return made.value;
    };
  };
  const runs = once(() => unchangedLines(before, after));
  return {
    before,
    after,
    spaced: once((): [View, View] => [spacedView(before), spacedView(after)]),
    words: once((): [View, View] => [wordsView(before), wordsView(after)]),
    runs,
    provenance: once(() => provenanceOf(before, after, runs())),
  };
}

const rungs = [
  { how: "space", of: (compared: Comparison) => compared.spaced() },
  { how: "words", of: (compared: Comparison) => compared.words() },
] as const;

function climb(compared: Comparison, passage: Span, anchor: Anchor, blob: string): Refound {
  const { before, after } = compared;
  const followed = follow(compared.provenance(), passage);
  if (followed && isIntact(followed, "full")) return inPlace(after, followed, anchor, blob);
  const gap = gapAround(compared.runs(), before, after, passage);
  let isFrequent = false;
  let doubtful: { place: Span; how: How; score: number } | undefined;

  for (const rung of rungs) {
    const found = matchIn(rung.of(compared), passage, gap, after);
    if (found === "too many") isFrequent = true;
    if (!found || found === "too many") continue;
    const exact = sameCharacters(after, found.place, anchor.quote);
    const how = exact ? "quote" : rung.how;
    const place = exact ?? (how === "words" ? withMarks(after, found.place, anchor.quote) : found.place);
    // Without its marks a copy may have more in common with the passage than the passage itself.
    const rivals = [doubtful?.place, followed?.whole ? followed : undefined];
    if (!found.sure || rivals.some((rival) => rival && !overlaps(rival, place))) {
      doubtful ??= { place, how, score: 1 };
      continue;
    }
    const state = exact && found.inPlace ? "anchored" : "moved";
    return { state, anchor: anchorAt(after, place.start, place.end, blob), how, score: 1 };
  }
  if (doubtful) return { state: "needs-review", anchor, ...doubtful };
  // Equal passages cannot all be compared: the unchanged text beside it decides.
  if (followed && isFrequent && isIntact(followed, "local")) return inPlace(after, followed, anchor, blob);
  if (followed && isSure(followed, anchor.quote) && !hasForeignLine(before, anchor.quote, after, followed)) {
    const found = anchorAt(after, followed.start, followed.end, blob);
    return { state: "moved", anchor: found, how: "words", score: followed.score };
  }

  const like = resembling(before, after, passage, gap);
  if (like && like.score >= sureLikeness && like.clear && isNear(gap)) {
    const own = followed && !hasForeignLine(before, anchor.quote, after, followed) ? followed : undefined;
    const { start, end } = edgesOf(like, own);
    return { state: "moved", anchor: anchorAt(after, start, end, blob), how: "like", score: like.score };
  }
  const maybe = like ?? likeElsewhere(compared, anchor.quote) ?? possible(followed);
  if (!maybe) return { state: "orphaned", anchor, how: "gone", score: 0 };
  const place = { start: maybe.start, end: maybe.end };
  return { state: "needs-review", anchor, place, how: "like", score: maybe.score };
}

/** Its words and marks are where they stood, in enough unchanged text. */
const isIntact = ({ whole, clear, moved, proof }: Followed, wanted: Followed["proof"]) =>
  whole && clear && !moved && proof === wanted;

function inPlace(after: string, place: Span, was: Anchor, blob: string): Refound {
  const exact = sameCharacters(after, place, was.quote);
  const { start, end } = exact ?? place;
  const anchor = anchorAt(after, start, end, blob);
  return { state: exact ? "anchored" : "moved", anchor, how: exact ? "quote" : "space", score: 1 };
}

/** Most of its words are left, where they stood or in a moved line. */
function isSure({ whole, score, clear, kept, proof }: Followed, quote: string): boolean {
  const share = /\n\s*\n/.test(quote) ? sureShareOfBlocks : sureShare;
  return !whole && clear && proof !== "none" && score >= share && kept >= leastKept;
}

/** Likeness knows about where a passage is; where its own words are left, they are its edges. */
const edgesOf = (like: Span, followed: Followed | undefined): Span =>
  followed && followed.score >= possibleShare && overlaps(followed, like) ? followed : like;

const overlaps = (one: Span, other: Span) => one.start < other.end && other.start < one.end;

/** Some of its words are left: a person may recognise it. */
const possible = (followed: Followed | undefined) =>
  followed && (followed.whole || (followed.score >= possibleShare && followed.kept >= leastKept))
    ? followed
    : undefined;
const possibleShare = 0.4;
const sureShare = 0.6;
/** Blocks are moved one by one. */
const sureShareOfBlocks = 0.85;
const leastKept = 12;

const sureLikeness = 0.8;
/** A longer replaced stretch is a rewrite: it proves nothing about a single passage in it. */
const nearby = 4000;
const proofInPlace = 24;
const proofElsewhere = 24;
/** Paragraphs of at least this many equal characters are not equal by chance. */
const selfEvident = 120;

const isNear = ({ after }: Gap) => after.end - after.start <= nearby;

function matchIn([before, after]: [View, View], passage: Span, gap: Gap, text: string) {
  const shown = before.show(passage.start, passage.end);
  const found = shown && locate(before.text, after.text, shown);
  if (found === "too many") return found;
  if (!shown || !found) return undefined;
  const place = after.source(found.start, found.end);
  const inPlace = isNear(gap) && place.start >= gap.after.start && place.end <= gap.after.end;
  const length = shown.end - shown.start;
  const proven = inPlace
    ? length + found.context >= proofInPlace
    : found.context >= proofElsewhere || (length >= selfEvident && isBlock(text, place));
  return { place, inPlace, sure: found.clear && proven };
}

/** Whether the span is whole lines between blank lines. */
const isBlock = (text: string, { start, end }: Span) =>
  /(^|\n[ \t]*\n)[ \t]*[^\p{L}\p{M}\p{N}\n]*$/u.test(text.slice(Math.max(0, start - 200), start)) &&
  /^[^\p{L}\p{M}\p{N}\n]*(\n[ \t]*\n|\n?$)/u.test(text.slice(end, end + 200));

/** The exact place, when the found text is identical. */
function sameCharacters(text: string, place: Span, quote: string): Span | undefined {
  const start = place.start - Math.max(0, quote.indexOf(text.slice(place.start, place.end)));
  return text.startsWith(quote, start) ? { start, end: start + quote.length } : undefined;
}

/** Extends a match on words by the markup around the quote. */
function withMarks(text: string, { start, end }: Span, quote: string): Span {
  const before = /^[^\s\p{L}\p{M}\p{N}]*/u.exec(quote)?.[0].length ?? 0;
  const after = /[^\s\p{L}\p{M}\p{N}]*$/u.exec(quote)?.[0].length ?? 0;
  const mark = /[^\s\p{L}\p{M}\p{N}]/u;
  let [from, to] = [start, end];
  while (from > start - before && mark.test(text[from - 1] ?? "")) from--;
  while (to < end + after && mark.test(text[to] ?? "")) to++;
  return { start: from, end: to };
}

const longestElsewhere = 300;

/** A passage that was moved and reworded is only ever a candidate, never certain. */
function likeElsewhere({ runs, after }: Comparison, quote: string) {
  if (quote.length > longestElsewhere || quote.length < 24) return undefined;
  return insertions(runs(), after)
    .filter((span) => span.end - span.start >= quote.length / 2 && span.end - span.start < 50_000)
    .map((span) => byCharacters(after, quote, span))
    .filter((candidate) => candidate !== undefined && candidate.score >= sureLikeness)
    .sort((a, b) => (b?.score ?? 0) - (a?.score ?? 0))[0];
}

type Which = {
  blob: string;
  /** The occurrence, counted from 1. */
  nth?: number | undefined;
  /** Text near the intended occurrence. */
  context?: string | undefined;
};

/** The anchor for a quote, either of the source or of the rendered page. */
export function anchorFor(text: string, quote: string, { blob, nth, context }: Which): Result<Anchor> {
  if (quote.trim() === "") return refuse("invalid", "the quote is empty; quote some words of the page");
  const places = placesOf(text, quote);
  if (places.length === 0) {
    return refuse("not_found", `the page does not contain ${quoted(quote)}; copy the words from the current page`);
  }
  const near = context === undefined ? places : nearest(text, places, context);
  if (near.length === 0)
    return refuse("not_found", `the page does not contain ${quoted(quote)} near ${quoted(context ?? "")}`);
  if (nth !== undefined) {
    const chosen = near[nth - 1];
    if (chosen) return ok(anchorAt(text, chosen.start, chosen.end, blob));
    return refuse(
      "invalid",
      `the page contains ${quoted(quote)} ${near.length} times; nth must be at most ${near.length}, not ${nth}`,
    );
  }
  const [only, ...more] = near;
  if (only && more.length === 0) return ok(anchorAt(text, only.start, only.end, blob));
  const lines = near.slice(0, 20).map(({ start }) => lineAt(text, start));
  return refuse(
    "conflict",
    `the page contains ${quoted(quote)} ${near.length} times (lines ${lines.join(", ")}); quote more words, or choose one with nth or context`,
    { lines },
  );
}

function placesOf(text: string, quote: string): Span[] {
  for (const make of [plainView, spacedView, wordsView]) {
    const view = make(text);
    const wanted = make === plainView ? quote : make(quote).text.trim();
    const places: Span[] = [];
    if (wanted === "") continue;
    for (let at = view.text.indexOf(wanted); at >= 0 && places.length < 1000; at = view.text.indexOf(wanted, at + 1)) {
      places.push(view.source(at, at + wanted.length));
    }
    if (places.length > 0) return places;
  }
  return [];
}

const besideLength = 300;

/** The places whose distance to the context is smallest. */
function nearest(text: string, places: Span[], context: string): Span[] {
  const wanted = spacedView(context).text.trim();
  const rated = places.map((place) => ({ place, distance: distanceTo(text, place, wanted) }));
  const least = Math.min(...rated.map(({ distance }) => distance));
  return rated.filter(({ distance }) => distance === least && distance < besideLength).map(({ place }) => place);
}

function distanceTo(text: string, { start, end }: Span, wanted: string): number {
  const from = Math.max(0, start - besideLength - wanted.length);
  const view = spacedView(text.slice(from, end + besideLength + wanted.length));
  const own = view.show(start - from, end - from);
  let least = Number.POSITIVE_INFINITY;
  for (let at = view.text.indexOf(wanted); own && at >= 0; at = view.text.indexOf(wanted, at + 1)) {
    least = Math.min(least, Math.max(own.start - (at + wanted.length), at - own.end, 0));
  }
  return least;
}

const quoted = (text: string) => {
  const line = text.replace(/\s+/g, " ").trim();
  return `“${line.length > 60 ? `${line.slice(0, 59)}…` : line}”`;
};
