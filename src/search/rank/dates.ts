const months = "January February March April May June July August September October November December".split(" ");
const days = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
const maxDates = 6;

/** A day of a month, from 1. */
type Day = { year: number; month: number; day: number };

const noDigit = "(?![\\p{L}\\p{N}_]|[./-]\\d)";
const start = "(?<![\\p{L}\\p{N}_]|\\d[./-])";
/** `2023-05-08`, `2023/05/08`, `20230508`; `08.05.2023`; `5/8/2023`, which is a day in May or in August. */
const numeric = new RegExp(
  `${start}(?:((?:19|20)\\d\\d)(?:([-/.])(\\d\\d?)\\2(\\d\\d?)|(\\d\\d)(\\d\\d))|(\\d\\d?)([./-])(\\d\\d?)\\8((?:19|20)\\d\\d))${noDigit}`,
  "gu",
);

/** The days that numbers in a text stand for; of `2023-05-08T10:00` too. */
function daysIn(text: string): Day[] {
  return [...text.replaceAll(/(?<=\d{4}-\d\d-\d\d)T(?=\d)/g, " ").matchAll(numeric)].flatMap((found) => {
    const [, year, , month, day, compactMonth, compactDay, first, separator, second, yearAfter] = found;
    const spelled =
      year === undefined
        ? [[yearAfter, second, first], ...(separator === "/" && first !== second ? [[yearAfter, first, second]] : [])]
        : [[year, month ?? compactMonth, day ?? compactDay]];
    return spelled.flatMap((numbers) => {
      const [year = 0, month = 0, day = 0] = numbers.map(Number);
      const date = new Date(Date.UTC(year, month - 1, day));
      return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? [{ year, month, day }] : [];
    });
  });
}

/** Spells out dates in numbers, so that `2023-05-08` is also found as "8 May 2023" and "Monday". */
export function dateWords(text: string): string {
  const found = daysIn(text)
    .slice(0, maxDates)
    .map(({ year, month, day }) => {
      const weekday = days[new Date(Date.UTC(year, month - 1, day)).getUTCDay()];
      return `${day} ${months[month - 1]} ${year} ${weekday}`;
    });
  return [...new Set(found)].join(" ");
}

const byAbbreviation = new Map(months.map((month) => [month.slice(0, 3).toLowerCase(), month.toLowerCase()]));
/** A month beside a day or a year; by itself `mar` or `may` is seldom a month. */
const dated =
  /(?<![\p{L}\p{N}])(?:(\d{1,4})(?:st|nd|rd|th)?[\s,./-]+(?:of\s+)?([a-z]{3,9})\b|([a-z]{3,9})\b\.?[\s,./-]+(\d{1,4})(?:st|nd|rd|th)?(?![\p{L}\p{N}]))/giu;
/** A month without a day. */
const isoMonth = /(?<![\p{L}\p{N}])\d{4}-(0\d|1[0-2])(?![\p{L}\p{N}]|-\d)/gu;

/** Other spellings of the dates in a query: `Jan 2022` is also searched as `january`, and `2023-05-08` as `8 may`. */
export function dateVariants(query: string): string[] {
  const found: string[] = [];
  for (const [, dayBefore, after, before, dayAfter] of query.matchAll(dated)) {
    const word = (after ?? before ?? "").toLowerCase();
    const month = byAbbreviation.get(word.slice(0, 3));
    if (month === undefined || !(word === month || word.length === 3 || word === "sept")) continue;
    found.push(...[month, month.slice(0, 3)].filter((variant) => variant !== word), ...dayForms(dayBefore ?? dayAfter));
  }
  for (const { year, month, day } of daysIn(query))
    found.push(...monthForms(month), ...dayForms(String(day)), `${year}`);
  for (const [, month] of query.matchAll(isoMonth)) found.push(...monthForms(Number(month)));
  return [...new Set(found)];
}

/** `may` and its abbreviation. */
const monthForms = (number: number): string[] => {
  const month = months[number - 1]?.toLowerCase();
  return month === undefined ? [] : [month, month.slice(0, 3)];
};

/** `8` and `8th`. */
function dayForms(digits = ""): string[] {
  const day = Number(digits);
  if (digits.length > 2 || day < 1 || day > 31) return [];
  const ending = day % 10 > 3 || (day > 10 && day < 14) ? "th" : (["th", "st", "nd", "rd"][day % 10] ?? "th");
  return [String(day), `${day}${ending}`];
}
