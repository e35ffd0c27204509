import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import type { Caller } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium } from "./support/commands.ts";
import { agent, engines, gitIn, newWorkspace, person, sampleSchema, temporaryFolder } from "./support/workspace.ts";

const search = async (app: App, query: string, caller: Caller = person()) =>
  unwrap(await operations.search.perform(app, { query, limit: 20 }, caller));

const found = async (app: App, query: string) =>
  (await search(app, query)).results.map(({ type, id }) => `${type}:${id}`);

function writer(root: string) {
  return (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
}

describe.each(engines)("P19: search over the pages of the repository on %s", (engine) => {
  test("finds README and docs, tracked or not, with title, heading and line, and no file that git ignores", async () => {
    const { app, root, git } = await newWorkspace({ engine });
    const write = writer(root);
    write("README.md", "# Kingfisher\n\nInstall the kingfisher with care.\n");
    write("docs/deploy.md", "---\ntitle: Deploying\nowner: ada\n---\n\n# Steps\n\nPush the kingfisher tag.\n");
    git("add", "README.md", "docs/deploy.md");
    git("commit", "-qm", "Docs");
    write("docs/draft.markdown", "A draft about the kingfisher.\n");
    write(".gitignore", "secret/\n");
    for (const path of ["secret/a.md", "node_modules/kit/README.md", "web/node_modules/kit/README.md", "docs/k.txt"])
      write(path, "kingfisher\n");
    const nested = join(root, "vendor/other");
    write("vendor/other/README.md", "kingfisher\n");
    gitIn(nested)("init", "-q");
    gitIn(nested)("add", "-A");
    gitIn(nested)("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x");
    symlinkSync(join(root, "README.md"), join(root, "link.md"));

    const { results, types } = await search(app, "kingfisher");
    expect(results.map(({ id }) => id).sort()).toEqual(["README.md", "docs/deploy.md", "docs/draft.markdown"]);
    expect(types).toContain("page");
    expect(results.find(({ id }) => id === "docs/deploy.md")).toMatchObject({
      type: "page",
      title: "Deploying",
      heading: "Steps",
      line: 8,
    });
    expect(await found(app, "kingfisher type:page section:docs")).toHaveLength(2);
    expect(await found(app, "kingfisher type:entry")).toEqual([]);
  });

  test("follows edits, renames and deletions, and a page that becomes an entry is found once", async () => {
    const { app, root } = await newWorkspace({ engine });
    const write = writer(root);
    write("docs/birds.md", "The bittern booms.\n");
    expect(await found(app, "bittern")).toEqual(["page:docs/birds.md"]);
    write("docs/birds.md", "The avocet wades.\n");
    await expect.poll(() => found(app, "avocet")).toEqual(["page:docs/birds.md"]);
    // The same length within the same tick of the clock.
    write("docs/birds.md", "The dunlin wades.\n");
    await expect.poll(() => found(app, "dunlin")).toEqual(["page:docs/birds.md"]);
    expect(await found(app, "bittern")).toEqual([]);
    renameSync(join(root, "docs/birds.md"), join(root, "docs/waders.md"));
    await expect.poll(() => found(app, "dunlin")).toEqual(["page:docs/waders.md"]);
    rmSync(join(root, "docs"), { recursive: true });
    await expect.poll(() => found(app, "dunlin")).toEqual([]);

    write("wiki/marsh.md", "A wryneck in the marsh.\n");
    await expect.poll(() => found(app, "wryneck")).toEqual(["page:wiki/marsh.md"]);
    const section = "    - { id: marsh, title: Marsh, mode: snapshot, writable_by: [planner], description: Wet. }\n";
    write("wiki/schema.yaml", sampleSchema.replace("pipeline:", `${section}pipeline:`));
    await expect.poll(() => found(app, "wryneck")).toEqual(["entry:marsh"]);
  });

  test("ranks an entry above a page with the same words", async () => {
    const { app, root } = await newWorkspace({ engine });
    const text = "# Notes\n\nStorks arrive in March and nest on the mill.\n";
    // Indexed first, so that the order of indexing does not decide.
    writer(root)("notes.md", text);
    expect(await found(app, "storks nest")).toEqual(["page:notes.md"]);
    const planner = agent("planner");
    unwrap(await operations.commit_entry.perform(app, { id: "notes", content: text, version: 1 }, planner));
    expect(await found(app, "storks nest")).toEqual(["entry:notes", "page:notes.md"]);
  });

  test("agents find no pages, as they may not list them; links between pages and entries are followed", async () => {
    const { app, root } = await newWorkspace({ engine });
    const write = writer(root);
    write("docs/a.md", "The ouzel is explained in [the other page](deep/b.md).\n");
    write("docs/deep/b.md", "# Thrushes\n\nA dipper is no thrush.\n");
    const { results } = await search(app, "ouzel");
    expect(results.map(({ id, why }) => [id, why.at(-1)])).toEqual([
      ["docs/a.md", "words: ouzel"],
      ["docs/deep/b.md", "linked from page:docs/a.md"],
    ]);
    const recalled = unwrap(await operations.recall.perform(app, { query: "ouzel" }, agent("planner")));
    expect(recalled.passages).toEqual([]);
    expect(unwrap(await operations.recall.perform(app, { query: "ouzel" }, person())).passages[0]).toMatchObject({
      ref: "page:docs/a.md",
      by: "",
    });
  });

  test("a page over 1 MB is found by its name only, and a rebuild finds every page again", async () => {
    const { app, root } = await newWorkspace({ engine });
    const write = writer(root);
    write("docs/huge-heronry.md", `whimbrel ${"x ".repeat(600_000)}`);
    write("docs/small.md", "whimbrel\n");
    expect(await found(app, "whimbrel")).toEqual(["page:docs/small.md"]);
    expect(await found(app, "huge-heronry")).toEqual(["page:docs/huge-heronry.md"]);
    unwrap(await operations.rebuild_search.perform(app, {}, person()));
    expect(await found(app, "whimbrel")).toEqual(["page:docs/small.md"]);
  });
});

test("P19: of more than 5,000 pages those nearest to the root are searched, and the result says so", async () => {
  const { app, root } = await newWorkspace();
  const write = writer(root);
  for (let n = 0; n < 5000; n++) write(`a/deep/${n}.md`, "");
  write("zz.md", "The last one is a garganey.\n");
  const result = await search(app, "garganey");
  expect(result.results.map(({ id }) => id)).toEqual(["zz.md"]);
  expect(result.notes).toContain(
    "the repository has 5001 markdown pages; search covers 5000 of them, those nearest to its root",
  );
});

test("P19: scriptorium search finds the pages of a repository right after init, and --kind page narrows to them", async () => {
  const cwd = temporaryFolder();
  const write = writer(cwd);
  gitIn(cwd)("init", "-q");
  write("README.md", "# Ospreys\n\nHow to count ospreys.\n");
  expect(await scriptorium(["init", "."], { cwd })).toMatchObject({ code: 0 });
  const { stdout } = await scriptorium(["search", "ospreys", "--kind", "page", "--json"], { cwd });
  expect(JSON.parse(stdout)).toMatchObject([{ type: "page", id: "README.md", title: "Ospreys", line: 3 }]);
  expect(JSON.parse((await scriptorium(["search", "ospreys", "--kind", "task", "--json"], { cwd })).stdout)).toEqual(
    [],
  );
});
