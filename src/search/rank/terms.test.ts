import fc from "fast-check";
import { expect, test } from "vitest";
import { stem } from "../../store/queries/search/stem.ts";
import { openConnection } from "../../store/sqlite/connection.ts";
import { linksIn } from "../index/links.ts";
import { distance } from "../index/spelling.ts";
import { readQuery } from "../query.ts";
import { dateWords } from "./dates.ts";
import { nthLargest } from "./lexical/sums.ts";
import { marker } from "./marks.ts";
import { searchTerms, wordsOf } from "./terms.ts";

test.each([
  ["parseDocument", ["parse", "document", "parsedocument"]],
  ["snake_case_name", ["snake", "case", "name", "snakecasename"]],
  ["HTTPServer", ["http", "server", "httpserver"]],
  ["src/wiki/files.ts:12", ["src", "wiki", "files", "ts", "12"]],
  ["Crème Brûlée", ["creme", "brulee"]],
  ["東京へ", ["東", "京", "へ", "東京", "京へ"]],
  ["1,048,576", ["1", "048", "576", "1048576"]],
  ["1,234.56", ["1", "234", "1234", "56"]],
  ["1.234.56.78", ["1", "234", "56", "78"]],
  ["250ms", ["250", "ms", "250ms"]],
  ["19th", ["19th"]],
  ["1930s", ["1930s"]],
  ["Kündigung", ["kundigung", "kuendigung"]],
  ["Łódź", ["lodz"]],
  ["검색을", ["검", "색", "을", "검색", "색을"]],
  ['"; DROP TABLE', ["drop", "table"]],
])("%s is the words %j", (text, words) => {
  expect(wordsOf(text)).toEqual(words);
});

test("ASCII words are the same in a text with other letters", () => {
  const text = fc.array(fc.constantFrom("1,048", "1.048.576", "12,3", "x", "_a", "B2", ".", ",", "'", " ", "-", "007"));
  fc.assert(
    fc.property(text, (parts) => {
      const joined = parts.join("");
      expect(wordsOf(`${joined} é`)).toEqual([...wordsOf(joined), "e"]);
    }),
  );
});

test("a question keeps its telling words, and one of stop words keeps them all", () => {
  expect(searchTerms("What is the retry policy of the queue?")).toEqual(["retry", "policy", "queue"]);
  expect(searchTerms("to be or not to be")).not.toEqual([]);
  expect(searchTerms("\0 ~ * ( )")).toEqual([]);
});

test("stems are those of SQLite's own index", () => {
  const words = wordsOf(
    "relational conditional rationally valenci digitizer operator feudalism decisiveness hopefulness formaliti sensitivities " +
      "triplicate formative formalize electrical goodness revival allowance inference airliner adjustable defensible irritant " +
      "replacement adjustment dependent adoption communism activate angulariti homologous effective probate rate cease " +
      "controll roll caresses ponies ties cats feed agreed plastered bled motoring sing conflated troubled sized hopping tanned " +
      "falling hissing fizzed failing filing happy sky lyase queries queues running leases migration retries " +
      "eeds ies pyyamlational 2000s 3ds node18s utf8ed",
  );
  const db = openConnection(":memory:", 0);
  db.exec(
    "CREATE VIRTUAL TABLE t USING fts5 (w, tokenize = 'porter unicode61'); CREATE VIRTUAL TABLE v USING fts5vocab (t, instance)",
  );
  for (const [at, word] of words.entries()) db.prepare("INSERT INTO t (rowid, w) VALUES (?, ?)").run([at, word]);
  const stems = db
    .prepare("SELECT term FROM v ORDER BY doc")
    .all([])
    .map(({ term }) => term);
  db.close();
  expect(words.map(stem)).toEqual(stems);
});

const asked = (...words: string[]) => words.map((word) => ({ word }));

test("words of a snippet are marked however they end, and identifiers by their parts", () => {
  const { text, found } = marker(asked("queue", "retry", "next"))("The queues were retried by claimNext().");
  expect(text).toBe("The \u0001queues\u0002 were \u0001retried\u0002 by \u0001claimNext\u0002().");
  expect(found).toEqual(["queue", "retry", "next"]);
});

