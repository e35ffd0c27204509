import { styleText } from "node:util";

/** Text from files and agents, without the sequences by which it could steer a terminal (T36). */
export const inert = (text: string) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");

/** A value with every text in it inert, whatever its shape. */
export function inertly<T>(value: T): T {
  if (typeof value === "string") return inert(value) as T;
  if (Array.isArray(value)) return value.map(inertly) as T;
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, inertly(part)])) as T;
}

/** JSON that no terminal takes for more than text: the controls that JSON itself leaves alone are escaped too. */
export const json = (value: unknown) =>
  JSON.stringify(value).replace(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);

type Style = Parameters<typeof styleText>[0];
const styled = (style: Style) => (text: string) =>
  process.stdout.isTTY ? styleText(style, text, { stream: process.stdout, validateStream: true } as object) : text;

export const bold = styled("bold");
export const dim = styled("dim");
export const red = styled("red");
export const yellow = styled("yellow");
export const green = styled("green");

/** Columns padded to their widest cell; the last one runs free. */
export function table(rows: string[][]): string {
  const widths: number[] = [];
  const plain = rows.map((row) => row.map((cell) => cell.replaceAll("\n", " ")));
  for (const row of plain) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return plain
    .map((row) =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

export const when = (iso: string) => (iso === "" ? "–" : iso.slice(0, 16).replace("T", " "));

export const plural = (count: number, word: string, words = `${word}s`) => `${count} ${count === 1 ? word : words}`;

/** A unified diff with removed and added lines in colour. */
export const colouredDiff = (diff: string) =>
  diff
    .split("\n")
    .map((line) => {
      if (/^(---|\+\+\+) /.test(line)) return bold(line);
      return line.startsWith("+") ? green(line) : line.startsWith("-") ? red(line) : line;
    })
    .join("\n");
