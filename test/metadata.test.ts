import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operationNamed, operations } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { countWords } from "../src/wiki/stores/document.ts";
import { agent, backends, engines, newWorkspace, person } from "./support/workspace.ts";

const ask = async <N extends OperationName>(app: App, name: N, input: object, caller = person()) =>
  unwrap(await operationNamed(name).perform(app, input, caller));

const japanese = "吾輩は猫である。名前はまだ無い。";

describe.each(backends)("N11: metadata ($store, $engine)", (backend) => {
  test("N11: words of texts without spaces are counted, also in appended lines and after an update", async () => {
    const { app, open } = await newWorkspace(backend);
    const { version } = await ask(app, "fetch_entry", { id: "vision" });
    await ask(app, "commit_entry", { id: "vision", content: `${japanese}\n`, version });
    await ask(app, "append_log", { id: "decisions", line: japanese }, agent("planner"));
    const words = async (by: App, id: string) =>
      (await ask(by, "list_entries", {})).entries.find((entry) => entry.id === id)?.wordCount;
    expect(await words(app, "vision")).toBe(countWords(japanese));
    expect(countWords(japanese)).toBeGreaterThan(6);
    const { content } = await ask(app, "fetch_entry", { id: "decisions" });
    expect(await words(app, "decisions")).toBe(countWords(content));
    // As an older version left it.
    await app.db.write(async (tx) => {
      await tx.updateTable("entries").set({ words: 1 }).execute();
      await tx.deleteFrom("meta").where("key", "=", "word-count").execute();
    });
    expect(await words(await open(), "vision")).toBe(countWords(japanese));
  });

  test("N11: ids of tasks and entries are accepted where ids of nodes are, and the refusal says the form", async () => {
    const { app } = await newWorkspace(backend);
    const caller = agent("planner");
    const { id } = await ask(app, "create_todo", { title: "Measure", description: "" }, caller);
    await ask(app, "append_log", { id: "decisions", line: "x" }, caller);
    for (const form of [id, `task:${id}`]) {
      const { nodes } = await ask(app, "memory_get_subgraph", { id: form, depth: 1 }, caller);
      expect(nodes.map((node) => node.id)).toContain(`task:${id}`);
      await ask(app, "memory_get_neighbors", { id: form }, caller);
    }
    expect(await ask(app, "memory_get_node", { id: "decisions" }, caller)).toMatchObject({ id: "entry:decisions" });
    await ask(app, "memory_add_edge", { type: "about", from: id, to: "decisions" }, caller);
    const path = await ask(app, "memory_find_path", { from: id, to: "decisions" }, caller);
    expect(path.nodes.map((node) => node.id)).toEqual([`task:${id}`, "entry:decisions"]);
    const refused = await operations.memory_get_node.perform(app, { id: "task-nowhere" }, caller);
    expect(refused).toMatchObject({ ok: false, problem: { message: expect.stringContaining("task:<id>") } });
  });
});

describe.each(engines)("N11: files on %s", (engine) => {
  test("N11: a source whose name differs from another only in case or Unicode form is refused", async () => {
    const { app, file } = await newWorkspace({ engine });
    const add = (name: string) => operations.add_source.perform(app, { name, content: name }, person());
    unwrap(await add("papers/x.txt"));
    for (const twin of ["papers/X.TXT", "PAPERS/y.txt", "papers/ｘ.txt"]) {
      expect(await add(twin)).toMatchObject({ ok: false, problem: { code: "conflict" } });
      expect(existsSync(file(`sources/${twin}`))).toBe(false);
    }
    const both = await Promise.all([add("a/Straße.txt"), add("a/STRASSE.txt")]);
    expect(both.filter(({ ok }) => ok)).toHaveLength(1);
  });

  test("N11: times survive a rebuild to the millisecond", async () => {
    const { app } = await newWorkspace({ engine });
    for (const line of ["one", "two", "three"])
      await ask(app, "append_log", { id: "decisions", line }, agent("planner"));
    unwrap(await operations.add_source.perform(app, { name: "a.txt", content: "x" }, person()));
    const times = async () => ({
      versions: (await ask(app, "entry_history", { id: "decisions" })).versions.map(({ at }) => at).slice(0, 3),
      sources: (await ask(app, "list_sources", {})).sources.map(({ at }) => at),
    });
    const before = await times();
    expect(before.versions.some((at) => !at.endsWith(".000Z"))).toBe(true);
    await app.recorder.drain(5000);
    await app.db.write(async (tx) => {
      await tx.deleteFrom("sources").execute();
    });
    await app.rebuild();
    expect(await times()).toEqual(before);
  });

  test("N11: fetch_entry answers with the last recorded version while a program keeps writing the file", async () => {
    const { app, file } = await newWorkspace({ engine });
    const { version } = await ask(app, "fetch_entry", { id: "vision" });
    await ask(app, "commit_entry", { id: "vision", content: "Recorded.\n", version });
    let writes = 0;
    const writer = setInterval(() => writeFileSync(file("vision.md"), `---\ntitle: V\n---\n\nfree ${writes++}\n`), 30);
    try {
      await sleep(100);
      // On a busy machine the writer pauses now and then; its text counts then.
      let found = await ask(app, "fetch_entry", { id: "vision" });
      for (let tries = 0; found.note === undefined && tries < 20; tries++) {
        await sleep(50);
        found = await ask(app, "fetch_entry", { id: "vision" });
      }
      expect(found.content).toBe(await app.entries.contentAt("vision", found.version));
      expect(found.note).toBe(
        `another program keeps writing wiki/vision.md; this is version ${found.version}, the last recorded`,
      );
      const refused = await operations.commit_entry.perform(
        app,
        { id: "vision", content: "Mine.\n", version },
        agent("planner"),
      );
      expect(refused).toMatchObject({ ok: false, problem: { code: "conflict" } });
    } finally {
      clearInterval(writer);
    }
    await expect.poll(async () => (await ask(app, "fetch_entry", { id: "vision" })).note).toBeUndefined();
    expect((await ask(app, "fetch_entry", { id: "vision" })).content).toBe(`free ${writes - 1}\n`);
  });

  test("N12: many new files at once become versions by their authors, as one by one", async () => {
    const ids = Array.from({ length: 60 }, (_, at) => `part${at % 3}/s${at}`);
    const section = (id: string) =>
      `    - { id: ${id}, title: T, mode: snapshot, writable_by: [planner], description: D. }\n`;
    const schema = `schema:\n  sections:\n${ids.map(section).join("")}pipeline: []\n`;
    const { app, file, git } = await newWorkspace({ engine, schema });
    mkdirSync(file("wiki/part0"), { recursive: true });
    for (const id of ids) writeFileSync(file(`${id}.md`), `# ${id}\n`);
    git("-c", "user.name=Grace", "commit", "-qm", "Half", "--", "wiki/part0", "wiki/part1");
    const { entries } = await ask(app, "list_entries", { all: true });
    const authors = new Map(entries.map(({ id, lastAuthor }) => [id, lastAuthor]));
    expect(ids.map((id) => authors.get(id))).toEqual(
      ids.map((id) => (id.startsWith("part2") ? "Ada Lovelace" : "Grace")),
    );
    expect((await ask(app, "fetch_entry", { id: "part2/s2" })).content).toBe("# part2/s2\n");
    const { results } = await ask(app, "search_entries", { query: "s59" });
    expect(results[0]?.id).toBe("part2/s59");
  });
});
