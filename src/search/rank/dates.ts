const months = "January February March April May June July August September October November December".split(" ");
const days = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
const maxDates = 6;

/** Spells out ISO dates, so that `2023-05-08` is also found as "8 May 2023" and "Monday". */
export function dateWords(text: string): string {
  const found = [...text.matchAll(/\b(\d{4})-(\d\d)-(\d\d)(?!\d)/g)]
    .slice(0, maxDates)
    .flatMap(([, year, month, day]) => {
      const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
      if (date.getUTCMonth() !== Number(month) - 1) return [];
      return `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${year} ${days[date.getUTCDay()]}`;
    });
  return [...new Set(found)].join(" ");
}

const byAbbreviation = new Map(months.map((month) => [month.slice(0, 3).toLowerCase(), month.toLowerCase()]));
/** A month beside a day or a year; by itself `mar` or `may` is seldom a month. */
const dated =
  /(?<![\p{L}\p{N}])(?:\d{1,4}(?:st|nd|rd|th)?[\s,./-]+(?:of\s+)?([a-z]{3,9})\b|([a-z]{3,9})\b\.?[\s,./-]+\d{1,4}(?![\p{L}\p{N}]))/giu;

/** The other spelling of each month in a date: `Jan 2022` is also searched as `january`, and the reverse. */
export function monthVariants(query: string): string[] {
  const found = new Set<string>();
  for (const [, after, before] of query.matchAll(dated)) {
    const word = (after ?? before ?? "").toLowerCase();
    const month = byAbbreviation.get(word.slice(0, 3));
    if (month === undefined || !(word === month || word.length === 3 || word === "sept")) continue;
    for (const variant of [month, month.slice(0, 3)]) if (variant !== word) found.add(variant);
  }
  return [...found];
}
