/**
 * A text that knows where each of its characters came from, so that after any edits the truth about
 * a passage is known. New characters have no origin; moved and copied ones keep theirs.
 */
export type Tracked = { text: string; origins: number[] };

export const tracked = (text: string): Tracked => ({ text, origins: Array.from({ length: text.length }, (_, i) => i) });

export const fresh = (text: string): Tracked => ({ text, origins: Array.from({ length: text.length }, () => -1) });

export const slice = ({ text, origins }: Tracked, start: number, end = text.length): Tracked => ({
  text: text.slice(start, end),
  origins: origins.slice(start, end),
});

export const join = (...parts: Tracked[]): Tracked => ({
  text: parts.map((part) => part.text).join(""),
  origins: parts.flatMap((part) => part.origins),
});

export const replace = (whole: Tracked, start: number, end: number, by: Tracked | string): Tracked =>
  join(slice(whole, 0, start), typeof by === "string" ? fresh(by) : by, slice(whole, end));

/** Where `start`…`end` of the first text is now: from its first surviving character to its last. */
export function whereabouts(whole: Tracked, start: number, end: number): { start: number; end: number } | undefined {
  const first = whole.origins.findIndex((origin) => origin >= start && origin < end);
  if (first < 0) return undefined;
  const last = whole.origins.findLastIndex((origin) => origin >= start && origin < end);
  return { start: first, end: last + 1 };
}

type Span = { start: number; end: number };

/** What counts in a passage: its letters and digits, or its marks when it has nothing else. */
const telling = (was: string, { start, end }: Span) => {
  const wordly = /[\p{L}\p{M}\p{N}]/u;
  return wordly.test(was.slice(start, end)) ? wordly : /\S/;
};

/** How much of the passage's own words survived anywhere, from 0 to 1. */
export function survival(was: string, now: Tracked, passage: Span): number {
  const counts = telling(was, passage);
  const mine = new Set<number>();
  for (let i = passage.start; i < passage.end; i++) if (counts.test(was[i] ?? "")) mine.add(i);
  if (mine.size === 0) return 1;
  return new Set(now.origins.filter((origin) => mine.has(origin))).size / mine.size;
}

/**
 * Whether a place holds the passage: at least half of what survived of its words, and of words
 * that stood elsewhere before no more than a third.
 */
export function holds(was: string, now: Tracked, passage: Span, place: Span): boolean {
  const counts = telling(was, passage);
  const isMine = (origin: number) => origin >= passage.start && origin < passage.end && counts.test(was[origin] ?? "");
  let [mine, foreign, all] = [0, 0, 0];
  for (let i = place.start; i < place.end; i++) {
    if (!counts.test(now.text[i] ?? "")) continue;
    const origin = now.origins[i] ?? -1;
    all++;
    if (isMine(origin)) mine++;
    else if (origin >= 0) foreign++;
  }
  const survived = new Set(now.origins.filter(isMine)).size;
  return survived > 0 && mine >= survived / 2 && foreign <= all / 3;
}
