/** `yaml` is the text between the `---` lines. `bodyStart` is the offset behind them and one blank line. */
export type Frontmatter = { yaml: string; bodyStart: number };

/** Finds frontmatter at the beginning of a text, behind a byte order mark, with \n or \r\n; undefined if it is not closed. */
export function findFrontmatter(text: string): Frontmatter | undefined {
  const opening = /^\ufeff?---\r?\n/.exec(text)?.[0];
  if (opening === undefined) return undefined;
  for (let at = opening.length; ; ) {
    const newline = text.indexOf("\n", at);
    const line = text.slice(at, newline < 0 ? undefined : newline);
    if (line.trimEnd() === "---") {
      const after = newline < 0 ? text.length : newline + 1;
      const blank = /^\r?\n/.exec(text.slice(after, after + 2))?.[0] ?? "";
      return { yaml: text.slice(opening.length, at), bodyStart: after + blank.length };
    }
    if (newline < 0) return undefined;
    at = newline + 1;
  }
}

/** Where the body begins: behind the frontmatter, or behind the byte order mark. */
export const bodyStart = (text: string): number =>
  findFrontmatter(text)?.bodyStart ?? (text.startsWith("\ufeff") ? 1 : 0);
