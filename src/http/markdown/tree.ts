import type rehypeSanitize from "rehype-sanitize";
import { splitHidden } from "../../hidden.ts";

export type Root = ReturnType<ReturnType<typeof rehypeSanitize>>;
export type Node = Root["children"][number];
export type Element = Extract<Node, { type: "element" }>;
export type Properties = Element["properties"];

/** What rendered headings and footnotes are called in the page, so that none passes for a part of it. */
export const idPrefix = "user-content-";

export function element(tagName: string, properties: Properties, children: Node[] = []): Element {
  return { type: "element", tagName, properties, children: children as Element["children"] };
}

/** Text with its hidden characters made visible. */
export function revealed(text: string): Node[] {
  return splitHidden(text).map((piece) => {
    const value = { type: "text" as const, value: piece.text };
    return piece.hidden ? element("span", { className: ["hidden-char"], title: "hidden character" }, [value]) : value;
  });
}
