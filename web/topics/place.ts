/**
 * From what is selected in a rendered page to offsets in its source, and back. Every rendered text
 * stands in an element whose data-s says where it begins in the source (src/http/markdown/locate.ts).
 */
export type Span = { start: number; end: number };

type Stamped = { element: HTMLElement; from: number; to: number; isExact: boolean };

const stampOf = (element: HTMLElement): Stamped => {
  const from = Number(element.dataset.s);
  const isExact = element.dataset.e === undefined;
  return {
    element,
    from,
    to: isExact ? from + (element.textContent ?? "").length : Number(element.dataset.e),
    isExact,
  };
};

/** The source of the selection, if it lies in the page, and the blob of the text that the offsets belong to. */
export function selectedSpan(root: HTMLElement): (Span & { box: DOMRect; source_sha: string }) | undefined {
  const selection = getSelection();
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return undefined;
  const range = selection.getRangeAt(0);
  if (!root.contains(range.commonAncestorContainer)) return undefined;
  const touched = [...root.querySelectorAll<HTMLElement>("[data-s]")].filter((element) =>
    range.intersectsNode(element),
  );
  const inside = touched
    .map(stampOf)
    .map((stamped) => clip(stamped, range))
    .filter(({ start, end }) => start < end);
  if (inside.length === 0) return undefined;
  const start = Math.min(...inside.map((span) => span.start));
  const end = Math.max(...inside.map((span) => span.end));
  return { start, end, box: range.getBoundingClientRect(), source_sha: root.dataset.sourceSha ?? "" };
}

function clip({ element, from, to, isExact }: Stamped, range: Range): Span {
  if (!isExact) return { start: from, end: to };
  const own = document.createRange();
  own.selectNodeContents(element);
  const start =
    own.compareBoundaryPoints(Range.START_TO_START, range) < 0
      ? from + lengthTo(element, range.startContainer, range.startOffset)
      : from;
  const end =
    own.compareBoundaryPoints(Range.END_TO_END, range) > 0
      ? from + lengthTo(element, range.endContainer, range.endOffset)
      : to;
  return { start, end };
}

function lengthTo(element: HTMLElement, node: Node, offset: number): number {
  const before = document.createRange();
  before.setStart(element, 0);
  before.setEnd(node, offset);
  return before.toString().length;
}

/** The ranges in the page that show a span of the source. */
export function rangesOf(root: HTMLElement, { start, end }: Span): Range[] {
  const ranges: Range[] = [];
  for (const element of root.querySelectorAll<HTMLElement>("[data-s]")) {
    const stamped = stampOf(element);
    if (stamped.to <= start || stamped.from >= end) continue;
    const from = stamped.isExact ? Math.max(0, start - stamped.from) : 0;
    const to = stamped.isExact ? Math.min(stamped.to, end) - stamped.from : (element.textContent ?? "").length;
    const range = rangeIn(element, from, to);
    if (range) ranges.push(range);
  }
  return ranges;
}

function rangeIn(element: HTMLElement, from: number, to: number): Range | undefined {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  let passed = 0;
  let begun = false;
  while (walker.nextNode()) {
    const text = walker.currentNode as Text;
    if (!begun && from <= passed + text.length) {
      range.setStart(text, from - passed);
      begun = true;
    }
    if (begun && to <= passed + text.length) {
      range.setEnd(text, to - passed);
      return range;
    }
    passed += text.length;
  }
  return undefined;
}

/** The offset in the source of a point in the rendered page. */
export function offsetAt(root: HTMLElement, x: number, y: number): number | undefined {
  const caret = document.caretPositionFromPoint?.(x, y);
  const element = caret?.offsetNode.parentElement?.closest<HTMLElement>("[data-s]");
  if (!caret || !element || !root.contains(element)) return undefined;
  const { from, isExact } = stampOf(element);
  return isExact ? from + lengthTo(element, caret.offsetNode, caret.offset) : from;
}

/** Paints spans without touching the document. */
export function paint(name: string, ranges: Range[]): void {
  if (!("highlights" in CSS)) return;
  if (ranges.length === 0) CSS.highlights.delete(name);
  else CSS.highlights.set(name, new Highlight(...ranges));
}
