export type Placed = { id: string; x: number; y: number };
type Edge = { from: string; to: string };

const room = { width: 210, height: 92 };

/** Nodes in rings around the chosen one, nearest first; each stands in the direction of what it hangs on. */
export function rings(ids: string[], edges: Edge[], chosen: string): Placed[] {
  const near = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const { from, to } of edges) {
    near.get(from)?.push(to);
    near.get(to)?.push(from);
  }
  const angles = new Map<string, number>([[chosen, 0]]);
  const placed: Placed[] = [{ id: chosen, x: 0, y: 0 }];
  let ring = [chosen];
  let radius = 0;
  while (placed.length < ids.length) {
    const next = [...new Set(ring.flatMap((id) => near.get(id) ?? []))].filter((id) => near.has(id) && !angles.has(id));
    const fresh = next.length > 0 ? next : ids.filter((id) => !angles.has(id));
    const wanted = new Map(
      fresh.map((id) => [id, angles.get(ring.find((inner) => near.get(inner)?.includes(id)) ?? chosen) ?? 0]),
    );
    fresh.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
    const around = Math.max(fresh.length * room.height, 1) / (2 * Math.PI);
    radius = Math.max(radius + room.width * 1.15, around * 1.6);
    for (const [at, id] of fresh.entries()) {
      const angle = (2 * Math.PI * at) / fresh.length - Math.PI / 2;
      angles.set(id, angle + 2 * Math.PI);
      placed.push({ id, x: Math.cos(angle) * radius * 1.25, y: Math.sin(angle) * radius * 0.8 });
    }
    ring = fresh;
  }
  return placed;
}
