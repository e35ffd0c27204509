import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";

const languages: Record<string, () => Promise<{ default: unknown }>> = {
  bash: () => import("@shikijs/langs/bash"),
  css: () => import("@shikijs/langs/css"),
  diff: () => import("@shikijs/langs/diff"),
  go: () => import("@shikijs/langs/go"),
  html: () => import("@shikijs/langs/html"),
  java: () => import("@shikijs/langs/java"),
  javascript: () => import("@shikijs/langs/javascript"),
  json: () => import("@shikijs/langs/json"),
  markdown: () => import("@shikijs/langs/markdown"),
  python: () => import("@shikijs/langs/python"),
  rust: () => import("@shikijs/langs/rust"),
  sql: () => import("@shikijs/langs/sql"),
  tsx: () => import("@shikijs/langs/tsx"),
  typescript: () => import("@shikijs/langs/typescript"),
  yaml: () => import("@shikijs/langs/yaml"),
};
const otherNames: Record<string, string> = {
  sh: "bash",
  shell: "bash",
  js: "javascript",
  ts: "typescript",
  py: "python",
  yml: "yaml",
  md: "markdown",
  rs: "rust",
};

let ready: Promise<HighlighterCore> | undefined;
const longest = 60_000;

/**
 * Colours a block of code where it stands. The elements that say where a text stands in the source
 * stay as they are; only the texts inside them become coloured pieces.
 */
export async function colour(block: HTMLElement, name: string): Promise<void> {
  const language = otherNames[name] ?? name;
  const load = languages[language];
  const text = block.textContent ?? "";
  if (!load || text.length > longest || block.querySelector(".hidden-char")) return;
  ready ??= createHighlighterCore({
    themes: [createCssVariablesTheme({ variablePrefix: "--code-" })],
    engine: createJavaScriptRegexEngine(),
  });
  const highlighter = await ready;
  await highlighter.loadLanguage((await load()).default as never);
  const { tokens } = highlighter.codeToTokens(text, { lang: language, theme: "css-variables" });

  const pieces = tokens.flatMap((line, at) => [
    ...line.map(({ content, color }) => ({ content, color })),
    ...(at < tokens.length - 1 ? [{ content: "\n", color: undefined }] : []),
  ]);
  const texts = textsOf(block);
  for (const node of texts) {
    const fragment = document.createDocumentFragment();
    let left = node.data.length;
    while (left > 0) {
      const piece = pieces[0];
      if (!piece) return;
      const part = piece.content.slice(0, left);
      left -= part.length;
      piece.content = piece.content.slice(part.length);
      if (piece.content === "") pieces.shift();
      fragment.append(piece.color ? coloured(part, piece.color) : part);
    }
    node.replaceWith(fragment);
  }
}

function coloured(text: string, color: string): HTMLElement {
  const span = document.createElement("span");
  span.style.color = color;
  span.textContent = text;
  return span;
}

function textsOf(root: Node): Text[] {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  while (walker.nextNode()) found.push(walker.currentNode as Text);
  return found;
}
