import { shortened } from "./notes.ts";
import { quoted } from "./operators.ts";

/** A query as typed, split into words and `name:value` filters. */
export type ParsedQuery = {
  words: string;
  types: string[];
  section?: string;
  author?: string;
  before?: string;
  after?: string;
  /** Invalid filters, each with a valid example. */
  complaints: string[];
  /** Filters that are none: without a value, or with a word instead of a date. Any text is a query, also one with a colon. */
  ignored: string[];
};

/** Text in quotes, or a filter outside of them. */
const quotedOrFilter = new RegExp(
  `${quoted.source}|(?:^|\\s)(type|section|author|before|after):(?:"([^"]*)"|(\\S*))`,
  "giu",
);
/** A day, month or year that exists. */
function isDay(value: string): boolean {
  const [, year, month = "01", day = "01"] = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?$/.exec(value) ?? [];
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day);
}

export function readQuery(raw: string): ParsedQuery {
  const parsed: ParsedQuery = { words: "", types: [], complaints: [], ignored: [] };
  const ignored = new Set<string>();
  parsed.words = raw
    .replace(quotedOrFilter, (whole, _phrase, name: string | undefined, inQuotes?: string, bare?: string) => {
      if (name === undefined) return whole;
      const filter = name.toLowerCase();
      const value = (inQuotes ?? bare ?? "").trim();
      if (value === "") ignored.add(`${filter}: needs a value, such as ${examples[filter]}`);
      else if (/^(before|after)$/.test(filter) && !/^\d/.test(value)) {
        ignored.add(`${shortened(`${filter}:${value}`)} is not a date such as 2026-11-15: searched as words`);
        return whole;
      } else addFilter(parsed, filter, value);
      return " ";
    })
    .replaceAll(/\s+/g, " ")
    .trim();
  return { ...parsed, ignored: [...ignored] };
}

function addFilter(parsed: ParsedQuery, name: string, value: string): void {
  if (name === "type") parsed.types.push(...namesIn(value));
  else if (name === "section") parsed.section = value.replace(/(?<!\/)\/+$/, "");
  else if (name === "author") parsed.author = value;
  else if (!isDay(value))
    parsed.complaints.push(`${name}: expected a date such as 2026-11-15, 2026-11 or 2026, not ${shortened(value)}`);
  else if (name === "before") parsed.before = value;
  else parsed.after = value;
}

const namesIn = (list: string) =>
  list
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);

const examples: Record<string, string> = {
  type: "type:entry",
  section: "section:services",
  author: "author:ada",
  before: "before:2026-11-15",
  after: "after:2026-11",
};
