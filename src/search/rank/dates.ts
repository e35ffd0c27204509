const months = "January February March April May June July August September October November December".split(" ");
const days = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** Spells out ISO dates, so that `2023-05-08` is also found as "8 May 2023" and "Monday". */
export function dateWords(text: string): string {
  const found = [...text.matchAll(/\b(\d{4})-(\d\d)-(\d\d)(?!\d)/g)].slice(0, 3).flatMap(([, year, month, day]) => {
    const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
    if (date.getUTCMonth() !== Number(month) - 1) return [];
    return `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${year} ${days[date.getUTCDay()]}`;
  });
  return [...new Set(found)].join(" ");
}
