import { sql } from "kysely";
import type { Database } from "../../store/database.ts";
import { type List, listOf, withNumbers } from "../../store/lists.ts";
import { onEach } from "../../store/prepared.ts";

/** What a passage is a part of, and what it points to. */
export type Place = { kind: string; id: string; run: string; links: string[] };

const mostKnown = 50_000;

/** Places of passages. A passage is the same as long as it is there, and so is what it is a part of: they are remembered. */
export function passagePlaces(db: Database) {
  const known = new Map<number, Place>();

  return {
    /** In the order of `nums`; without passages that are gone, unless they were there a moment ago. */
    async of(nums: number[]): Promise<Map<number, Place>> {
      const places = new Map<number, Place>();
      const fresh: number[] = [];
      for (const num of nums) {
        const place = known.get(num);
        if (place) places.set(num, place);
        else fresh.push(num);
      }
      if (fresh.length === 0) return places;
      if (known.size > mostKnown) known.clear();
      const rows = await select[db.engine](db.read, { nums: listOf[db.engine](fresh) });
      for (const { num, kind, id, run, links } of rows) {
        const place = { kind, id, run, links: typeof links === "string" ? JSON.parse(links) : links };
        known.set(num, place);
        places.set(num, place);
      }
      return new Map(nums.flatMap((num) => (places.has(num) ? [[num, places.get(num) as Place]] : [])));
    },
    forget(num: number): void {
      known.delete(num);
    },
  };
}

export type PassagePlaces = ReturnType<typeof passagePlaces>;

type Row = Omit<Place, "links"> & { num: number; links: string[] | string };

const select = onEach<{ nums: List }, Row>(
  (engine, slot) => sql`
    SELECT p.num, t.kind, t.id, t.run, ${targets[engine]} AS links
    ${withNumbers[engine]("passages p JOIN things t ON t.num = p.thing", "p.num", slot("nums"))}`,
);

const targets = {
  sqlite: sql`(SELECT json_group_array(l.target) FROM passage_links l WHERE l.passage = p.num)`,
  postgres: sql`ARRAY(SELECT l.target FROM passage_links l WHERE l.passage = p.num)`,
};
