import { boundedDiff } from "../../kernel/bounded-diff.ts";
import {
  maxHtmlLength,
  type Parsed,
  parse,
  type Settings,
  type Trouble,
  toHtml,
  toSafeTree,
  unlessTooDeep,
} from "../markdown.ts";
import { type Element, element, type HtmlNode } from "./tree.ts";

/** Consecutive blocks that both texts have, or only one of them. */
export type Stretch = { kind: "same" | "added" | "removed"; html: string };

const maxCharacters = 400_000;

/** A rendered comparison by blocks, or the reason why there is none. Each text is parsed and rendered once. */
export function compareMarkdown(before: string, after: string, settings: Settings): { stretches: Stretch[] } | Trouble {
  if (before.length + after.length > maxCharacters) return { trouble: "the texts are too large" };
  return unlessTooDeep(() => {
    const [old, fresh] = [parse(before), parse(after)];
    if ("trouble" in old) return old;
    if ("trouble" in fresh) return fresh;
    const stretches = stretchesOf(blocksOf(old, settings), blocksOf(fresh, settings));
    const length = stretches.reduce((sum, { html }) => sum + html.length, 0);
    return length > maxHtmlLength ? { trouble: "it is too large" } : { stretches };
  });
}

function stretchesOf(old: Block[], fresh: Block[]): Stretch[] {
  const sources = (blocks: Block[]) => blocks.map(({ source }) => source);
  let [o, n] = [0, 0];
  return boundedDiff(sources(old), sources(fresh)).flatMap(({ kind, items }) => {
    const blocks = kind === "removed" ? old.slice(o, o + items.length) : fresh.slice(n, n + items.length);
    if (kind !== "added") o += items.length;
    if (kind !== "removed") n += items.length;
    const shown = kind === "same" ? blocks.filter(({ isDefinition }) => !isDefinition) : blocks;
    return shown.length === 0 ? [] : [{ kind, html: toHtml(shown.flatMap(({ nodes }) => nodes)) }];
  });
}

type Block = { source: string; nodes: HtmlNode[]; isDefinition: boolean };

/** Top-level blocks with their source; lists are split into items. */
function blocksOf({ text, tree }: Parsed, settings: Settings): Block[] {
  const blocks: Block[] = [];
  let renderedTo = 0;
  const addDefinitions = (until: number) => {
    for (const source of text.slice(renderedTo, until).split(/\n{2,}/))
      if (source.trim() !== "") blocks.push({ source, nodes: [sourceNode(source.trim())], isDefinition: true });
  };
  for (const node of tree.children) {
    const span = spanOf(node);
    // Line breaks between blocks, and the list of footnotes, whose definitions are shown where they are written.
    if (!span) continue;
    addDefinitions(span.from);
    for (const part of partsOf(node)) {
      const { from, to } = spanOf(part) ?? span;
      blocks.push({ source: text.slice(from, to), nodes: [part], isDefinition: false });
    }
    renderedTo = span.to;
  }
  addDefinitions(text.length);
  // The tree is sanitised as a whole. An element around each block keeps its nodes together.
  const wrapped = blocks.map(({ nodes }) => element("div", {}, nodes));
  const safe = toSafeTree({ type: "root", children: wrapped }, settings).children;
  return blocks.map((block, at) => ({ ...block, nodes: (safe[at] as Element).children }));
}

/**
 * Definitions are rendered where they are used, or not at all. A comparison shows the source of those that changed:
 * an agent that reads the page gets it too.
 */
const sourceNode = (source: string) =>
  element("pre", { className: ["raw-html"] }, [
    element("code", { className: ["raw-html"] }, [{ type: "text", value: source }]),
  ]);

function partsOf(node: HtmlNode): HtmlNode[] {
  if (node.type !== "element" || (node.tagName !== "ul" && node.tagName !== "ol")) return [node];
  const first = Number(node.properties.start ?? 1);
  return node.children
    .filter((child) => child.type === "element")
    .map((item, at) => ({
      ...element(node.tagName, node.tagName === "ol" ? { ...node.properties, start: first + at } : node.properties, [
        item,
      ]),
      ...(item.position ? { position: item.position } : {}),
    }));
}

function spanOf({ position }: HtmlNode): { from: number; to: number } | undefined {
  const [from, to] = [position?.start.offset, position?.end.offset];
  return from === undefined || to === undefined ? undefined : { from, to };
}
