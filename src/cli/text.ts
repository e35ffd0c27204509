import { styleText } from "node:util";
import { escapeHidden, spellHidden } from "../kernel/hidden.ts";

/**
 * Text from files and agents with control, bidirectional and invisible characters spelled out, so that it can neither
 * steer a terminal nor look different from what it is (T35, T36).
 */
export const inert = (text: string) => spellHidden(text.replaceAll("\r\n", "\n")).replaceAll("\r", "[U+000D]");

/** The same for a finished text, which keeps the styles that this file adds. */
export const printable = (text: string) =>
  text
    .split(/(\u001b\[(?:[12]|22|3[1239])m)/)
    .map((part, at) => (at % 2 === 1 ? part : inert(part)))
    .join("");

/** A value with every text in it inert, whatever its shape. */
export function inertly<T>(value: T): T {
  if (typeof value === "string") return inert(value) as T;
  if (Array.isArray(value)) return value.map(inertly) as T;
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, inertly(part)])) as T;
}

/** Exact data that shows every character: those that JSON leaves as they are, but nobody can see, are escaped too. */
export const json = (value: unknown) => escapeHidden(JSON.stringify(value));

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
