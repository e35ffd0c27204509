/** An item of a list whose items depend on each other by name. */
export type Named = { name: string; dependsOn: string[] };

/** The first cycle, such as `a → b → a`; undefined when there is none. */
export function findCycle(items: Named[]): string[] | undefined {
  const byName = new Map(items.map((item) => [item.name, item]));
  const done = new Set<string>();
  for (const { name } of items) {
    const path: { name: string; next: number }[] = [{ name, next: 0 }];
    const onPath = new Set([name]);
    while (path.length > 0 && !done.has(name)) {
      const here = path[path.length - 1] as { name: string; next: number };
      const target = byName.get(here.name)?.dependsOn[here.next++];
      if (target === undefined) {
        done.add(here.name);
        onPath.delete(here.name);
        path.pop();
      } else if (onPath.has(target)) {
        const names = path.map((step) => step.name);
        return [...names.slice(names.indexOf(target)), target];
      } else if (byName.has(target) && !done.has(target)) {
        path.push({ name: target, next: 0 });
        onPath.add(target);
      }
    }
  }
  return undefined;
}

/** Topological order; the input must be acyclic. */
export function inOrder<T extends Named>(items: T[]): T[] {
  const byName = new Map(items.map((item) => [item.name, item]));
  const placed = new Set<string>();
  const order: T[] = [];
  for (const item of items) {
    const path = [item];
    while (path.length > 0) {
      const here = path[path.length - 1] as T;
      const first = here.dependsOn.map((name) => byName.get(name)).find((other) => other && !placed.has(other.name));
      if (first) path.push(first);
      else {
        path.pop();
        if (placed.has(here.name)) continue;
        placed.add(here.name);
        order.push(here);
      }
    }
  }
  return order;
}
