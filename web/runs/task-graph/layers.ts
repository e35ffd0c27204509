export type Placed = { id: string; x: number; y: number };
type Item = { id: string; after: string[] };

const step = { x: 240, y: 74 };
const tallest = 24;

/**
 * Tasks in columns: each stands one column right of the last it waits for, beside what it waits for
 * if there is room. Linear in tasks and edges, so that a run of thousands is placed at once.
 */
export function layers(items: Item[]): Placed[] {
  const known = new Map(items.map((item) => [item.id, item]));
  const depths = new Map<string, number>();
  const begun = new Set<string>();
  const depthOf = (start: string): number => {
    const pending = [start];
    while (pending.length > 0) {
      const id = pending.at(-1) as string;
      const before = (known.get(id)?.after ?? []).filter((one) => known.has(one));
      const open = begun.has(id) ? [] : before.filter((one) => !begun.has(one));
      begun.add(id);
      pending.push(...open);
      if (open.length > 0) continue;
      pending.pop();
      const last = Math.max(-1, ...before.map((one) => depths.get(one) ?? -1));
      if (!depths.has(id)) depths.set(id, last + 1);
    }
    return depths.get(start) ?? 0;
  };

  const columns = new Map<number, Item[]>();
  for (const item of items) {
    const depth = depthOf(item.id);
    const column = columns.get(depth);
    if (column) column.push(item);
    else columns.set(depth, [item]);
  }
  const rows = new Map<string, number>();
  const placed: Placed[] = [];
  let x = 0;
  for (const depth of [...columns.keys()].sort((a, b) => a - b)) {
    const column = columns.get(depth) ?? [];
    const middle = ({ after }: Item) => {
      const at = after.flatMap((one) => rows.get(one) ?? []);
      return at.length > 0 ? at.reduce((sum, row) => sum + row, 0) / at.length : 0;
    };
    const sorted = column.map((item) => ({ item, at: middle(item) })).sort((a, b) => a.at - b.at);
    for (const [index, { item }] of sorted.entries()) {
      const row = index % tallest;
      rows.set(item.id, row);
      placed.push({ id: item.id, x: x + Math.floor(index / tallest) * step.x, y: row * step.y });
    }
    x += Math.ceil(column.length / tallest) * step.x;
  }
  return placed;
}
