/** Put around matched words. `snippet` replaces these characters in texts. */
export const markStart = "\u0001";
export const markEnd = "\u0002";

const windowWords = 24;

/** The earliest window of the text with the most marked words. */
export function passage(marked: string): string {
  const { count, marks } = wordsIn(marked);
  let best = { end: 0, count: 0 };
  for (let last = 0, first = 0; last < marks.length; last++) {
    const end = marks[last] as number;
    while ((marks[first] as number) <= end - windowWords) first++;
    if (last - first + 1 > best.count) best = { end, count: last - first + 1 };
  }
  // `best.end` is the last match: shift the window so that a third of it follows.
  const start = Math.max(0, Math.min(best.end - windowWords + 1 + windowWords / 3, count - windowWords));
  const shown = between(marked, start, start + windowWords).replaceAll(/\s+/g, " ");
  return `${start > 0 ? "…" : ""}${shown}${start + windowWords < count ? "…" : ""}`;
}

/** The number of words, which are what is between spaces, and the positions of those with a mark. */
function wordsIn(text: string): { count: number; marks: number[] } {
  const marks: number[] = [];
  let count = 0;
  let isInside = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isSpace(code)) isInside = false;
    else {
      if (!isInside) count++;
      isInside = true;
      if (code === startCode && marks.at(-1) !== count - 1) marks.push(count - 1);
    }
  }
  return { count, marks };
}

/** From the word at position `first` to the one before `end`. */
function between(text: string, first: number, end: number): string {
  let word = -1;
  let from = 0;
  let to = 0;
  let isInside = false;
  for (let at = 0; at < text.length; at++) {
    if (isSpace(text.charCodeAt(at))) {
      isInside = false;
      continue;
    }
    if (!isInside) word++;
    if (word === end) break;
    if (!isInside && word === first) from = at;
    isInside = true;
    to = at + 1;
  }
  return text.slice(from, to);
}

const startCode = markStart.charCodeAt(0);

/** As `\s`. */
const isSpace = (code: number) => code === 32 || (code >= 9 && code <= 13) || (code >= 160 && otherSpaces.has(code));

const otherSpaces = new Set(
  [0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff].concat(
    Array.from({ length: 11 }, (_, at) => 0x2000 + at),
  ),
);
