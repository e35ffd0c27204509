import { join } from "node:path";
import type { Kind } from "../../src/search/kinds.ts";
import { openSearch } from "../../src/search/open.ts";
import { openDatabase } from "../../src/store/database.ts";
import { percentile, seeded } from "../support/measure.ts";
import type { Place } from "../support/place.ts";
import { atMost, type Row, type Table } from "../support/table.ts";
import { proseWriter, word } from "../support/text.ts";

const sizes = [6000, 100_000];
const rounds = 200;

/** How long a question of one to six words takes over entries of 700 bytes. */
export async function speed(place: Place, engine: "sqlite" | "postgres", model: string | undefined): Promise<Table> {
  const rows: Row[] = [];
  for (const size of sizes) {
    const db = await openDatabase(
      engine === "postgres"
        ? { engine, url: await place.postgres() }
        : { engine, file: join(place.folder("index"), "index.db") },
    );
    const withModel = model !== undefined && size <= 6000;
    const search = openSearch({
      db,
      kinds: [entries(size)],
      modelFolder: withModel ? model : "",
      embeddings: undefined,
      sections: async () => [],
    });
    try {
      const began = performance.now();
      await search.rebuild();
      const indexed = performance.now() - began;
      if (withModel) while ((await search.meaning.embedSome()) > 0);
      for (const meaning of withModel ? [false, true] : [false]) {
        const times = await ask(search, meaning);
        const limit = meaning ? 50 : size <= 6000 ? 15 : 30;
        const p95 = percentile(times, 0.95);
        rows.push({
          what: `${engine}, ${size} entries, ${meaning ? "words and vectors" : "words"}`,
          figures: { "p50 ms": percentile(times, 0.5), "p95 ms": p95, "indexing s": indexed / 1000 },
          target: atMost(limit, p95, "ms"),
        });
      }
    } finally {
      await search.close();
      await db.close();
    }
  }
  return { question: "search, how long it takes", rows };
}

function entries(count: number): Kind {
  const prose = proseWriter(7);
  return {
    name: "entry",
    readers: ["admin"],
    all: async () => Array.from({ length: count }, (_, n) => `e${n}`),
    read: async (id) => ({ title: `Entry ${id}`, text: prose(700), author: "", at: "" }),
  };
}

async function ask(search: ReturnType<typeof openSearch>, meaning: boolean): Promise<number[]> {
  const chance = seeded(11);
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const words = Array.from({ length: 1 + Math.floor(chance() * 6) }, () => word(Math.floor(20_000 ** chance())));
    const began = performance.now();
    await search.find.pages(words.join(" "), {
      scope: { kinds: ["entry"] },
      limit: 10,
      without: meaning ? [] : ["meaning"],
    });
    times.push(performance.now() - began);
  }
  return times;
}
