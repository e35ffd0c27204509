import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import type { Caller } from "../src/kernel/caller.ts";
import { type Result, unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { scriptorium } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing } from "./support/crew.ts";
import { embeddingServer } from "./support/embedding-server.ts";
import { agent, engines, newWorkspace, person, temporaryFolder } from "./support/workspace.ts";

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
  const found = async (query: string) =>
    (await call("search", { query: `type:source ${query}` })).results.map((hit: { id: string }) => hit.id);
  return { ...workspace, call, found };
}

const filler =
  "the old mill by the river was rebuilt after the flood and grinds rye and barley for the village again. ";

describe.each(engines)("retrieval on %s", (engine) => {
  test("F1: a question of thousands of characters is answered by its rare words, wherever they stand", async () => {
    const { call, found } = await withSources(engine, {
      "a.txt": "The capercaillie nests under the northern spruce.",
      ...Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`${n}.txt`, `${n} ${filler.repeat(2)}`])),
    });
    const distinct = Array.from({ length: 60 }, (_, n) => `wordno${String.fromCharCode(97 + (n % 26))}${n}`).join(" ");
    const question = `${filler.repeat(20)} ${distinct} where does the capercaillie nest`;
    expect(question.length).toBeGreaterThan(2000);
    expect((await found(question))[0]).toBe("a.txt");
    const { passages } = await call("recall", { query: question });
    expect(passages.map((one: { ref: string }) => one.ref)).toContain("source:a.txt");
    const { results } = await call("search_entries", { query: question });
    expect(results).toEqual([]);
  });

  test("F3: words of scripts without spaces are found where their characters stand together", async () => {
    const { found } = await withSources(engine, {
      "ja-apart.txt": "東の都に京の人がいて、東の人も京へ行き、東で京を見た。",
      "ja.txt": "来年は東京へ行きます。新しい家を探しています。",
      "th-apart.txt": "ก า แ ฟ ก า แ ฟ",
      "th.txt": "ฉันชอบดื่มกาแฟทุกเช้า",
      "ko.txt": "새로운 검색을 시작했다",
    });
    expect((await found("東京"))[0]).toBe("ja.txt");
    expect((await found("กาแฟ"))[0]).toBe("th.txt");
    expect(await found("검색")).toEqual(["ko.txt"]);
    expect(await found("검색 새로운")).toEqual(["ko.txt"]);
    expect(await found("京")).toContain("ja-apart.txt");
  });

  test("F7: of two texts the one with the word in its title comes first", async () => {
    const { found } = await withSources(engine, {
      "plain.md": `# Notes\n\nThe heron. ${filler}`,
      "titled.md": `# Heron\n\nA bird of the river and the lake. ${filler}`,
    });
    expect((await found("heron"))[0]).toBe("titled.md");
  });

  test("F5: recall keeps its budget with everything in it, uses it, and refers to each passage once", async () => {
    const texts = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [
        `${n}.md`,
        `# Retry ${n}\n\nThe delivery number ${n} is tried again. ${filler.repeat(2)}`,
      ]),
    );
    const { call } = await withSources(engine, texts);
    const long = `delivary retry ${Array.from({ length: 300 }, (_, n) => `question${n}`).join(" ")}`;
    for (const budget of [1000, 2500, 6000])
      for (const query of ["delivary retry", long]) {
        const answer = await call("recall", { query, budget });
        const size = Buffer.byteLength(JSON.stringify(answer));
        expect(size).toBeLessThanOrEqual(budget);
        expect(size).toBeGreaterThan(budget * 0.6);
        expect(answer.passages.length).toBeGreaterThan(0);
        for (const passage of answer.passages) expect(Object.keys(passage)).not.toContain("id");
      }
    const agentAnswer = await call("search", { query: long, passages: true }, agent("engineer"));
    expect(Buffer.byteLength(JSON.stringify(agentAnswer))).toBeLessThanOrEqual(6000);
  });

  test("F6: with a model installed a word that means nothing finds nothing, and recall says that nothing fits", async () => {
    const { app, root, open } = await withSources(engine, {
      "cat.txt": "the cat sleeps in the sun",
      "dog.txt": "the dog barks at night",
    });
    await app.close();
    const server = await embeddingServer();
    const config = join(root, "scriptorium.yaml");
    writeFileSync(
      config,
      `${readFileSync(config, "utf8")}\nsearch: { embeddings: { url: "${server.url}", model: m } }\n`,
    );
    const again = await open();
    while ((await again.search.catchUp()) > 0);
    while ((await again.search.meaning.embedSome()) > 0);
    expect((await again.search.meaning.status()).model).toMatch(/^m @/);
    const call = calling(again);
    expect((await call("search", { query: "type:source feline" })).results[0]).toMatchObject({ id: "cat.txt" });
    expect((await call("search", { query: "xyzzyplugh" })).results).toEqual([]);
    const nothing = await call("recall", { query: "xyzzyplugh" });
    expect(nothing).toMatchObject({ passages: [], omitted: 0, notes: [expect.stringMatching(/nothing fits/)] });
  });

  test("F4: what recall returned to a worker counts for retrieval precision, and what it cites of it", async () => {
    const config = "crew: {sandbox: none}\n";
    const { app } = await newWorkspace({ engine, config, files: { ".gitignore": ".scriptorium/\n" } });
    const call = calling(app);
    await call("commit_entry", { id: "notes", content: "The heron nests here.\n", version: 1 }, agent("planner"));
    unwrap(await app.sources.add("heron.txt", Buffer.from("A heron stood in the reeds."), ada));
    const run = await newRun(app, [planned("0", { title: "Count the birds" })]);
    let recalled: string[] = [];
    await executed(
      app,
      run,
      playing({
        worker: async ({ use }) => {
          const { id: task } = await app.db.read
            .selectFrom("run_tasks")
            .select("task_id as id")
            .where("run_id", "=", run)
            .executeTakeFirstOrThrow();
          const worker: Caller = { ...(agent("engineer", run) as Extract<Caller, { kind: "agent" }>), task, epoch: 1 };
          const { passages } = await call("recall", { query: "heron", types: ["entry", "source"] }, worker);
          recalled = passages.map((one: { ref: string }) => one.ref);
          await use("submit_output", { output: "made 0: two herons", cites: ["[[entry:notes]]"] });
        },
        qc: passes,
      }),
    );
    expect(recalled.sort()).toEqual(["entry:notes", "source:heron.txt"]);
    const { figures } = await call("metrics", { run });
    expect(figures.find(({ name }: { name: string }) => name === "retrieval_precision")).toMatchObject({ value: 0.5 });
  });

  test("F9: a correct word that the texts lack stays, a mistyped one is corrected, a mistyped stop word is ignored", async () => {
    const { call } = await withSources(engine, {
      "shop.txt": "the price of the game went up",
      "kitchen.txt": "how to cook potatoes and techniques for soup",
    });
    const suggestion = async (query: string) => (await call("search", { query })).suggestion;
    expect(await suggestion("cook rice")).toBeUndefined();
    expect(await suggestion("gmae")).toBe("game");
    expect(await suggestion("cook tecniques")).toBe("cook techniques");
    expect(await suggestion("waht cook")).toBeUndefined();
  });

  test("F9: a phrase must stand in the text, -word leaves out, and a question may have quotes", async () => {
    const { call, found } = await withSources(engine, {
      "a.txt": "the retry policy of the queue",
      "b.txt": "the policy says that a retry is logged",
    });
    expect(await found('"retry policy"')).toEqual(["a.txt"]);
    expect((await found("retry -queue")).sort()).toEqual(["b.txt"]);
    expect((await found('what does the "policy retry" say?')).sort()).toEqual(["a.txt", "b.txt"]);
    const { notes, results } = await call("search", { query: 'type:source "policy retry"' });
    expect(notes.join()).toMatch(/no passage has "policy retry"/);
    expect(results).toHaveLength(2);
  });

  test("F9: a filter that nothing can match is refused with what is allowed", async () => {
    const { call } = await withSources(engine, { "a.txt": "the retry policy" });
    await expect(call("search", { query: "retry after:2026-13-45" })).rejects.toThrow(
      /after: .*2026-11-15.*2026-13-45/,
    );
    const { results, notes } = await call("search", { query: "retry before:yesterday" });
    expect([results.length, notes.join()]).toEqual([1, expect.stringContaining("before:yesterday is not a date")]);
    await expect(call("search", { query: "retry section:nowhere" })).rejects.toThrow(
      /section: nothing is in nowhere; .*vision/,
    );
    await expect(call("search", { query: "retry type:poem" })).rejects.toThrow(/unknown type poem; expected entry/);
  });

  test("F9: months, grouped numbers and umlauts are found however they are written", async () => {
    const { found } = await withSources(engine, {
      "log.md": "# Log\n\n- 2022-01-15 the roof was repaired\n- 2022-03-02 the door was painted\n",
      "size.txt": "the limit is 1,048,576 bytes",
      "de.txt": "Die Kündigung wurde über Zürich zugestellt, in der Hauptstraße.",
    });
    expect((await found("repaired in Jan 2022"))[0]).toBe("log.md");
    expect(await found("Jan 2022")).toContain("log.md");
    expect(await found("1048576")).toEqual(["size.txt"]);
    for (const query of ["kuendigung", "Kündigung", "kundigung", "Zuerich", "hauptstrasse"])
      expect(await found(query), query).toEqual(["de.txt"]);
  });

  test("F9: a node with an unknown field is refused, and the field is named", async () => {
    const { call } = await withSources(engine, {});
    await expect(call("memory_add_node", { type: "fact", title: "Heron" })).rejects.toThrow(/title/);
  });

  test("K10: the index deletes a changed passage with the words that it was indexed with", async () => {
    const { call } = await withSources(engine, { "c.txt": "Bob: two gulls" });
    const write = (content: string, version: number) =>
      call("commit_entry", { id: "notes", content, version }, agent("planner"));
    const scores = async (query: string) =>
      (await call("search", { query })).results.map(({ ref, score }: { ref: string; score: number }) => [ref, score]);
    await write("Ada: one heron\nBob: two\nAda: three\nBob: four\n", 1);
    expect(await scores("heron")).toHaveLength(1);
    await write("Ada: one gull\nBob: two\nAda: three\nBob: four\n", 2);
    expect(await scores("heron")).toEqual([]);
    const before = await scores("gull two");
    expect(before).toHaveLength(2);
    await call("rebuild_search", {});
    expect(await scores("gull two")).toEqual(before);
  });
});

test("F9: the model is installed without a workspace", async () => {
  const folder = temporaryFolder();
  const result = await scriptorium(["model", "install", "--from", join(folder, "missing")], { cwd: folder });
  expect(result.code).not.toBe(0);
  expect(result.stderr).toMatch(/missing.* does not exist/);
  expect(result.stderr).not.toMatch(/workspace/);
});
