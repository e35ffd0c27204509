import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { indexer } from "../src/search/index/indexer.ts";
import { wordIndex } from "../src/search/rank/lexical.ts";
import { passagePlaces } from "../src/search/rank/places.ts";
import { openDatabase } from "../src/store/open.ts";
import { fieldWeights } from "../src/store/queries/search/lexemes.ts";
import { openConnection } from "../src/store/sqlite/connection.ts";
import { temporaryFolder } from "./support/workspace.ts";

/** SQLite only: it ranks with postings that are cached in memory. */

const scope = { kinds: ["entry"] };

async function openIndex() {
  const file = join(temporaryFolder(), "s.db");
  const db = await openDatabase({ engine: "sqlite", file });
  onTestFinished(() => db.close());
  const texts = new Map<string, string>();
  const kind = {
    name: "entry",
    readers: ["admin"] as const,
    all: async () => [...texts.keys()],
    async read(id: string) {
      const text = texts.get(id);
      return text === undefined ? undefined : { title: id, text, author: "", at: "" };
    },
  };
  const writer = indexer(db, [kind], { wiki: "wiki", sources: "sources" });
  return {
    file,
    texts,
    writer,
    async write(id: string, text: string | undefined) {
      if (text === undefined) texts.delete(id);
      else texts.set(id, text);
      await db.write((tx) => tx.insertInto("search_queue").values({ kind: "entry", thing: id }).execute());
      while ((await writer.catchUp()) > 0);
    },
    /** As a process of its own sees the index. */
    reader() {
      const words = wordIndex(db, passagePlaces(db), ["entry"]);
      return async (query: string, limit = 100) => {
        const { terms } = await words.count(query.split(" "));
        const [hits = []] = await words.best(terms, [{ scope, limit }]);
        return { counts: terms.map(({ count }) => count), hits };
      };
    },
  };
}

const vocabulary = ["heron", "lease", "claims", "queue", "reeds", "Kündigung", "東京", "λόγος", "snake_case"];
const query = "heron lease claims queue kundigung 東京 λογος snakecase";

test("K10: a process that has searched before finds and ranks what others add, change and remove since", async () => {
  const word = fc.constantFrom(...vocabulary, "# Head", "\n\n", "Ada:", "- 2026-01-01T00:00 x");
  const edit = fc.record({
    id: fc.constantFrom("a", "b", "c", "d"),
    words: fc.option(fc.array(word, { maxLength: 30 })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 2, maxLength: 10 }), async (edits) => {
      const index = await openIndex();
      const first = index.reader();
      for (const [at, { id, words }] of edits.entries()) {
        await index.write(id, words?.join(" "));
        if (at === 5) await index.writer.rebuild();
        const seen = await first(query);
        const fresh = await index.reader()(query);
        expect(seen.counts).toEqual(fresh.counts);
        expect(seen.hits.map(({ num }) => num)).toEqual(fresh.hits.map(({ num }) => num));
        for (const [rank, { score }] of seen.hits.entries()) expect(score).toBeCloseTo(fresh.hits[rank]?.score ?? 0, 5);
      }
    }),
    { numRuns: 12 },
  );
});

test("F8: the best passages are those of full BM25, with the scores that FTS5 gives", async () => {
  const index = await openIndex();
  const common = ["river", "mill", "flood", "village", "barley", "rye", "bread", "market"];
  const random = fc.sample(
    fc.array(fc.constantFrom(...vocabulary, ...common, ...common), { minLength: 5, maxLength: 60 }),
    {
      numRuns: 300,
      seed: 7,
    },
  );
  for (const [at, words] of random.entries()) index.texts.set(`e${at}`, `# ${words[0]}\n\n${words.slice(1).join(" ")}`);
  await index.writer.rebuild();
  const direct = openConnection(index.file, 1000);
  onTestFinished(() => direct.close());
  const { title, body, near } = fieldWeights;
  const full = direct.prepare(
    `SELECT rowid AS num, -bm25(passage_text, ${title}, ${body}, ${near}) AS score FROM passage_text
     WHERE passage_text MATCH ? ORDER BY score DESC, rowid LIMIT 20`,
  );
  for (const asked of ["heron lease mill", "queue", "river mill flood reeds", "snakecase kundigung village"]) {
    const expected = full.all([
      asked
        .split(" ")
        .map((word) => `"${word}"`)
        .join(" OR "),
    ]);
    const { hits } = await index.reader()(asked);
    expect(hits.slice(0, 20).map(({ score }) => score.toFixed(3))).toEqual(
      expected.map(({ score }) => (score as number).toFixed(3)),
    );
  }
});

test("K10: after more removals than are on record a process begins anew and finds what is there", async () => {
  const index = await openIndex();
  const first = index.reader();
  const lines = (count: number, word: string) =>
    Array.from({ length: count }, (_, n) => `- 2026-01-02 ${word} ${n}`).join("\n");
  await index.write("log", lines(10_050, "heron"));
  expect((await first("heron")).counts).toEqual([10_050]);
  await index.write("log", `${lines(3, "heron")}\n${lines(2, "crane")}`);
  await index.write("other", "a heron");
  const { counts, hits } = await first("heron crane");
  expect([counts, hits.length]).toEqual([[4, 2], 6]);
});
