import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import type { Caller } from "../src/kernel/caller.ts";
import { type Result, unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { agent, allEvents, engines, newWorkspace, person } from "./support/workspace.ts";

const ada = { name: "Ada" };

/** Calls any operation; answers have many shapes. */
const calling =
  (app: App) =>
  async (name: OperationName, input: object, caller: Caller = person()) =>
    // biome-ignore lint/suspicious/noExplicitAny: what is looked at is expected field by field.
    unwrap((await operations[name].perform(app, input, caller)) as Result<any>);

async function withSources(engine: (typeof engines)[number], texts: Record<string, string>) {
  const workspace = await newWorkspace({ engine });
  for (const [name, text] of Object.entries(texts))
    unwrap(await workspace.app.sources.add(name, Buffer.from(text), ada));
  const call = calling(workspace.app);
  const search = async (query: string) => call("search", { query: `type:source ${query}`, limit: 50 });
  const found = async (query: string) => (await search(query)).results.map((hit: { id: string }) => hit.id).sort();
  return { ...workspace, call, search, found };
}

const sizeOf = (answer: unknown) => Buffer.byteLength(JSON.stringify(answer));

describe.each(engines)("search operators and limits on %s", (engine) => {
  test("K10: an excluded identifier leaves out the texts with all of it, and not those with a part", async () => {
    const { found } = await withSources(engine, {
      "whole.txt": "heron: claimNextTask takes one",
      "parts.txt": "heron: the next task in each case",
      "snake.txt": "heron: snake_case is refused",
      "zh.txt": "数据 中国 的 报告",
      "zh-part.txt": "数据 中文 的 报告",
      "de.txt": "heron: die Kündigung",
    });
    expect(await found("heron -claimNextTask")).toEqual(["de.txt", "parts.txt", "snake.txt"]);
    expect(await found("heron -snake_case")).toEqual(["de.txt", "parts.txt", "whole.txt"]);
    expect(await found("数据 -中国")).toEqual(["zh-part.txt"]);
    for (const query of ["heron -Kündigung", "heron -kuendigung", "heron -kundigung"])
      expect(await found(query), query).toEqual(["parts.txt", "snake.txt", "whole.txt"]);
  });

  test("K10: a phrase is found with a month, in Korean and without its accents", async () => {
    const { found, search } = await withSources(engine, {
      "month.txt": "the roof was repaired in March 2022 by Ada",
      "ko.txt": "내일 서울에서 만나요",
      "fr.txt": "a naïve reading of the café menu",
      "plain.txt": "a naive approach",
      "de.txt": "die fristlose Kündigung kam",
    });
    expect(await found('"March 2022"')).toEqual(["month.txt"]);
    expect((await search('"March 2022"')).notes).toEqual([]);
    expect(await found('"서울"')).toEqual(["ko.txt"]);
    expect(await found('"naive reading"')).toEqual(["fr.txt"]);
    expect(await found('"naïve approach"')).toEqual(["plain.txt"]);
    for (const phrase of ["fristlose Kündigung", "fristlose kuendigung", "fristlose kundigung"])
      expect(await found(`"${phrase}"`), phrase).toEqual(["de.txt"]);
  });

  test("K10: a phrase is found in an old passage though thousands of newer ones have its words", async () => {
    const lines = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) => `- 2026-01-02 policy ${from + n} is to retry`).join("\n");
    const { call, search } = await withSources(engine, {
      "0-old.md": "- 2026-01-01 the retry policy was written down\n",
      "1-new.md": `${lines(0, 2500)}\n`,
    });
    const { results, notes } = await search('"retry policy"');
    expect(results.map((hit: { id: string }) => hit.id)).toEqual(["0-old.md"]);
    expect(notes).toEqual([]);
    expect((await call("recall", { query: '"retry policy"' })).passages).toHaveLength(1);
  });

  test("K10: what an excluded word leaves is found beyond the best matches, and if nothing is left the answer says so", async () => {
    const { app, call, search, found } = await withSources(engine, {
      "b.txt": "a long note on the mill, the river, the flood and, at the very end of it all, one heron",
    });
    const lines = Array.from({ length: 700 }, () => "- 2026-01-02 heron heron crane").join("\n");
    unwrap(await app.sources.add("a.md", Buffer.from(`${lines}\n`), ada));
    expect(await found("heron -crane")).toEqual(["b.txt"]);
    const { results, notes } = await search("heron -crane -mill");
    expect(results).toEqual([]);
    expect(notes.join()).toMatch(/every match has an excluded word/);
    const { passages } = await call("recall", { query: "heron -crane" });
    expect(passages.map(({ ref }: { ref: string }) => ref)).toEqual(["source:b.txt"]);
  });

  test("K10: an excluded word does not leave out its neighbours in a conversation", async () => {
    const { search } = await withSources(engine, {
      "chat.txt": "Ada: the heron came\nBob: and a crane\nAda: the heron left\nBob: yes\n",
    });
    const { results } = await search("heron -crane");
    expect(results[0].line === 1 ? results[0].more[0].line : results[0].line).toBe(3);
  });

  test("O15: only passages that the agent was given are on record", async () => {
    const texts = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`${n}.txt`, `heron number ${n}`]));
    const { app, call } = await withSources(engine, texts);
    const worker: Caller = {
      ...(agent("engineer", "r-1") as Extract<Caller, { kind: "agent" }>),
      task: "task-1",
      epoch: 1,
    };
    const { results } = await call("search", { query: "heron", passages: true, limit: 3 }, worker);
    const shown = results.map(({ ref }: { ref: string }) => ref);
    expect(shown).toHaveLength(3);
    const events = (await allEvents(app)).filter(({ kind }) => kind === "passages-recalled");
    expect(events.map(({ data }) => data)).toEqual([{ query: "heron", refs: shown }]);
  });

  test("K10: no answer of search or recall exceeds its budget, whatever is asked", async () => {
    const texts = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [
        `${n}.md`,
        `# Retry ${n}\n\nDelivery ${n} is tried again. ${"post ".repeat(n * 20)}`,
      ]),
    );
    const { app, call } = await withSources(engine, texts);
    const phrase = fc.string({ minLength: 1, maxLength: 200 }).map((text) => `"${text.replaceAll('"', " ")}"`);
    const part = fc.oneof(
      fc.constantFrom(
        "delivary",
        "retry",
        "delivery",
        "-post",
        "type:",
        "author:",
        "before:init",
        "section:",
        "wörld",
        "東京",
      ),
      phrase,
      fc.string({ maxLength: 80 }),
      fc.constant(`author:"${"x".repeat(700)}"`),
    );
    const query = fc.array(part, { minLength: 1, maxLength: 25 }).map((parts) => parts.join(" "));
    const phrases = Array.from({ length: 8 }, (_, n) => `"${`${n}\\é`.repeat(60)}"`).join(" ");
    await fc.assert(
      fc.asyncProperty(query, fc.integer({ min: 1000, max: 24_000 }), async (query, budget) => {
        if (query.trim() === "") return;
        expect(sizeOf(await call("recall", { query, budget }))).toBeLessThanOrEqual(budget);
        for (const passages of [true, false]) {
          const answer = await operations.search.perform(app, { query, budget, passages }, person());
          if (answer.ok) expect(sizeOf(answer.value)).toBeLessThanOrEqual(budget);
        }
      }),
      {
        numRuns: 40,
        examples: [
          [`${phrases} delivary`, 1000],
          [`delivary ${"type: author: ".repeat(200)}`, 1000],
          [`delivary author:"${"é".repeat(900)}"`, 1000],
        ],
      },
    );
  });

  test("K10: filters are read outside quotes only, and a word that is no date is searched", async () => {
    const { found, search, call } = await withSources(engine, {
      "a.txt": "please see type:foo here",
      "b.txt": "an error before:init failed",
    });
    expect(await found('"see type:foo here"')).toEqual(["a.txt"]);
    const pasted = await search("error before:init failed");
    expect(pasted.results[0]).toMatchObject({ id: "b.txt" });
    expect(pasted.notes.join()).toMatch(/before:init is not a date such as 2026-11-15: searched as words/);
    const { results } = await call("search", { query: 'type:"topic, source" error' });
    expect(results).toMatchObject([{ id: "b.txt" }]);
    await expect(call("search", { query: "error before:2026-13-45" })).rejects.toThrow(/expected a date/);
  });

  test("K10: recall uses a large budget for short log lines", async () => {
    const lines = Array.from({ length: 200 }, (_, n) => `- 2026-01-02 heron ${n}`).join("\n");
    const { call } = await withSources(engine, { "log.md": `${lines}\n` });
    const answer = await call("recall", { query: "heron", budget: 24_000 });
    expect(answer.passages.length).toBeGreaterThan(80);
    expect(sizeOf(answer)).toBeGreaterThan(24_000 * 0.75);
    expect(sizeOf(answer)).toBeLessThanOrEqual(24_000);
  });

  test("K10: a date is found however it is written, in the text or in the query", async () => {
    const { search } = await withSources(engine, {
      "iso.txt": "on 2023-05-08 the keys were lost",
      "words.txt": "on 8 May 2023 the keys were found",
      "us.txt": "on May 8th, 2023 the keys were cut",
      "other.txt": "on 9 June 2023 the keys were sold",
    });
    const first = async (query: string) =>
      (await search(query)).results
        .slice(0, 3)
        .map((hit: { id: string }) => hit.id)
        .sort();
    for (const query of ["2023-05-08", "8 May 2023", "May 8, 2023", "8th of May 2023", "keys 2023-05-08"])
      expect(await first(query), query).toEqual(["iso.txt", "us.txt", "words.txt"]);
  });

  test("K10: a date in numbers is found by its month, and the other way round", async () => {
    const { found } = await withSources(engine, {
      "dots.txt": "closed 05.03.2024 by Ada",
      "slashes.txt": "due 3/5/2024 at noon",
      "compact.txt": "the backup of 20240305 is done",
      "iso.txt": "met on 2024/03/05 about budgets",
      "other.txt": "met on 9 June 2023 about budgets",
    });
    const all = ["compact.txt", "dots.txt", "iso.txt", "slashes.txt"];
    for (const query of ["5 March 2024", "Mar 5th, 2024", "05.03.2024", "2024-03-05", "20240305"])
      expect(
        (await found(query)).filter((id: string) => id !== "other.txt"),
        query,
      ).toEqual(all);
  });

  test("K10: a number is found with its unit beside it or apart, and with or without its groups", async () => {
    const { found } = await withSources(engine, {
      "a.txt": "latency of 250ms",
      "b.txt": "a timeout of 30 s and a heap of 4 GB",
      "c.txt": "it costs $1,234.56 a month",
    });
    for (const query of ["250 ms", "250ms"]) expect(await found(query), query).toEqual(["a.txt"]);
    for (const query of ["30s", "4GB", "4 GB"]) expect(await found(query), query).toEqual(["b.txt"]);
    for (const query of ["1234", "1,234", "1234.56", "$1,234.56"]) expect(await found(query), query).toEqual(["c.txt"]);
  });

  test("K10: letters with strokes are found as plain ones", async () => {
    const { found } = await withSources(engine, {
      "pl.txt": "serwer w mieście Łódź",
      "da.txt": "serveren i Ærøskøbing",
      "tr.txt": "Diyarbakır sunucusu",
    });
    for (const query of ["lodz", "Łódź", "LODZ", '"miescie lodz"'])
      expect(await found(query), query).toEqual(["pl.txt"]);
    expect(await found("aeroskobing")).toEqual(["da.txt"]);
    for (const query of ["diyarbakir", "DİYARBAKIR"]) expect(await found(query), query).toEqual(["tr.txt"]);
  });

  test("K10: a question whose rare words no text has is not answered by its common words", async () => {
    const lines = Array.from({ length: 300 }, (_, n) => `- 2026-01-02 heron ${n}`).join("\n");
    const { call, search } = await withSources(engine, { "log.md": `${lines}\n`, "a.txt": "a crane" });
    const { results, notes } = await search("heron zoologist");
    expect(results).toEqual([]);
    expect(notes.join()).toMatch(/only words that are in many passages occur: heron/);
    const nothing = await call("recall", { query: "which zoologist saw the heron?" });
    expect(nothing).toMatchObject({ passages: [], notes: [expect.stringMatching(/nothing fits/), expect.anything()] });
    for (const query of ["heron", "heron crane", "waht heron", "herno"])
      expect((await search(query)).results.length, query).toBeGreaterThan(0);
  });
});