test("marks never lose or add a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.array(fc.string()), (body, terms) => {
      const { text } = marker(asked(...terms))(body.slice(0, 80));
      const plain = (value: string) =>
        value
          .replaceAll(/[\u0001\u0002…]/g, "")
          .split(/\s+/)
          .filter(Boolean);
      const shown = plain(text).slice(1, -1);
      for (const word of shown) expect(body).toContain(word);
    }),
    { numRuns: 200 },
  );
});

test("filters are taken out of a query, and those that make no sense are explained", () => {
  expect(readQuery('retry type:source,entry section:api/ author:"Ada L" before:2026-11 policy')).toEqual({
    words: "retry   policy".replace("   ", " "),
    types: ["source", "entry"],
    section: "api",
    author: "Ada L",
    before: "2026-11",
    complaints: [],
    ignored: [],
  });
  expect(readQuery("before:2026-13-45 x").complaints[0]).toMatch(/2026-11-15/);
  expect(readQuery("http://example.org").words).toBe("http://example.org");
});

test.each([
  ["recieve", "receive", 1],
  ["kubernets", "kubernetes", 1],
  ["kitten", "sitting", 3],
  ["same", "same", 0],
])("from %s to %s it is %i", (a, b, off) => {
  expect(distance(a, b, 5)).toBe(off);
});

test("links are found as people and agents write them, from the folder of the file they stand in", () => {
  const links = (text: string, kind: string, id: string) =>
    linksIn(text, { kind, id }, { wiki: "book", sources: "papers" });
  const named = "See [[plan]], [[api/errors|the codes]], [[plan#dates]] and [[source:a/b.txt#L12]]; not `[[code]]`.";
  expect(links(named, "task", "t-1")).toEqual(["entry:plan", "entry:api/errors", "source:a/b.txt#L12"]);
  const relative = "[x](../services/ingest.md#replay) [y](../../papers/a.txt) [z](https://example.org/a.md) [s](b.md)";
  expect(links(relative, "entry", "guides/start")).toEqual(["entry:services/ingest", "source:a.txt", "entry:guides/b"]);
  expect(links("[x](../b.txt)", "source", "notes/a.md")).toEqual(["source:b.txt"]);
});

test("a date in digits is also what people call it", () => {
  expect(dateWords("log of 2023-05-08")).toBe("8 May 2023 Monday");
  expect(dateWords("2023-13-40 and 31.02.2023, 99/99/2023, 1.2.3, 192.168.20.23")).toBe("");
  expect(dateWords("08.05.2023 or 20230508, 2023/5/8, at 2023-05-08T10:00:00Z")).toBe("8 May 2023 Monday");
  expect(dateWords("5/8/2023")).toBe("5 August 2023 Saturday 8 May 2023 Monday");
});

test("K10: a word is marked wherever the text has its stem, in any case, script and place", () => {
  const ends = ["", "s", "es", "ies", "y", "ed", "ying", "ational", "ness", "ly"];
  const plainWord = fc
    .tuple(fc.stringMatching(/^[a-z]{1,5}$/), fc.constantFrom(...ends))
    .map(([begin, end]) => begin + end);
  const other = fc.constantFrom(
    "claimNext",
    "snake_case",
    "1,048,576",
    "Ünïcode",
    "東京",
    "“quoted”",
    "😀",
    "it’s",
    "x2",
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(plainWord, other), { minLength: 1, maxLength: 20 }), fc.nat(), (words, at) => {
      const asks = searchTerms(words[at % words.length] ?? "");
      const known = new Set(wordsOf(words.join(" ")).map(stem));
      const { found } = marker(asks.map((word) => ({ word })))(words.join(" "));
      expect(found).toEqual(asks.filter((word) => known.has(stem(word))));
      const shouted = marker(asked("plain"))("A PLAIN, plains «Plain» word");
      expect(shouted.text).toBe("A \u0001PLAIN\u0002, \u0001plains\u0002 «\u0001Plain\u0002» word");
    }),
    { numRuns: 500 },
  );
});

test("the n-th largest is the one that sorting finds", () => {
  const numbers = fc.array(fc.constantFrom(0, 1, 2, 3, 5, 8, 13, 0.5), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(numbers, fc.integer({ min: 1, max: 50 }), (values, n) => {
      const sorted = [...values].sort((a, b) => b - a);
      expect(nthLargest(Float32Array.from(values), n)).toBe(sorted[Math.min(n, sorted.length) - 1]);
    }),
  );
});
