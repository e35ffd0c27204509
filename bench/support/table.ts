export type Target = { says: string; met: boolean };
export type Row = { what: string; figures: Record<string, number | string>; target?: Target };
export type Table = { question: string; rows: Row[]; notes?: string[] };

export const atMost = (limit: number, found: number, unit: string): Target => ({
  says: `target ≤ ${limit} ${unit}: ${short(found)} ${unit}`,
  met: found <= limit,
});

export const atLeast = (limit: number, found: number, unit: string): Target => ({
  says: `target ≥ ${limit} ${unit}: ${short(found)} ${unit}`,
  met: found >= limit,
});

/** Something that must be so, such as nothing lost. */
export const holds = (says: string, met: boolean): Target => ({ says: `target ${says}`, met });

export function spell({ question, rows, notes = [] }: Table): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row.figures)))];
  const lines = [
    ["", ...columns, ""],
    ...rows.map(({ what, figures, target }) => [
      what,
      ...columns.map((column) => shown(figures[column])),
      target ? `${target.says}, ${target.met ? "met" : "MISSED"}` : "",
    ]),
  ];
  const widths = lines[0]?.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0))) ?? [];
  const isFigure = (at: number) => at > 0 && at <= columns.length;
  const text = lines.map((line) =>
    line
      .map((cell, at) => (isFigure(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
  return [question, ...text, ...notes.map((note) => `  ${note}`), ""].join("\n");
}

const shown = (value: number | string | undefined) =>
  value === undefined ? "" : typeof value === "number" ? short(value) : value;

function short(value: number): string {
  const size = Math.abs(value);
  const digits = Number.isInteger(value) || size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return value.toFixed(digits);
}
