import rehypeKatex from "rehype-katex";
import remarkGfm from "remark-gfm";
import remarkMath from "remark-math";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";
import { type Element, element, type Text } from "./tree.ts";

export const reader = unified().use(remarkParse).use(remarkGfm).use(remarkMath).freeze();

/** Raw HTML is shown as text. */
export const toHtmlTree = unified()
  .use(remarkRehype, { clobberPrefix: "", handlers: { html: showRawHtml } })
  .freeze();

/** MathML needs neither styles nor scripts in the browser. */
export const withFormulas = unified()
  .use(rehypeKatex, { output: "mathml", strict: "ignore", trust: false, maxExpand: 500 })
  .freeze();

type Html = { value: string; position?: Text["position"] };

function showRawHtml(_state: unknown, node: Html, parent: { type: string } | undefined): Element {
  const text: Text = { type: "text", value: node.value, position: node.position };
  const code = element("code", { className: ["raw-html"] }, [text]);
  const standsAlone = ["root", "blockquote", "listItem", "footnoteDefinition"].includes(parent?.type ?? "root");
  // With its position, by which a comparison finds the source of a block.
  const position = node.position ? { position: node.position } : {};
  return standsAlone ? { ...element("pre", { className: ["raw-html"] }, [code]), ...position } : code;
}
