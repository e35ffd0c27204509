import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";
import { type Element, element } from "./tree.ts";

export const reader = unified().use(remarkParse).use(remarkGfm).freeze();

/** Markdown's tree as one of HTML, in which raw HTML is text to be read. */
export const toHtmlTree = unified()
  .use(remarkRehype, { clobberPrefix: "", handlers: { html: showRawHtml } })
  .freeze();

function showRawHtml(_state: unknown, node: { value: string }, parent: { type: string } | undefined): Element {
  const code = element("code", { className: ["raw-html"] }, [{ type: "text", value: node.value }]);
  const standsAlone = ["root", "blockquote", "listItem", "footnoteDefinition"].includes(parent?.type ?? "root");
  return standsAlone ? element("pre", { className: ["raw-html"] }, [code]) : code;
}
