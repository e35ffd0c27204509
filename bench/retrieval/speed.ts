import { join } from "node:path";
import type { Kind } from "../../src/search/kinds.ts";
import { localModel } from "../../src/search/model/model.ts";
import { openSearch } from "../../src/search/open.ts";
import { inBytes } from "../../src/search/rank/meaning.ts";
import type { Database } from "../../src/store/database.ts";
import { openDatabase } from "../../src/store/open.ts";
import { openConnection } from "../../src/store/sqlite/connection.ts";
import { percentile, seeded, timed } from "../support/measure.ts";
import type { Place } from "../support/place.ts";
import { atMost, type Row, type Table } from "../support/table.ts";
import { proseWriter, word } from "../support/text.ts";

const rounds = 200;
const uncounted = 50;

/**
 * How long a question of one to six words takes over entries of 700 bytes. On SQLite plain FTS5 is asked the same
 * of the same index in turn: where the machine is busy, only how many times as long we take tells something.
 */
export async function speed(
  place: Place,
  engine: "sqlite" | "postgres",
  size: number,
  model: string | undefined,
): Promise<Table> {
  const rows: Row[] = [];
  const file = join(place.folder("index"), "index.db");
  const db = await openDatabase(engine === "postgres" ? { engine, url: await place.postgres() } : { engine, file });
  const options = {
    db,
    kinds: [entries(size)],
    embeddings: undefined,
    folders: { wiki: "wiki", sources: "sources" },
    sections: async () => [],
  };
  const search = openSearch({ ...options, modelFolder: model ?? "" });
  const plain = engine === "sqlite" ? plainly(file) : undefined;
  try {
    const began = performance.now();
    await search.rebuild();
    const indexed = performance.now() - began;
    if (model) {
      await makeVectors(db);
      await search.meaning.embedSome();
    }
    for (const meaning of model ? [false, true] : [false]) {
      const { times, cpu, plainTimes } = await ask(search, meaning, plain?.ask);
      const limit = size <= 6000 ? (meaning ? 50 : 15) : 30;
      const p95 = percentile(times, 0.95);
      rows.push({
        what: `${engine}, ${size} entries, ${meaning ? "words and vectors" : "words"}`,
        figures: {
          "p50 ms": percentile(times, 0.5),
          "p95 ms": p95,
          "CPU p95 ms": percentile(cpu, 0.95),
          ...(plain
            ? {
                "plain FTS5 p50 ms": percentile(plainTimes, 0.5),
                "plain FTS5 p95 ms": percentile(plainTimes, 0.95),
              }
            : {}),
          "indexing s": indexed / 1000,
        },
        ...(size > 6000 && meaning ? {} : { target: atMost(limit, p95, "ms") }),
      });
    }
  } finally {
    plain?.close();
    await search.close();
    await db.close();
  }
  return { question: `search among ${size}, how long it takes`, rows };
}

/** Vectors of the right length that mean nothing: to compare them takes as long, to embed the texts would take an hour. */
async function makeVectors(db: Database): Promise<void> {
  const chance = seeded(5);
  const hashes = await db.read.selectFrom("passages").select("hash").distinct().execute();
  for (let from = 0; from < hashes.length; from += 200) {
    const values = hashes.slice(from, from + 200).map(({ hash }) => {
      const vector = Float32Array.from({ length: 384 }, () => chance() - 0.5);
      const length = Math.hypot(...vector);
      return { model: localModel.name, hash, ...inBytes(vector.map((value) => value / length)) };
    });
    await db.write((tx) => tx.insertInto("vectors").values(values).execute());
  }
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

async function ask(search: ReturnType<typeof openSearch>, meaning: boolean, plain?: (words: string[]) => void) {
  const chance = seeded(11);
  const times: number[] = [];
  const cpu: number[] = [];
  const plainTimes: number[] = [];
  // The first are not counted: nobody is measured while Node still compiles them and PostgreSQL plans.
  for (let round = -uncounted; round < rounds; round++) {
    const words = Array.from({ length: 1 + Math.floor(chance() * 6) }, () => word(Math.floor(20_000 ** chance())));
    const began = performance.now();
    const used = process.cpuUsage();
    await search.find.pages(words.join(" "), {
      scope: { kinds: ["entry"] },
      limit: 10,
      without: meaning ? [] : ["meaning"],
    });
    const { user, system } = process.cpuUsage(used);
    const took = performance.now() - began;
    const plainTook = plain ? await timed(() => plain(words)) : 0;
    if (round < 0) continue;
    times.push(took);
    cpu.push((user + system) / 1000);
    plainTimes.push(plainTook);
  }
  return { times, cpu, plainTimes };
}

/** The ten best by any of the words, as FTS5 gives them by itself. */
function plainly(file: string) {
  const db = openConnection(file, 5000);
  const find = db.prepare("SELECT rowid FROM passage_text WHERE passage_text MATCH ? ORDER BY rank LIMIT 10");
  return {
    ask: (words: string[]) => void find.all([words.map((one) => `"${one}"`).join(" OR ")]),
    close: () => db.close(),
  };
}
