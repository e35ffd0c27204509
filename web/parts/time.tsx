const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const short = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const long = new Intl.DateTimeFormat("en-GB", { dateStyle: "full" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "short" });

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ["minute", 60],
  ["hour", 24],
  ["day", 7],
];

/** When it was, in words; the exact time is in the title. */
export function Time({ at }: { at: string }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return null;
  return (
    <time dateTime={date.toISOString()} title={full.format(date)}>
      {ago(date)}
    </time>
  );
}

/** The day in words, for headings. */
export function dayOf(at: string): string {
  const date = new Date(at);
  const startOf = (day: Date) => new Date(day.getFullYear(), day.getMonth(), day.getDate()).getTime();
  const passed = Math.round((startOf(new Date()) - startOf(date)) / 86_400_000);
  return passed === 0 ? "Today" : passed === 1 ? "Yesterday" : long.format(date);
}

function ago(date: Date): string {
  let passed = (Date.now() - date.getTime()) / 60_000;
  if (Math.abs(passed) < 1) return "just now";
  for (const [unit, size] of steps) {
    if (Math.abs(passed) < size) return relative.format(-Math.trunc(passed), unit);
    passed /= size;
  }
  return short.format(date);
}

export const countOf = (count: number, one: string, many: string) =>
  `${count.toLocaleString("en-GB")} ${count === 1 ? one : many}`;

export function bytes(size: number): string {
  if (size < 1000) return `${size}\u00a0B`;
  const units = ["kB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log10(size) / 3), units.length);
  return `${(size / 1000 ** power).toFixed(1)}\u00a0${units[power - 1]}`;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 90) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = seconds / 60;
  return minutes < 90 ? `${Math.round(minutes)} min` : `${(minutes / 60).toFixed(1)} h`;
}
