import type { reader } from "./read.ts";

export type MarkdownRoot = ReturnType<typeof reader.parse>;
type MarkdownNode = MarkdownRoot | MarkdownRoot["children"][number];

const max = { tableCells: 100_000, footnoteCalls: 5_000, referencedCharacters: 1024 * 1024 };

/** Why the HTML of a small text would be too large: tables are padded, and definitions are copied to each use. */
export function oversized(root: MarkdownRoot): string | undefined {
  const definitions = new Map<string, number>();
  const uses: string[] = [];
  let cells = 0;
  let calls = 0;

  const pending: MarkdownNode[] = [root];
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (node.type === "table") cells += node.children.length * (node.align?.length ?? 1);
    else if (node.type === "footnoteReference") calls++;
    else if (node.type === "linkReference" || node.type === "imageReference") uses.push(node.identifier);
    else if (node.type === "definition" && !definitions.has(node.identifier)) {
      definitions.set(node.identifier, node.url.length + (node.title?.length ?? 0));
    }
    if ("children" in node) for (const child of node.children) pending.push(child);
  }

  const referenced = uses.reduce((sum, identifier) => sum + (definitions.get(identifier) ?? 0), 0);
  if (cells > max.tableCells) return "its tables have too many cells";
  if (calls > max.footnoteCalls) return "it has too many footnotes";
  if (referenced > max.referencedCharacters) return "it uses its link definitions too often";
  return undefined;
}
