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
  /(?<![\p{L}\p{N}])(?:(\d{1,4})(?:st|nd|rd|th)?[\s,./-]+(?:of\s+)?([a-z]{3,9})\b|([a-z]{3,9})\b\.?[\s,./-]+(\d{1,4})(?:st|nd|rd|th)?(?![\p{L}\p{N}]))/giu;
const isoDated = /(?<![\p{L}\p{N}])\d{4}-(0\d|1[0-2])(?:-([0-2]\d|3[01]))?(?![\p{L}\p{N}])/gu;

/** Other spellings of the dates in a query: `Jan 2022` is also searched as `january`, and `2023-05-08` as `8 may`. */
export function dateVariants(query: string): string[] {
  const found: string[] = [];
  for (const [, dayBefore, after, before, dayAfter] of query.matchAll(dated)) {
    const word = (after ?? before ?? "").toLowerCase();
    const month = byAbbreviation.get(word.slice(0, 3));
    if (month === undefined || !(word === month || word.length === 3 || word === "sept")) continue;
    found.push(...[month, month.slice(0, 3)].filter((variant) => variant !== word), ...dayForms(dayBefore ?? dayAfter));
  }
  for (const [, number, day] of query.matchAll(isoDated)) {
    const month = months[Number(number) - 1]?.toLowerCase();
    if (month !== undefined) found.push(month, month.slice(0, 3), ...dayForms(day));
  }
  return [...new Set(found)];
}

/** `8` and `8th`. */
function dayForms(digits = ""): string[] {
  const day = Number(digits);
  if (digits.length > 2 || day < 1 || day > 31) return [];
  const ending = day % 10 > 3 || (day > 10 && day < 14) ? "th" : (["th", "st", "nd", "rd"][day % 10] ?? "th");
  return [String(day), `${day}${ending}`];
}
