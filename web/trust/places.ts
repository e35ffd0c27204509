import { rangesOf } from "../topics/place.ts";

/** Where the passages of a page stand in its file: those of an entry are counted in its text, without the frontmatter. */
export function spansOf<T extends { line: number; text: string }>(
  passages: T[],
  file: string,
  bodyFrom: number,
): { passage: T; start: number; end: number }[] {
  const starts = [bodyFrom];
  for (let at = file.indexOf("\n", bodyFrom); at >= 0; at = file.indexOf("\n", at + 1)) starts.push(at + 1);
  return passages.flatMap((passage) => {
    const start = starts[passage.line - 1];
    return start === undefined ? [] : [{ passage, start, end: start + passage.text.length }];
  });
}

/** The top and height of the first line of a span, from the top of `frame`; undefined where nothing of it is drawn. */
export function firstLineOf(
  body: HTMLElement,
  span: { start: number; end: number },
  frame: DOMRect,
): { top: number; height: number } | undefined {
  for (const range of rangesOf(body, span)) {
    const box = [...range.getClientRects()].find(({ height }) => height > 0);
    if (box) return { top: box.top - frame.top, height: box.height };
  }
  return undefined;
}
