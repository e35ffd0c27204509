/** What a person typed: words, and `name:value` pairs that narrow the search. */
export type Asked = {
  words: string;
  types: string[];
  section?: string;
  author?: string;
  before?: string;
  after?: string;
  /** Filters that make no sense, each with what would. */
  complaints: string[];
};

const pair = /(?:^|\s)(type|section|author|before|after):(?:"([^"]*)"|(\S*))/gi;
const day = /^\d{4}(-\d\d(-\d\d)?)?$/;

export function readQuery(raw: string): Asked {
  const asked: Asked = { words: "", types: [], complaints: [] };
  asked.words = raw
    .replace(pair, (_whole, name: string, quoted: string | undefined, bare: string | undefined) => {
      const value = (quoted ?? bare ?? "").trim();
      if (value === "")
        asked.complaints.push(`${name.toLowerCase()}: needs a value, such as ${examples[name.toLowerCase()]}`);
      else take(asked, name.toLowerCase(), value);
      return " ";
    })
    .replaceAll(/\s+/g, " ")
    .trim();
  return asked;
}

function take(asked: Asked, name: string, value: string): void {
  if (name === "type") asked.types.push(...value.toLowerCase().split(","));
  else if (name === "section") asked.section = value.replace(/(?<!\/)\/+$/, "");
  else if (name === "author") asked.author = value;
  else if (!day.test(value))
    asked.complaints.push(`${name}: takes a day such as 2026-11-15, a month or a year; not ${value}`);
  else if (name === "before") asked.before = value;
  else asked.after = value;
}

const examples: Record<string, string> = {
  type: "type:entry",
  section: "section:services",
  author: "author:ada",
  before: "before:2026-11-15",
  after: "after:2026-11",
};
