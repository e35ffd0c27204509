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
  /** Filters without a value. They are ignored: any text is a query, also one with a colon. */
  incomplete: string[];
};

const pair = /(?:^|\s)(type|section|author|before|after):(?:"([^"]*)"|(\S*))/gi;
/** A day, month or year that exists. */
function isDay(value: string): boolean {
  const [, year, month = "01", day = "01"] = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?$/.exec(value) ?? [];
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day);
}

export function readQuery(raw: string): ParsedQuery {
  const parsed: ParsedQuery = { words: "", types: [], complaints: [], incomplete: [] };
  parsed.words = raw
    .replace(pair, (_whole, name: string, quoted: string | undefined, bare: string | undefined) => {
      const value = (quoted ?? bare ?? "").trim();
      if (value === "")
        parsed.incomplete.push(`${name.toLowerCase()}: needs a value, such as ${examples[name.toLowerCase()]}`);
      else addFilter(parsed, name.toLowerCase(), value);
      return " ";
    })
    .replaceAll(/\s+/g, " ")
    .trim();
  return parsed;
}

function addFilter(parsed: ParsedQuery, name: string, value: string): void {
  if (name === "type") parsed.types.push(...value.toLowerCase().split(","));
  else if (name === "section") parsed.section = value.replace(/(?<!\/)\/+$/, "");
  else if (name === "author") parsed.author = value;
  else if (!isDay(value))
    parsed.complaints.push(`${name}: expected a date such as 2026-11-15, 2026-11 or 2026, not ${value}`);
  else if (name === "before") parsed.before = value;
  else parsed.after = value;
}

const examples: Record<string, string> = {
  type: "type:entry",
  section: "section:services",
  author: "author:ada",
  before: "before:2026-11-15",
  after: "after:2026-11",
};
