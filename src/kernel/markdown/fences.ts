/** An open code fence. */
export type CodeFence = { mark: string; length: number };

/**
 * The fence that is open after a line, by CommonMark's rules: a fence closes at a line of at least as many of its
 * own marks and nothing else, and the info string of a backtick fence has no backtick. Strip the indentation and
 * markers of quotes and lists first, where they matter.
 */
export function fenceAfter(open: CodeFence | undefined, line: string): CodeFence | undefined {
  const [, marks = "", info = ""] = /^ {0,3}(`{3,}|~{3,})(.*)/.exec(line) ?? [];
  const mark = marks[0];
  if (mark === undefined) return open;
  if (open) return mark === open.mark && marks.length >= open.length && info.trim() === "" ? undefined : open;
  return mark === "`" && info.includes("`") ? undefined : { mark, length: marks.length };
}
