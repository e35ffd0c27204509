import type rehypeSanitize from "rehype-sanitize";
import { splitHidden } from "../../kernel/hidden.ts";

export type Root = ReturnType<ReturnType<typeof rehypeSanitize>>;
export type HtmlNode = Root["children"][number];
export type Element = Extract<HtmlNode, { type: "element" }>;
export type Text = Extract<HtmlNode, { type: "text" }>;
/** Offsets into the source text. */
export type SourceSpan = { from: number; to: number };
export type HtmlProperties = Element["properties"];

/** Prefix of ids in rendered text, so that they cannot collide with ids of the app (DOM clobbering). */
export const idPrefix = "user-content-";

export function element(tagName: string, properties: HtmlProperties, children: HtmlNode[] = []): Element {
  return { type: "element", tagName, properties, children: children as Element["children"] };
}

/** Text with its hidden characters made visible; with a place, each piece gets its source offsets. */
export function revealed(text: string, place?: SourceSpan): HtmlNode[] {
  const isExact = place && place.to - place.from === text.length;
  if (place && !isExact)
    return [
      stamped(
        place,
        pieces(text).map(({ node }) => node),
      ),
    ];
  let at = place?.from ?? 0;
  return pieces(text).map(({ node, width }) => {
    const from = at;
    at += width;
    return place ? stamped({ from, to: at }, [node]) : node;
  });
}

function pieces(text: string): { node: HtmlNode; width: number }[] {
  return splitHidden(text).map((piece) => {
    const value = { type: "text" as const, value: piece.text };
    if (!piece.hidden) return { node: value, width: piece.text.length };
    const width = piece.text.split(" ").reduce((sum, code) => sum + (code.length > 6 ? 2 : 1), 0);
    return { node: element("span", { className: ["hidden-char"], title: "hidden character" }, [value]), width };
  });
}

/** `data-s` is the start in the source; `data-e` the end, if the source text differs from the shown text. */
function stamped({ from, to }: SourceSpan, children: HtmlNode[]): Element {
  const [only] = children;
  const isExact = children.length === 1 && only?.type === "text" && only.value.length === to - from;
  return element("span", { dataS: from, ...(isExact ? {} : { dataE: to }) }, children);
}
