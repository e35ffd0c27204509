export type Card = { id: string; wanted: number; height: number };

const gap = 10;

/**
 * Positions of the cards beside the text: each as near to its passage as the others allow. The active
 * one stands exactly there; those above it make room upwards, those below it downwards.
 */
export function align(cards: Card[], active: string | undefined): Map<string, number> {
  const sorted = [...cards].sort((a, b) => a.wanted - b.wanted);
  const places = new Map<string, number>();
  const pivot = Math.max(
    0,
    sorted.findIndex(({ id }) => id === active),
  );
  let floor = Number.NEGATIVE_INFINITY;
  for (const card of sorted.slice(pivot)) {
    const top = Math.max(card.wanted, floor);
    places.set(card.id, top);
    floor = top + card.height + gap;
  }
  let ceiling = places.get(sorted[pivot]?.id ?? "") ?? 0;
  for (const card of sorted.slice(0, pivot).reverse()) {
    const top = Math.min(card.wanted, ceiling - gap - card.height);
    places.set(card.id, top);
    ceiling = top;
  }
  const highest = Math.min(0, ...places.values());
  if (highest < 0) for (const [id, top] of places) places.set(id, top - highest);
  return places;
}
