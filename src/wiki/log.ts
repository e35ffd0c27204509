import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Author } from "./entry.ts";

const longest = 4000;
const breaksLine = /[\n\r\u2028\u2029\u0000-\u0008\u000b-\u001f\u007f]/;

/** An appended line without its time: `engineer (run r-1): text`. */
export function logRemark(line: string, by: Author): Result<string> {
  const text = line.trim();
  if (text === "") return refuse("invalid", "the line is empty; write what happened in one sentence");
  // A line break in the text or in the author's name would make one append look like two.
  const label = `${by.role ?? by.name}${by.run ? ` (run ${by.run})` : ""}`;
  if (breaksLine.test(text)) {
    return refuse("invalid", "the line contains a line break or control character; append one line at a time");
  }
  if (breaksLine.test(label))
    return refuse("invalid", "the role, name or run contains a line break or control character");
  if (text.length > longest) {
    return refuse("invalid", `the line has ${text.length} characters; the maximum is ${longest}`);
  }
  return ok(`${label}: ${text}`);
}

export const logLine = (at: string, remark: string) => `- ${at} ${remark}\n`;

/** The body after an append; adds a line break first if the body lacks one. */
export const appendTo = (body: string, line: string) =>
  body === "" || body.endsWith("\n") ? body + line : `${body}\n${line}`;

/** Checks append-only: the later body starts with the earlier one and continues on a new line. */
export function keepsLog(before: string, after: string): boolean {
  const kept = before.trimEnd();
  return kept === "" || (after.startsWith(kept) && /^[ \t\r]*(\n|$)/.test(after.slice(kept.length)));
}
