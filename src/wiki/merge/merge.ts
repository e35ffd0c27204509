import { isFaithful } from "./faithful.ts";
import { type Children, lineEnded, type Node, parseTree, sameTree } from "./tree.ts";

/**
 * Three-way merge of an entry by headings: the text that was read, the present one, the one of a stale commit.
 * Changes under different headings are merged. A person or agent has to choose where both changed the same heading,
 * one removed what the other changed, or the order or place of a text is not certain.
 */
export function mergeByHeading(base: string, theirs: string, yours: string): string | undefined {
  if (theirs === base || theirs === yours) return yours;
  if (yours === base) return theirs;
  const [b, t, y] = [base, theirs, yours].map(parseTree);
  const merged = b && t && y && mergeNode(b.root, t.root, y.root);
  if (!merged) return undefined;
  const text = textOf(merged);
  const m = parseTree(text);
  return m && sameTree(m.root, merged) && isFaithful({ b, t, y, m }) ? text : undefined;
}

/** One heading and everything below it. `base` is undefined if both sides added the heading. */
function mergeNode(base: Node | undefined, theirs: Node, yours: Node): Node | undefined {
  const own = pick(base?.own, theirs.own, yours.own);
  const keys = orderOf(base?.children ?? new Map(), theirs.children, yours.children);
  if (own === undefined || !keys) return undefined;
  const children = new Map<string, Node>();
  for (const key of keys) {
    const [before, their, your] = [base?.children.get(key), theirs.children.get(key), yours.children.get(key)];
    if (their && your) {
      const merged = mergeNode(before, their, your);
      if (!merged) return undefined;
      children.set(key, merged);
      continue;
    }
    const only = their ?? your;
    if (only && !before) children.set(key, only);
    // One side removed the heading: the other must have left everything below it as it was.
    else if (only && before && !sameTree(only, before)) return undefined;
  }
  return { own, depth: theirs.depth, children };
}

const pick = (base: string | undefined, theirs: string, yours: string): string | undefined =>
  yours === base || yours === theirs ? theirs : theirs === base ? yours : undefined;

/**
 * The keys of both in one order: between two that both have, first those of `yours`. Undefined if the orders differ, or
 * if both added headings where one removed some: they may be renamed ones, before or after which the others belong.
 */
function orderOf(base: Children, theirs: Children, yours: Children): string[] | undefined {
  const common = [...theirs.keys()].filter((key) => yours.has(key));
  if ([...yours.keys()].filter((key) => theirs.has(key)).join("\n") !== common.join("\n")) return undefined;
  const [before, after] = [gaps(theirs, yours), gaps(yours, theirs)];
  const order: string[] = [];
  for (const [nth, their] of before.entries()) {
    const your = after[nth] ?? [];
    const isNew = (key: string) => !base.has(key);
    if (their.some(isNew) && your.some(isNew) && ![...their, ...your].every(isNew)) return undefined;
    order.push(...your, ...their, ...common.slice(nth, nth + 1));
  }
  return order;
}

/** The keys that only the first has: before each of those that both have, and after the last. */
function gaps(of: Children, other: Children): string[][] {
  const found: string[][] = [[]];
  for (const key of of.keys()) {
    if (other.has(key)) found.push([]);
    else found.at(-1)?.push(key);
  }
  return found;
}

/** The last part may lack a line break and needs one when another now follows it. */
function textOf(node: Node): string {
  const parts = nodesOf(node).map(({ own }) => own);
  return parts.map((part, nth) => (nth < parts.length - 1 ? lineEnded(part) : part)).join("");
}

function nodesOf(node: Node): Node[] {
  return [node, ...[...node.children.values()].flatMap(nodesOf)];
}
