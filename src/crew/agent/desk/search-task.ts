import type { ThreadTask } from "../../../kernel/threads/threads.ts";

export type Pattern = { source: string; flags: string; literal: boolean };
export type SearchedFile = { path: string; text: string };
/** A matching line with its context, as ripgrep prints it: `path:line:text`, context lines with `-`. */
export type Match = string[];

type Input = { files: SearchedFile[]; pattern: Pattern; context: number };

const longestLine = 400;

/**
 * Finds the lines of files that match. A regular expression always runs in a thread, however short the text: some
 * take exponential time on thirty characters, and a thread can be stopped.
 */
export const searchTask: ThreadTask<Input, { path: string; matches: Match[] }[]> = {
  name: "search-files",
  doing: "matching this pattern",
  remedy: "use a simpler pattern without nested repetition, or literal: true",
  size: ({ files, pattern }) =>
    pattern.literal ? files.reduce((sum, { text }) => sum + text.length, 0) : Number.POSITIVE_INFINITY,
  run({ files, pattern, context }) {
    const regex = new RegExp(pattern.source, pattern.flags);
    return files.map(({ path, text }) => ({ path, matches: matchesIn(path, text, regex, context) }));
  },
};

function matchesIn(path: string, text: string, regex: RegExp, context: number): Match[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const shown = (at: number, sign: ":" | "-") =>
    `${path}${sign}${at + 1}${sign}${cut((lines[at] ?? "").replace(/\r$/, ""))}`;
  const found: Match[] = [];
  for (const [at, line] of lines.entries()) {
    if (!regex.test(line.endsWith("\r") ? line.slice(0, -1) : line)) continue;
    const [from, to] = [Math.max(0, at - context), Math.min(lines.length - 1, at + context)];
    found.push(range(from, to).map((one) => shown(one, one === at ? ":" : "-")));
  }
  return found;
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

const cut = (line: string) =>
  line.length <= longestLine ? line : `${line.slice(0, longestLine)}… (${line.length} characters)`;

/** The pattern as JavaScript spells it. Throws a SyntaxError for one that is invalid. */
export function patternOf(text: string, literal: boolean, ignoreCase: boolean): Pattern {
  const flags = ignoreCase ? "iu" : "u";
  if (literal) return { source: text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), flags, literal };
  // Rust and Python set flags in front; `m` and `s` do not matter within one line.
  const [, given = "", body = text] = /^\(\?([ims]+)\)([\s\S]*)$/.exec(text) ?? [];
  const all = given.includes("i") ? "iu" : flags;
  for (const tried of [all, all.replace("u", "")]) {
    try {
      new RegExp(body, tried);
      return { source: body, flags: tried, literal };
    } catch (error) {
      // With the flag u, needless escapes such as \- are errors; ripgrep accepts them.
      if (tried === all) continue;
      throw error;
    }
  }
  throw new SyntaxError(text);
}
