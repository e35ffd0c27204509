/** Invisible characters that change how text is displayed (T35). */

/** Splits a text into visible pieces and hidden characters, the latter as code points: `U+202E U+200B`. */
export function splitHidden(text: string): { text: string; hidden: boolean }[] {
  const pieces: { text: string; hidden: boolean }[] = [];
  let start = 0;
  let codes: string[] = [];
  const endHidden = () => {
    if (codes.length > 0) pieces.push({ text: codes.join(" "), hidden: true });
    codes = [];
  };

  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at) ?? 0;
    const width = code > 0xffff ? 2 : 1;
    if (isHidden(code)) {
      if (start < at) {
        endHidden();
        pieces.push({ text: text.slice(start, at), hidden: false });
      }
      codes.push(`U+${code.toString(16).toUpperCase().padStart(4, "0")}`);
      start = at + width;
    }
    at += width;
  }
  endHidden();
  if (start < text.length) pieces.push({ text: text.slice(start), hidden: false });
  return pieces;
}

/** For places without markup, such as titles: `pay[U+202E]ee`. */
export function spellHidden(text: string): string {
  return splitHidden(text)
    .map((piece) => (piece.hidden ? `[${piece.text}]` : piece.text))
    .join("");
}

/** For text that a model reads: what a person cannot see must not instruct it. */
export const removeHidden = (text: string): string =>
  splitHidden(text)
    .map((piece) => (piece.hidden ? "" : piece.text))
    .join("");

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

function isHidden(code: number): boolean {
  if (code >= 0x20 && code < 0x7f) return false;
  return hiddenRanges.some(([first, last]) => code >= first && code <= last);
}
