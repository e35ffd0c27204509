import { findHeadings } from "./headings.ts";

/** A heading with the text up to the next one, or the text before the first heading. Children in their order. */
export type Node = { own: string; depth: number; children: Children };
export type Children = Map<string, Node>;
export type Tree = { root: Node; lines: string[] };

/** Undefined if the structure is not certain, or two headings below the same one are equal. */
export function parseTree(text: string): Tree | undefined {
  const lines = text.split(/(?<=\n)/);
  const headings = findHeadings(lines);
  if (!headings) return undefined;
  const ownText = (from: number, to: number | undefined) => lines.slice(from, to).join("");
  const root: Node = { own: ownText(0, headings[0]?.line), depth: 0, children: new Map() };
  const open = [root];
  for (const [nth, { line, depth, title }] of headings.entries()) {
    while ((open.at(-1) ?? root).depth >= depth) open.pop();
    const { children } = open.at(-1) ?? root;
    const key = `${depth} ${title}`;
    if (children.has(key)) return undefined;
    const node: Node = { own: ownText(line, headings[nth + 1]?.line), depth, children: new Map() };
    children.set(key, node);
    open.push(node);
  }
  return { root, lines };
}

export function sameTree(a: Node, b: Node): boolean {
  if (lineEnded(a.own) !== lineEnded(b.own) || a.children.size !== b.children.size) return false;
  const [ours, others] = [[...a.children], [...b.children]];
  return ours.every(([key, node], nth) => {
    const [otherKey, other] = others[nth] ?? [];
    return key === otherKey && other !== undefined && sameTree(node, other);
  });
}

export const lineEnded = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

export type Texts = Map<string, string>;

/** The own text of each heading by its path. */
export function textsByPath(node: Node, path = "", found: Texts = new Map()): Texts {
  found.set(path, node.own);
  for (const [key, child] of node.children) textsByPath(child, `${path}\n${key}`, found);
  return found;
}
