/** Invisible characters that change how text is displayed (T35). */

const hiddenRanges: [number, number][] = [
  [0x00, 0x08], // controls but tab and newlines
  [0x0b, 0x0c],
  [0x0e, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad], // soft hyphen
  [0x034f, 0x034f], // a joiner that joins nothing one can see
  [0x061c, 0x061c], // Arabic letter mark
  [0x115f, 0x1160], // letters that are empty: they pass for part of a name
  [0x17b4, 0x17b5],
  [0x180e, 0x180e],
  [0x200b, 0x200f], // zero-width characters and direction marks
  [0x2028, 0x202e], // line separators, bidi embeddings and overrides
  [0x2060, 0x206f], // word joiner, invisible operators, bidi isolates
  [0x3164, 0x3164], // an empty letter again, and its narrow twin
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  [0xe0000, 0xe0fff], // tags and the further variation selectors, which can spell out whole texts
];

const range = ([first, last]: [number, number]) => `\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`;
const hiddenRun = new RegExp(`[${hiddenRanges.map(range).join("")}]+`, "gu");

/** Splits a text into visible pieces and hidden characters, the latter as code points: `U+202E U+200B`. */
export function splitHidden(text: string): { text: string; hidden: boolean }[] {
  const pieces: { text: string; hidden: boolean }[] = [];
  let start = 0;
  for (const { index, 0: run } of text.matchAll(hiddenRun)) {
    if (start < index) pieces.push({ text: text.slice(start, index), hidden: false });
    pieces.push({ text: codePoints(run), hidden: true });
    start = index + run.length;
  }
  if (start < text.length) pieces.push({ text: text.slice(start), hidden: false });
  return pieces;
}

const codePoints = (run: string) =>
  Array.from(run, (char) => `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ");

/** For places without markup, such as titles: `pay[U+202E]ee`. */
export const spellHidden = (text: string): string => text.replace(hiddenRun, (run) => `[${codePoints(run)}]`);

/** For text that a model reads: what a person cannot see must not instruct it. */
export const removeHidden = (text: string): string => text.replace(hiddenRun, "");

/** For JSON, which stays exact: `\u202e` instead of the character. */
export const escapeHidden = (text: string): string =>
  text.replace(hiddenRun, (run) =>
    Array.from({ length: run.length }, (_, at) => `\\u${run.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
