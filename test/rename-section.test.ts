import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operationNamed, operations } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { historyRef } from "../src/store/git/history-ref.ts";
import { scriptorium } from "./support/commands.ts";
import { agent, allEvents, backends, newWorkspace, person, read } from "./support/workspace.ts";

const ask = async <N extends OperationName>(app: App, name: N, input: object, caller = person()) =>
  unwrap(await operationNamed(name).perform(app, input, caller));

const write = async (app: App, id: string, content: string) => {
  const { version } = await ask(app, "fetch_entry", { id });
  return ask(app, "commit_entry", { id, content, version });
};

describe.each(backends)("N7: a section is renamed ($store, $engine)", (backend) => {
  test("N7: its history, links, topics, edges and search follow, and the old id says the new one", async () => {
    const { app, root, file, git } = await newWorkspace({
      ...backend,
      files: { "docs/plan.md": "[E](../wiki/api/errors.md) and [[api/errors#codes|codes]]\n" },
    });
    await write(app, "api/errors", "Codes of the heron. See [the vision](../vision.md#goal).\n");
    await write(app, "vision", "See [[api/errors|codes]], [[api/errors#later]] and [this](api/errors.md).\n");
    await ask(app, "append_log", { id: "decisions", line: "as [[api/errors]] says" }, agent("planner"));
    await ask(app, "memory_add_node", { type: "service", id: "service:billing" });
    await ask(app, "memory_add_edge", { type: "uses", from: "service:billing", to: "entry:api/errors" });
    const topic = await ask(app, "open_topic", {
      source_path: "wiki/api/errors.md",
      kind: "question",
      content: "Why?",
    });
    await ask(app, "search_entries", { query: "heron" });
    await ask(app, "search", { query: "plan" });
    const before = await ask(app, "entry_history", { id: "api/errors" });

    const preview = await ask(app, "preview_section_rename", { id: "api/errors", new_id: "failures" });
    expect(preview.relinked.map(({ path }) => path)).toEqual(["wiki/api/errors.md", "wiki/vision.md", "docs/plan.md"]);
    expect(preview.relinked[1]?.lines).toEqual([
      {
        line: 1,
        before: "See [[api/errors|codes]], [[api/errors#later]] and [this](api/errors.md).",
        after: "See [[failures|codes]], [[failures#later]] and [this](failures.md).",
      },
    ]);
    expect((await ask(app, "entry_history", { id: "api/errors" })).versions).toEqual(before.versions);

    const done = await ask(app, "rename_section", { id: "api/errors", new_id: "failures", title: "Failures" });
    expect(done.left).toEqual(expect.arrayContaining(preview.left));
    expect(done).toMatchObject({ id: "failures", relinked: ["failures", "vision", "docs/plan.md"] });
    expect(read(join(root, "docs/plan.md"))).toBe("[E](../wiki/failures.md) and [[failures#codes|codes]]\n");
    expect(done.left).toContainEqual({ path: "wiki/decisions.md", reason: "it is a log, whose lines do not change" });
    expect(done.left.map(({ path }) => path)).not.toContain("docs/plan.md");

    const { content, version, metadata } = await ask(app, "fetch_entry", { id: "failures" });
    expect(content).toBe("Codes of the heron. See [the vision](vision.md#goal).\n");
    // The rename, the title in the file's frontmatter, and then its own relative link.
    const steps = backend.store === "files" ? 3 : 2;
    expect(version).toBe((before.versions[0]?.version ?? 0) + steps);
    expect(metadata.lastAuthor).toBe("Ada Lovelace");
    const history = await ask(app, "entry_history", { id: "failures" });
    expect(history.versions.slice(steps)).toEqual(before.versions);
    const renamed = version - steps + 1;
    expect(history.versions[steps - 1]?.summary).toBe(`Rename api/errors to failures (version ${renamed})`);
    expect((await ask(app, "fetch_entry", { id: "failures", version: version - 1 })).content).toContain("../vision.md");
    const vision = await ask(app, "fetch_entry", { id: "vision" });
    expect(vision.content).toBe("See [[failures|codes]], [[failures#later]] and [this](failures.md).\n");
    expect(vision.metadata.lastAuthor).toBe("Ada Lovelace");

    const { neighbors } = await ask(app, "memory_get_neighbors", { id: "entry:failures", limit: 50 });
    expect(neighbors.map(({ id, edge }) => `${edge.direction} ${edge.type} ${id}`)).toEqual(
      expect.arrayContaining([
        "in uses service:billing",
        "in links_to entry:vision",
        "out links_to entry:vision",
        `in about topic:${topic.id}`,
      ]),
    );
    expect((await ask(app, "list_topics", { source_path: "wiki/failures.md" })).topics.map(({ id }) => id)).toEqual([
      topic.id,
    ]);
    expect((await ask(app, "search_entries", { query: "heron" })).results[0]?.id).toBe("failures");
    expect(await operations.fetch_entry.perform(app, { id: "api/errors" }, agent("engineer"))).toMatchObject({
      ok: false,
      problem: {
        message: "section api/errors was renamed to failures by Ada Lovelace",
        details: { renamed_to: "failures", next: [{ operation: "fetch_entry", input: { id: "failures" } }] },
      },
    });

    const schema = read(file("wiki/schema.yaml"));
    expect(schema).toContain('    - id: failures\n      title: "Failures"\n      mode: snapshot\n');
    expect(schema).toContain("# the architect's part");
    const { versions } = await ask(app, "schema_history", {});
    expect(versions[0]?.changes).toMatchObject({ renamed: ["api/errors is now failures"], added: [], removed: [] });
    expect((await allEvents(app)).map(({ kind }) => kind)).toContain("section-renamed");
    await app.recorder.drain(10_000);
    expect(git("show", "HEAD:wiki/schema.yaml")).toContain("id: failures");
    if (backend.store === "database") return;

    expect(existsSync(file("api/errors.md"))).toBe(false);
    expect(git("status", "--porcelain")).toBe("");
    expect(git("ls-tree", "-r", "--name-only", "HEAD")).not.toContain("wiki/api/errors.md");
    expect(git("log", "--follow", "--format=%s", historyRef, "--", "wiki/failures.md")).toContain("Commit api/errors");
    git("fsck", "--strict");
    await app.rebuild();
    expect((await ask(app, "entry_history", { id: "failures" })).versions).toEqual(history.versions);
    expect((await ask(app, "doctor", {})).findings.filter(({ state }) => state === "problem")).toEqual([]);
  });
});

