import type { Database } from "../../store/database.ts";
import { type PassagePlace, placesOf } from "../../store/queries/search/passages.ts";

const maxKnown = 50_000;

/** Caches which thing each passage belongs to; a passage number never moves to another thing. */
export function passagePlaces(db: Database) {
  const known = new Map<number, PassagePlace>();

  return {
    /** In the order of `nums`, without deleted passages, except those that are still cached. */
    async of(nums: number[]): Promise<Map<number, PassagePlace>> {
      const places = new Map<number, PassagePlace>();
      const missing: number[] = [];
      for (const num of nums) {
        const place = known.get(num);
        if (place) places.set(num, place);
        else missing.push(num);
      }
      if (missing.length === 0) return places;
      if (known.size > maxKnown) known.clear();
      for (const { num, ...place } of await placesOf(db, missing)) {
        known.set(num, place);
        places.set(num, place);
      }
      return new Map(
        nums.flatMap((num) => {
          const place = places.get(num);
          return place ? [[num, place]] : [];
        }),
      );
    },
    /** Those of `hits` whose place fits. */
    async matching<T extends { num: number }>(hits: T[], fits: (place: PassagePlace) => boolean): Promise<T[]> {
      const isKnown = hits.every(({ num }) => known.has(num));
      const found = isKnown ? known : await this.of(hits.map(({ num }) => num));
      return hits.filter(({ num }) => {
        const place = found.get(num);
        return place !== undefined && fits(place);
      });
    },
    forget(num: number): void {
      known.delete(num);
    },
  };
}

export type PassagePlaces = ReturnType<typeof passagePlaces>;
