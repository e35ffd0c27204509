/** The name that is being typed after an @, from its @ to the caret. */
export type Typed = { start: number; query: string };

const longestQuery = 60;

/** The @ before the caret, if it can begin a mention: not inside a word, an address or a line of code. */
export function typedMention(text: string, caret: number): Typed | undefined {
  const line = text.slice(text.lastIndexOf("\n", caret - 1) + 1, caret);
  const at = line.lastIndexOf("@");
  if (at < 0 || line.length - at > longestQuery) return undefined;
  if (at > 0 && /[\p{L}\p{N}_.+@/-]/u.test(line[at - 1] ?? "")) return undefined;
  // An odd number of backticks before it: the @ is in code.
  if ((line.slice(0, at).match(/`/g)?.length ?? 0) % 2 === 1) return undefined;
  return { start: caret - (line.length - at), query: line.slice(at + 1) };
}

/** The names that fit what was typed: by their beginning first, then by the beginning of a later word. */
export function fittingNames<N extends { name: string }>(names: readonly N[], query: string, most: number): N[] {
  const wanted = query.toLocaleLowerCase();
  const begins = (name: string) => name.toLocaleLowerCase().startsWith(wanted);
  const first = names.filter(({ name }) => begins(name));
  const later = names.filter(({ name }) => !begins(name) && name.split(/\s+/).slice(1).some(begins));
  return [...first, ...later].slice(0, most);
}

/** The text with the whole name and a space, and where the caret is then. */
export function withName(text: string, { start, query }: Typed, name: string): { text: string; caret: number } {
  const rest = text.slice(start + 1 + query.length);
  const mention = `@${name}${/^\s/.test(rest) ? "" : " "}`;
  return { text: text.slice(0, start) + mention + rest, caret: start + mention.length };
}
