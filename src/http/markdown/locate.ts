/**
 * Maps rendered text to source offsets, so that a selection in the page can be found in the source. Text that equals
 * its source is mapped character by character; escapes and marks are skipped, entities are mapped as a whole.
 */
import type { Element, HtmlNode, Root, SourceSpan, Text } from "./tree.ts";

export type LocatedText = Text & { data?: { place?: SourceSpan } };

/** Splits every text of the tree into pieces with source offsets. */
export function locate(parent: Root | Element, source: string): void {
  parent.children = parent.children.flatMap((child) => located(child, parent, source)) as Element["children"];
}

function located(node: HtmlNode, parent: Root | Element, source: string): HtmlNode[] {
  if (node.type === "element") locate(node, source);
  if (node.type !== "text") return [node];
  const span = spanOf(node, parent, source);
  if (!span) return [node];
  return runs(node.value, source, span).map(
    ({ value, place }): LocatedText => ({ type: "text", value, data: { place } }),
  );
}

/** The parser gives the text of a fenced block no position: it begins after the line of the fence. */
function spanOf(node: Text, parent: Root | Element, source: string): SourceSpan | undefined {
  const own = node.position;
  if (own?.start.offset !== undefined && own.end.offset !== undefined) {
    return { from: own.start.offset, to: own.end.offset };
  }
  const block = parent.type === "element" && parent.tagName === "code" ? parent.position : undefined;
  if (block?.start.offset === undefined || block.end.offset === undefined) return undefined;
  const { offset } = block.start;
  const isFenced = /^(?:`{3}|~{3})/.test(source.slice(offset, offset + 3));
  const from = isFenced ? source.indexOf("\n", offset) + 1 : offset;
  return from > 0 ? { from, to: block.end.offset } : undefined;
}

type Run = { value: string; place: SourceSpan };

/** Splits a text into runs that are contiguous in the source. */
export function runs(value: string, source: string, { from, to }: SourceSpan): Run[] {
  const found: Run[] = [];
  const add = (text: string, place: SourceSpan) => {
    const last = found.at(-1);
    const continues = last && last.place.to === place.from && isExact(last) && text.length === place.to - place.from;
    if (continues) found[found.length - 1] = { value: last.value + text, place: { ...last.place, to: place.to } };
    else found.push({ value: text, place });
  };

  let at = from;
  for (let i = 0; i < value.length; ) {
    if (at < to && same(value[i], source[at])) {
      let end = 1;
      while (i + end < value.length && at + end < to && same(value[i + end], source[at + end])) end++;
      add(value.slice(i, i + end), { from: at, to: at + end });
      i += end;
      at += end;
      continue;
    }
    const semicolon = source[at] === "&" ? source.indexOf(";", at) : -1;
    if (semicolon > 0 && semicolon - at < 40 && semicolon < to) {
      const width = (value.codePointAt(i) ?? 0) > 0xffff ? 2 : 1;
      add(value.slice(i, i + width), { from: at, to: semicolon + 1 });
      i += width;
      at = semicolon + 1;
      continue;
    }
    const next = nextSame(value[i], source, at + 1, to);
    if (next < 0) {
      add(value.slice(i), { from: Math.min(at, to), to });
      break;
    }
    at = next;
  }
  return found;
}

export const isExact = ({ value, place }: Run) => value.length === place.to - place.from;

// A line break in a code span is rendered as a space.
const same = (shown: string | undefined, written: string | undefined) =>
  shown === written || (shown === " " && written === "\n");

function nextSame(shown: string | undefined, source: string, from: number, to: number): number {
  for (let at = from; at < to; at++) if (same(shown, source[at])) return at;
  return -1;
}
