import type * as z from "zod";
import { list, suggest } from "./nearest.ts";

/**
 * A zod issue for a reader who does not know zod: what is expected and what was given instead.
 * `known` are the keys that an unknown key could have meant.
 */
export function issueText(issue: z.core.$ZodIssue, known: readonly string[] = []): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? `missing; expected ${typeWords(issue.expected)}` : wrong(issue);
    case "invalid_value": {
      const values = issue.values.map(String);
      if (issue.input === undefined) return `missing; expected ${list(values)}`;
      const near = suggest(String(issue.input), values);
      const isNear = near.startsWith("did");
      return `expected ${list(values)}, not ${shown(issue.input)}${isNear ? `; ${near}` : ""}`;
    }
    case "unrecognized_keys":
      return issue.keys
        .map((key) => `unknown key ${key}${known.length > 0 ? `; ${suggest(key, known)}` : ""}`)
        .join("; ");
    case "too_small":
      return isOwn(issue) ? issue.message : size(issue, "at least", issue.minimum);
    case "too_big":
      return isOwn(issue) ? issue.message : size(issue, "at most", issue.maximum);
    case "invalid_format":
      return isOwn(issue) ? `${issue.message}${given(issue)}` : `expected ${formatWords(issue.format)}${given(issue)}`;
    case "invalid_union":
      return isOwn(issue) ? issue.message : closest(issue);
    default:
      return isOwn(issue) ? issue.message : withoutTitle(issue);
  }
}

/** True when the schema brings its own message. */
const isOwn = ({ message }: z.core.$ZodIssue) => !/^(Invalid|Too|Unrecognized|Must|Expected)\b/.test(message);

const wrong = (issue: z.core.$ZodIssueInvalidType) =>
  isOwn(issue) ? `${issue.message}${given(issue)}` : `expected ${typeWords(issue.expected)}${given(issue)}`;

/** Zod's message without "Invalid input: " and the like. */
const withoutTitle = ({ message }: z.core.$ZodIssue) =>
  message.replace(/^Invalid [^.:]*[.:] (.)/, (_, first: string) => first.toLowerCase());

const given = ({ input }: z.core.$ZodIssue) => (input === undefined ? "" : `, not ${shown(input)}`);

function shown(value: unknown): string {
  const text = Number.isNaN(value) ? "a value that is not a number" : (JSON.stringify(value) ?? String(value));
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

const words: Record<string, string> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};
const typeWords = (type: string) => words[type] ?? type;

const formats: Record<string, string> = { url: "a URL", email: "an email address", datetime: "a date and time" };
const formatWords = (format: string) => formats[format] ?? `text in the format ${format}`;

const units: Record<string, string> = { string: "characters", array: "items", set: "items", map: "items" };

/** Says "must not be empty" for a minimum of one character or item. */
function size(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, bound: string, limit: number | bigint): string {
  const unit = units[issue.origin];
  if (unit === undefined) return `expected ${bound} ${limit}${given(issue)}`;
  if (bound === "at least" && Number(limit) === 1) return "must not be empty";
  const { length } = (issue.input ?? "") as { length?: number };
  return `expected ${bound} ${limit} ${unit}${length ? `, not ${length}` : ""}`;
}

/** Of a union, the alternative with the fewest mistakes is probably the one that was meant. */
function closest(issue: z.core.$ZodIssueInvalidUnion): string {
  const [best] = issue.errors.toSorted((a, b) => a.length - b.length);
  const [first] = best ?? [];
  if (!first) return withoutTitle(issue);
  return `${first.path.length > 0 ? `${first.path.map(String).join(".")}: ` : ""}${issueText(first)}`;
}
