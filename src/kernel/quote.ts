/**
 * The rule for quotes: a quote counts if its characters are in the text in this order. White space matches any white
 * space, upper and lower case differ. A quote may not begin or end inside a word or a number ("pass 1" is not in
 * "pass 12"), and may not leave out a negation just before it ("ok 3" is not in "not ok 3").
 */
export function isQuoted(text: string, quote: string): boolean {
  const wanted = flat(lined(quote));
  if (wanted === "") return false;
  const lines = lined(text);
  if (isTrivial(wanted)) return lines.split("\n").some((line) => line.trim() === wanted);
  const within = flat(lines);
  for (let at = within.indexOf(wanted); at !== -1; at = within.indexOf(wanted, at + 1)) {
    if (!cutsWord(within, at, at + wanted.length) && !endsInNegation(lines.slice(0, at))) return true;
  }
  return false;
}

/** Whether the text has these characters anywhere, with any white space between them. */
export const hasText = (text: string, words: string) => flat(lined(text)).includes(flat(lined(words)));

/** The first and last line, from 1, of the first place where a text has the quote. */
export function linesOfQuote(text: string, quote: string): { from: number; to: number } | undefined {
  if (quote.trim() === "") return undefined;
  const lines = text.split("\n");
  // Blank lines count for nothing in a quote, so the text may have some more of them.
  const reach = quote.trim().split("\n").length + 5;
  const has = (from: number, to: number) => hasText(lines.slice(from, to).join("\n"), quote);
  for (let first = 0; first < lines.length; first++) {
    if (!has(first, first + reach)) continue;
    let [from, to] = [first, Math.min(lines.length, first + reach)];
    while (to - 1 > from && has(from, to - 1)) to--;
    while (from + 1 < to && has(from + 1, to)) from++;
    return { from: from + 1, to };
  }
  return undefined;
}

const fewest = 5;

/** Too short to say anything, such as "ok": it counts only as a whole line. */
const isTrivial = (quote: string) => (quote.match(/[\p{L}\p{N}]/gu)?.length ?? 0) < fewest;

/** Runs of white space as one character, which is a line break if the run has one. */
const lined = (text: string) => text.replaceAll(/\s+/g, (run) => (run.includes("\n") ? "\n" : " ")).trim();
/** Of the same length, so that a position in one is a position in the other. */
const flat = (text: string) => text.replaceAll("\n", " ");

/** Scripts without spaces between words have no words that could be cut. */
const wordCharacter = /(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}])[\p{L}\p{N}\p{M}_]/u;
const isWord = (character = "") => wordCharacter.test(character);
const isDigit = (character = "") => /\p{Nd}/u.test(character);

function cutsWord(text: string, from: number, to: number): boolean {
  const [before, first, last, after] = [text[from - 1], text[from], text[to - 1], text[to]];
  if ((isWord(before) && isWord(first)) || (isWord(last) && isWord(after))) return true;
  const cutsStart = isDigit(first) && /[.,]/.test(before ?? "") && isDigit(text[from - 2]);
  const cutsSign = isDigit(first) && before === "-" && !isWord(text[from - 2]);
  const cutsEnd = isDigit(last) && /[.,]/.test(after ?? "") && isDigit(text[to + 1]);
  return cutsStart || cutsSign || cutsEnd;
}

const longestNegation = 12;

const endsInNegation = (before: string) =>
  /(?:^|[^\p{L}])(?:(?:not|no|never|cannot|without) |\p{L}+n['’]t |(?:not|non)-)$/iu.test(
    before.slice(-longestNegation),
  );