test("N7: the new title is also in the frontmatter, which is shown; doctor finds nothing", async () => {
  const { app, file, git } = await newWorkspace();
  writeFileSync(file("notes.md"), '---\ntitle: "Notes"\nowner: ada\n---\n\nText.\n');
  await ask(app, "fetch_entry", { id: "notes" });
  await ask(app, "rename_section", { id: "notes", new_id: "remarks", title: "Remarks" });
  expect(read(file("remarks.md"))).toBe('---\ntitle: "Remarks"\nowner: ada\n---\n\nText.\n');
  expect((await ask(app, "fetch_entry", { id: "remarks" })).metadata.title).toBe("Remarks");
  await app.recorder.drain(10_000);
  expect(git("status", "--porcelain")).toBe("");
  expect((await ask(app, "doctor", {})).findings.filter(({ state }) => state === "problem")).toEqual([]);
});

describe("N7: refusals of a rename", () => {
  test("N7: a section that exists, a file in the way and an agent's call are refused; nothing changes", async () => {
    const { app, file, root } = await newWorkspace();
    const rename = (input: object, caller = person()) => operations.rename_section.perform(app, input, caller);
    expect(await rename({ id: "vision", new_id: "notes" })).toMatchObject({ ok: false, problem: { code: "conflict" } });
    expect(
      await operations.preview_section_rename.perform(app, { id: "vision", new_id: "notes" }, person()),
    ).toMatchObject({ problem: { code: "conflict", message: "section notes already exists" } });
    expect(await rename({ id: "nowhere", new_id: "x" })).toMatchObject({ ok: false, problem: { code: "not_found" } });
    mkdirSync(file("wiki/new"), { recursive: true });
    writeFileSync(file("new/place.md"), "mine\n");
    expect(await rename({ id: "vision", new_id: "new/place" })).toMatchObject({
      ok: false,
      problem: { code: "conflict" },
    });
    expect(await rename({ id: "vision", new_id: "x" }, agent("planner"))).toMatchObject({
      ok: false,
      problem: { code: "denied" },
    });
    expect(read(file("wiki/schema.yaml"))).toContain("id: vision");
    const command = await scriptorium(["section", "rename", "vision", "aim"], { cwd: root });
    expect(command.stdout).toBe("vision is now aim\n");
    const back = await scriptorium(["section", "rename", "aim", "vision"], { cwd: root });
    expect(back.stdout).toBe("aim is now vision\n");
    const old = await scriptorium(["entry", "read", "aim"], { cwd: root });
    expect(old.stderr).toContain(
      "section aim was renamed to vision by Ada Lovelace; to use it, run: scriptorium entry read vision",
    );
  });
});
