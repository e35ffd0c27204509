/** Put around matched words. `snippet` replaces these characters in texts. */
export const markStart = "\u0001";
export const markEnd = "\u0002";

const windowWords = 24;

/** The earliest window of the text with the most marked words. */
export function passage(marked: string): string {
  const parts = marked.trim().split(/\s+/);
  const isMarked = (at: number) => parts[at]?.includes(markStart) ?? false;
  let inside = 0;
  let best = { end: 0, count: 0 };
  for (let end = 0; end < parts.length; end++) {
    if (isMarked(end)) inside++;
    if (end >= windowWords && isMarked(end - windowWords)) inside--;
    if (inside > best.count) best = { end, count: inside };
  }
  // `best.end` is the last match: shift the window so that a third of it follows.
  const start = Math.max(0, Math.min(best.end - windowWords + 1 + windowWords / 3, parts.length - windowWords));
  const shown = parts.slice(start, start + windowWords).join(" ");
  return `${start > 0 ? "…" : ""}${shown}${start + windowWords < parts.length ? "…" : ""}`;
}
