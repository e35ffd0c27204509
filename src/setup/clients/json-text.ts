import type { Node } from "jsonc-parser";

/*
 * Edits of JSON text that touch no byte beside the edited property: the parser's own `modify` reformats the
 * lines around it and takes comments away.
 */

/** Adds a property at the end of an object, indented as its neighbours are. */
export function insertProperty(text: string, object: Node, key: string, value: unknown): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const unit = unitOf(text);
  const outer = indentAt(text, object.offset);
  const property = (indent: string) => `${JSON.stringify(key)}: ${indented(value, unit, indent, eol)}`;
  const last = object.children?.at(-1);
  if (last) {
    const isInline = lineOf(text, last.offset) === lineOf(text, object.offset);
    const end = last.offset + last.length;
    const added = isInline
      ? `, ${JSON.stringify(key)}: ${JSON.stringify(value)}`
      : `,${eol}${indentAt(text, last.offset)}${property(indentAt(text, last.offset))}`;
    return text.slice(0, end) + added + text.slice(end);
  }
  const start = object.offset + 1;
  const end = object.offset + object.length - 1;
  const inner = text.slice(start, end);
  const added = `${eol}${outer}${unit}${property(outer + unit)}`;
  // Comments in an otherwise empty object stay, behind the property.
  return text.slice(0, start) + added + (inner.trim() === "" ? eol + outer : inner) + text.slice(end);
}

export function replaceValue(text: string, node: Node, value: unknown): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const fresh = indented(value, unitOf(text), indentAt(text, node.offset), eol);
  return text.slice(0, node.offset) + fresh + text.slice(node.offset + node.length);
}

/** Removes a property with its comma, and its lines where nothing else is on them. */
export function removeProperty(text: string, property: Node): string {
  const start = property.offset;
  const end = start + property.length;
  const after = /^\s*,/.exec(text.slice(end));
  if (after) return withoutLines(text, start, end + after[0].length);
  const siblings = property.parent?.children ?? [];
  const previous = siblings[siblings.indexOf(property) - 1];
  if (!previous) return withoutLines(text, start, end);
  const comma = text.indexOf(",", previous.offset + previous.length);
  const rest = withoutLines(text, start, end);
  return rest.slice(0, comma) + rest.slice(comma + 1);
}

/** Cuts a range; if only white space is left on its line, the line goes too. */
function withoutLines(text: string, start: number, end: number): string {
  let lineStart = start;
  while (text[lineStart - 1] === " " || text[lineStart - 1] === "\t") lineStart--;
  const isLineStart = lineStart === 0 || text[lineStart - 1] === "\n";
  const after = /^[ \t]*(\r?\n)?/.exec(text.slice(end))?.[0] ?? "";
  const isWhole = isLineStart && after.endsWith("\n");
  return isWhole ? text.slice(0, lineStart) + text.slice(end + after.length) : text.slice(0, start) + text.slice(end);
}

const indented = (value: unknown, unit: string, indent: string, eol: string) =>
  JSON.stringify(value, null, unit).replaceAll("\n", `${eol}${indent}`);

/** The indentation of the file's first indented line. */
const unitOf = (text: string) => /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";

const lineOf = (text: string, offset: number) => text.lastIndexOf("\n", offset - 1);

const indentAt = (text: string, offset: number) => /^[ \t]*/.exec(text.slice(lineOf(text, offset) + 1))?.[0] ?? "";
