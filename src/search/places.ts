import { sql } from "kysely";
import type { Database } from "../store/database.ts";
import { type List, listOf, withNumbers } from "../store/lists.ts";
import { onEach } from "../store/prepared.ts";

/** What a passage is a part of. */
export type Place = { kind: string; id: string; run: string };

const mostKnown = 50_000;

/** Places of passages. As long as there is a passage, it is a part of the same thing: what was read once is remembered. */
export function passagePlaces(db: Database) {
  const known = new Map<number, Place>();

  return {
    /** In the order of `nums`; without passages that are gone, unless they were there a moment ago. */
    async of(nums: number[]): Promise<Map<number, Place>> {
      const places = new Map(nums.map((num) => [num, known.get(num)]));
      const fresh = nums.filter((num) => places.get(num) === undefined);
      if (fresh.length > 0) {
        if (known.size > mostKnown) known.clear();
        for (const { num, ...place } of await select[db.engine](db.read, { nums: listOf[db.engine](fresh) })) {
          known.set(num, place);
          places.set(num, place);
        }
      }
      return new Map([...places].filter((one): one is [number, Place] => one[1] !== undefined));
    },
    forget(num: number): void {
      known.delete(num);
    },
  };
}

export type PassagePlaces = ReturnType<typeof passagePlaces>;

const select = onEach<{ nums: List }, Place & { num: number }>(
  (engine, slot) => sql`
    SELECT p.num, t.kind, t.id, t.run ${withNumbers[engine]("passages p JOIN things t ON t.num = p.thing", "p.num", slot("nums"))}`,
);
