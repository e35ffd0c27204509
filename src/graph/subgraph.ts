import type { EdgeLine } from "../store/queries/edges.ts";
import type { NodeLine } from "../store/queries/nodes.ts";
import { fitting, weightOf } from "./budget.ts";

type Page = { nodes: NodeLine[]; edges: EdgeLine[]; cut: boolean };

/**
 * One page of a subgraph: the nodes after the first `given` that fit together with their edges. An edge is listed
 * with the later of its nodes, so that consecutive pages have every node and edge once.
 */
export function pageOf(found: NodeLine[], edges: EdgeLine[], given: number, bytes: number): Page {
  const order = new Map(found.map((node, at) => [node.id, at]));
  const later = ({ from, to }: EdgeLine) => Math.max(order.get(from) ?? -1, order.get(to) ?? -1);
  const byNode = grouped(edges, later);
  const nodes: NodeLine[] = [];
  const shown = new Set<EdgeLine>();
  let left = bytes;
  let cut = false;
  for (const [index, node] of found.slice(given).entries()) {
    const own = byNode.get(given + index) ?? [];
    const weight = own.reduce((sum, edge) => sum + weightOf(edge), weightOf(node));
    if (weight > left && nodes.length > 0) break;
    nodes.push(node);
    // Only the first node of a page can have more edges than fit.
    const fit = fitting(own, left - weightOf(node));
    cut ||= fit.length < own.length;
    for (const edge of fit) shown.add(edge);
    left -= weight;
  }
  return { nodes, edges: edges.filter((edge) => shown.has(edge)), cut };
}

function grouped<T, K>(items: T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
