import { removeHidden, splitHidden } from "../kernel/hidden.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Author } from "./entry.ts";

const longest = 4000;
const breaksLine = /[\n\r\p{Zl}\p{Zp}\p{Cc}]/u;
/** Joins letters in Persian or parts of an emoji; anywhere else it is invisible. */
const joiner = /(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])/g;

/** An appended line without its time: `engineer (run r-1): text`. It reads back as one line of this author. */
export function logRemark(line: string, by: Author): Result<string> {
  const text = line.replaceAll("\t", " ").trim();
  if (text === "") return refuse("invalid", "the line is empty; write what happened in one sentence");
  // A line break in the text or in the author's name would make one append look like two.
  if (breaksLine.test(text)) {
    return refuse("invalid", "the line contains a line break or control character; append one line at a time");
  }
  const hidden = splitHidden(text.replaceAll(joiner, "")).find((piece) => piece.hidden);
  if (hidden) return refuse("invalid", `the line contains invisible characters (${hidden.text}); remove them`);
  if (text.length > longest) {
    return refuse("invalid", `the line has ${text.length} characters; the maximum is ${longest}`);
  }
  return ok(`${nameInLog(by.role ?? by.name)}${by.run ? ` (run ${by.run})` : ""}: ${text}`);
}

/** A person's name without what would read as another author, run or line. */
const nameInLog = (name: string) =>
  removeHidden(name)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s:()]+/gu, " ")
    .trim() || "unknown";

/** A text of any length as the text of a log line. */
export function asLogText(text: string, most: number): string {
  const line = removeHidden(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")).trim();
  return line.length > most ? `${line.slice(0, most - 1).replace(/\p{Surrogate}$/u, "")}…` : line;
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

/** True if every line of the earlier body is in the later one, in the same order: a merge adds lines between. */
export function keepsLines(before: string, after: string): boolean {
  const later = after.split("\n").values();
  return before
    .split("\n")
    .filter((line) => line.trim() !== "")
    .every((line) => {
      for (const other of later) if (other === line) return true;
      return false;
    });
}
