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

type Markdown = ReturnType<typeof reader.parse>;

/** `$$…$$` alone in a paragraph is a formula on its own line; the parser reads it as inline when it is one line. */
export function displayFormulas(root: Markdown, text: string): void {
  const pending: (Markdown | Markdown["children"][number])[] = [root];
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (!("children" in node)) continue;
    const [only, ...more] = node.children;
    if (node.type !== "paragraph" || more.length > 0 || only?.type !== "inlineMath") {
      for (const child of node.children) pending.push(child);
    } else if (text.startsWith("$$", only.position?.start.offset ?? 0)) {
      only.data = { ...only.data, hProperties: { className: ["language-math", "math-display"] } };
    }
  }
}

type Html = { value: string; position?: Text["position"] };

function showRawHtml(_state: unknown, node: Html, parent: { type: string } | undefined): Element {
  const text: Text = { type: "text", value: node.value, position: node.position };
  const code = element("code", { className: ["raw-html"] }, [text]);
  const standsAlone = ["root", "blockquote", "listItem", "footnoteDefinition"].includes(parent?.type ?? "root");
  // With its position, by which a comparison finds the source of a block.
  const position = node.position ? { position: node.position } : {};
  return standsAlone ? { ...element("pre", { className: ["raw-html"] }, [code]), ...position } : code;
}
