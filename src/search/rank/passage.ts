/** What the engines put around what matched; no text has these. */
export const markStart = "\u0001";
export const markEnd = "\u0002";

const words = 24;

/** The few words of a marked text in which the most was found, the earliest of them. */
export function passage(marked: string): string {
  const parts = marked.trim().split(/\s+/);
  const isMarked = (at: number) => parts[at]?.includes(markStart) ?? false;
  let inside = 0;
  let best = { end: 0, count: 0 };
  for (let end = 0; end < parts.length; end++) {
    if (isMarked(end)) inside++;
    if (end >= words && isMarked(end - words)) inside--;
    if (inside > best.count) best = { end, count: inside };
  }
  // The window that first holds them all ends with the last of them: a few words after it tell more.
  const start = Math.max(0, Math.min(best.end - words + 1 + words / 3, parts.length - words));
  const shown = parts.slice(start, start + words).join(" ");
  return `${start > 0 ? "…" : ""}${shown}${start + words < parts.length ? "…" : ""}`;
}
